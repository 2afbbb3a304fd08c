//! The form of the tokens, recorded for all programs that use a base path: a fence compares their tokens.

use tenure_core::{Clock, Fault, SystemClock};
use tokio::time::timeout;

use crate::{
    calls::asking::PendingAsk,
    client::{Error, MultiReadResult, MultiWriteError},
    contenders::{
        entries::CreatedNode,
        queue::ContenderQueue,
        tokens::{TokenForm, TokenRecord},
    },
    error,
    session::Session,
    store::Shared,
};

impl PendingAsk<'_> {
    /// Whether all programs on this base path make tokens of one form, by what was recorded while the node of this ask
    /// was there: the record cannot go before that node does, but an operator may change it at any time. If not yet, it
    /// is to be looked again.
    pub(crate) async fn check_tokens(
        &self,
        placed: &CreatedNode,
        record: Option<&TokenRecord>,
    ) -> Result<bool, Fault> {
        let agreed = self.agree_on_tokens(placed, record).await?;
        self.entries().change(&self.ask.owner, |entry| entry.checked |= agreed);
        Ok(agreed)
    }

    async fn agree_on_tokens(
        &self,
        placed: &CreatedNode,
        record: Option<&TokenRecord>,
    ) -> Result<bool, Fault> {
        if let Err(fault) = self.refuse_other_tokens(record) {
            self.shared.delete_owner_nodes(self.session, &self.ask.owner).await?;
            return Err(fault);
        }
        let Some(TokenRecord::Unwritten { version }) = record else { return Ok(record.is_some()) };
        let memory = &self.shared.tokens;
        if memory.is_trial(self.name) || memory.lacks_right(SystemClock.now()) {
            return Ok(true);
        }
        // Bare tokens are refused where nothing is recorded.
        let record = TokenForm::Shifted.record();
        let refused = |error| self.session.fault(error, true);
        let mut writer = self.session.client().new_multi_writer();
        // While it is there nobody can have removed the base path and made it anew, with the same version.
        writer.add_check_version(&placed.path, -1).map_err(refused)?;
        // Unless another program writes it first.
        writer.add_set_data(self.session.base(), &record, *version).map_err(refused)?;
        let written = timeout(self.session.limit(), writer.commit()).await;
        let failed = match written.map_err(|_| error::timed_out(&self.shared.place, true))? {
            Ok(_) => return Ok(true),
            Err(MultiWriteError::OperationFailed { index, source }) => (index, source),
            Err(error) => return Err(refused(Error::from(error))),
        };
        match failed {
            (_, Error::NoNode | Error::BadVersion) => Ok(false),
            // Without it there can be no record of the other form either, unless another user writes it.
            (1, Error::NoAuth) => {
                memory.record_no_right(SystemClock.now());
                Ok(true)
            }
            (_, error) => Err(refused(error)),
        }
    }

    pub(crate) fn refuse_other_tokens(&self, record: Option<&TokenRecord>) -> Result<(), Fault> {
        let answer = self.shared.refuse_other_tokens(self.session, record);
        self.shared.tokens.set_refused(answer.is_err());
        answer
    }

    /// Refuses one who has no node yet, without making one, where it was refused before and nothing has changed: a node
    /// keeps the base path there, and with it the record.
    pub(crate) async fn refuse_again(&self) -> Result<(), Fault> {
        if !self.shared.tokens.was_refused() {
            return Ok(());
        }
        self.session.sync().await?;
        let record = self.shared.token_record(self.session).await?;
        self.refuse_other_tokens(record.as_ref())
    }

    /// The contenders in a directory, where nothing is granted by it.
    pub(crate) async fn list_only(&self, dir: &str) -> Result<ContenderQueue, Fault> {
        self.shared.list_line(self.session, dir).await
    }

    pub(crate) async fn list(&self, dir: &str) -> Result<ContenderQueue, Fault> {
        self.shared.list_with_record(self.session, dir).await
    }

    /// The data that the base path gets where this ask makes it.
    pub(crate) fn new_record(&self) -> Vec<u8> {
        // A diagnosis leaves it to the first lock, but an empty base path would leave bare tokens out.
        let ours = self.shared.options.tokens;
        if ours == TokenForm::Shifted && self.shared.tokens.is_trial(self.name) {
            return Vec::new();
        }
        ours.record()
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
            TokenRecord::Unreadable => session.fault(Error::NoAuth, false),
            TokenRecord::Foreign => error::no_token_record(session.base()),
            TokenRecord::Unwritten { .. } => error::unrecorded_tokens(session.base()),
            TokenRecord::Form(form) => {
                error::other_tokens(session.base(), form.text(), ours.text())
            }
            TokenRecord::Unknown(form) => error::other_tokens(session.base(), form, ours.text()),
        })
    }

    /// The form of the tokens that others were handed out; nothing if it is not known.
    pub(crate) fn form_of_others(&self, record: Option<&TokenRecord>) -> Option<TokenForm> {
        TokenRecord::form_or(record, self.options.tokens)
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
        let mut read = read.into_iter();
        let queue = match read.next() {
            Some(MultiReadResult::Children { children }) => self.queue_of(children),
            Some(MultiReadResult::Failed(error)) if error != Error::NoNode => {
                return Err(refused(error));
            }
            _ => ContenderQueue::default(),
        };
        let tokens = read.next().map_or(Ok(None), |result| recorded(session, result))?;
        Ok(queue.with_tokens(tokens))
    }

    /// What is recorded; nothing if there is no base path.
    pub(crate) async fn token_record(
        &self,
        session: &Session,
    ) -> Result<Option<TokenRecord>, Fault> {
        let refused = |error| session.fault(error, false);
        let mut reader = session.client().new_multi_reader();
        reader.add_get_data(session.base()).map_err(refused)?;
        let read = session.read(reader.commit()).await?.map_err(refused)?;
        read.into_iter().next().map_or(Ok(None), |result| recorded(session, result))
    }
}

fn recorded(session: &Session, read: MultiReadResult) -> Result<Option<TokenRecord>, Fault> {
    match read {
        MultiReadResult::Data { data, stat } => Ok(Some(TokenRecord::read(&data, stat.version))),
        MultiReadResult::Failed(Error::NoAuth) => Ok(Some(TokenRecord::Unreadable)),
        MultiReadResult::Failed(Error::NoNode) | MultiReadResult::Children { .. } => Ok(None),
        MultiReadResult::Failed(error) => Err(session.fault(error, false)),
    }
}
