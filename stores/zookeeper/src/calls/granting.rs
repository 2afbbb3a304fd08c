//! Granting a name, once the node of an ask is the first: how long the servers vouch for it.

use tenure_core::{Clock, Fault, SystemClock, Timestamp, Token, proto::queue::Answer};

use crate::{calls::asking::PendingAsk, contenders::entries::CreatedNode, error, validity};

/// What a grant is founded on.
pub(crate) enum GrantProof {
    Good,
    /// The node is gone.
    Missing,
    /// The hold would end before its first renewal counts. The node keeps its place.
    TooSoon(Answer),
}

impl PendingAsk<'_> {
    /// The name is granted to the owner of this node, if that is there. Nothing, if it is not.
    pub(crate) async fn grant(
        &self,
        placed: &CreatedNode,
        others_waiting: bool,
    ) -> Result<Option<Answer>, Fault> {
        match self.proof(placed).await? {
            GrantProof::Good => {}
            GrantProof::Missing => return Ok(None),
            GrantProof::TooSoon(answer) => return Ok(Some(answer)),
        }
        let Some(token) = self.shared.token_of(placed.czxid) else {
            return Err(error::no_token());
        };
        let until = self.begun.saturating_add(self.ask.ttl);
        let noted = self.entries().change(&self.ask.owner, |entry| {
            (!entry.leaving).then(|| {
                entry.token = Some(token);
                entry.until = until;
                entry.watched = None;
            })
        });
        // It took so long that the place ended.
        if noted.flatten().is_none() {
            return Ok(None);
        }
        self.shared.watch_over(self.session, &self.ask.owner, placed);
        Ok(Some(self.granted(token, until, others_waiting)))
    }

    /// Whether this node may be granted now.
    pub(crate) async fn proof(&self, placed: &CreatedNode) -> Result<GrantProof, Fault> {
        if !self.session.needs_proof(SystemClock.now()) {
            return Ok(GrantProof::Good);
        }
        if !self.shared.verify_exists(self.session, placed).await? {
            self.confirm_missing(placed).await?;
            return Ok(GrantProof::Missing);
        }
        let now = SystemClock.now();
        let Some(from) = self.session.vouches_from(now) else { return Ok(GrantProof::Good) };
        if self.only_tries() {
            return Err(error::stood_still(&self.shared.place));
        }
        let retry_after = from.since(now).max(self.session.length() / 20);
        let position = self.position();
        Ok(GrantProof::TooSoon(Answer::Busy { retry_after, ahead: 0, holder: None, position }))
    }

    /// It is held already: the same answer, and no more.
    pub(crate) async fn grant_again(
        &self,
        placed: &CreatedNode,
        token: Token,
    ) -> Result<Option<Answer>, Fault> {
        let left = |until| {
            validity::left(self.begun, until, self.session.proven(), self.session.validity())
        };
        let until = self.entries().with(&self.ask.owner, |entry| entry.until);
        let Some(until) = until else { return Ok(None) };
        let low = left(until) < self.session.validity() / 3;
        if (low || self.session.needs_proof(SystemClock.now()))
            && !self.shared.verify_exists(self.session, placed).await?
        {
            self.confirm_missing(placed).await?;
            return Ok(None);
        }
        let others = self.shared.others_wait(self.session, self.name, self.base).await?;
        Ok(Some(self.granted(token, until, others)))
    }

    fn granted(&self, token: Token, until: Timestamp, others_waiting: bool) -> Answer {
        let (proven, validity) = (self.session.proven(), self.session.validity());
        let left = validity::left(self.begun, until, proven, validity);
        Answer::Granted { token, left, others_waiting }
    }

    /// A node is not there any more: somebody took it away.
    pub(crate) async fn confirm_missing(&self, placed: &CreatedNode) -> Result<(), Fault> {
        // Unless this server is behind.
        let stat = self.session.stat(&placed.path).await?;
        let ours = self.session.client().session_id().0;
        if stat.is_some_and(|stat| stat.ephemeral_owner == ours) {
            return Ok(());
        }
        self.shared.delete_owner_nodes(self.session, &self.ask.owner).await
    }
}
