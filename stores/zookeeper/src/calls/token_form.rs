//! The form of the tokens, recorded for all programs that use a base path: a fence compares their tokens.

use tenure_core::Fault;

use crate::{
    calls::asking::PendingAsk,
    client::{Error, MultiReadResult},
    contenders::{queue::ContenderQueue, tokens::TokenRecord},
    error,
    session::Session,
    store::Shared,
};

impl PendingAsk<'_> {
    /// Whether all programs on this base path make tokens of one form, by what was recorded while a node of this ask
    /// was there: the record cannot go before that node does. Then what this ask has to check once is checked; if not
    /// yet, it is to be looked again.
    pub(crate) async fn check_tokens(&self, record: Option<&TokenRecord>) -> Result<bool, Fault> {
        let agreed = self.agree_on_tokens(record).await?;
        self.entries().change(&self.ask.owner, |entry| entry.checked |= agreed);
        Ok(agreed)
    }

    async fn agree_on_tokens(&self, record: Option<&TokenRecord>) -> Result<bool, Fault> {
        if let Err(fault) = self.refuse_other_tokens(record) {
            self.shared.delete_owner_nodes(self.session, &self.ask.owner).await?;
            return Err(fault);
        }
        let Some(TokenRecord::Unwritten { version }) = record else { return Ok(record.is_some()) };
        let (base, data) = (self.session.base(), self.shared.options.tokens.record());
        // Unless another program writes it first.
        let written = self.session.client().set_data(base, &data, *version);
        Ok(self.session.write(written).await?.is_ok())
    }

    pub(crate) fn refuse_other_tokens(&self, record: Option<&TokenRecord>) -> Result<(), Fault> {
        self.shared.refuse_other_tokens(self.session, record)
    }
}

impl Shared {
    pub(crate) fn refuse_other_tokens(
        &self,
        session: &Session,
        record: Option<&TokenRecord>,
    ) -> Result<(), Fault> {
        let ours = self.options.tokens;
        let Some(record) = record.filter(|record| record.permits(ours) == Some(false)) else {
            return Ok(());
        };
        Err(match record {
            TokenRecord::Foreign | TokenRecord::Unwritten { .. } => {
                error::no_token_record(session.base())
            }
            TokenRecord::Form(form) => {
                error::other_tokens(session.base(), form.text(), ours.text())
            }
            TokenRecord::Unknown(form) => error::other_tokens(session.base(), form, ours.text()),
        })
    }

    /// The contenders in a directory, and what is recorded of their tokens, by one call.
    pub(crate) async fn list_with_record(
        &self,
        session: &Session,
        dir: &str,
    ) -> Result<ContenderQueue, Fault> {
        let refused = |error| session.fault(error, false);
        let mut reader = session.client().new_multi_reader();
        reader.add_get_children(dir).map_err(refused)?;
        reader.add_get_data(session.base()).map_err(refused)?;
        let read = session.read(reader.commit()).await?.map_err(refused)?;
        let mut queue = ContenderQueue::default();
        let mut tokens = None;
        for result in read {
            match result {
                MultiReadResult::Children { children } => queue = self.queue_of(children),
                MultiReadResult::Data { data, stat } => {
                    tokens = Some(TokenRecord::read(&data, stat.version));
                }
                MultiReadResult::Failed(Error::NoNode) => {}
                MultiReadResult::Failed(error) => return Err(refused(error)),
            }
        }
        Ok(queue.with_tokens(tokens))
    }

    /// What is recorded; nothing if there is no base path.
    pub(crate) async fn token_record(
        &self,
        session: &Session,
    ) -> Result<Option<TokenRecord>, Fault> {
        let read = session.read(session.client().get_data(session.base())).await?;
        Ok(read.ok().map(|(data, stat)| TokenRecord::read(&data, stat.version)))
    }
}
