//! What is written together with others of its kind.

use std::time::Duration;

use tenure_core::{
    Owner,
    proto::queue::{Answer, Ask, Client, DecisionContext, NameState, Released},
};

use crate::write::decision::{DecisionResult, Response};

/// What a caller wants of a name.
pub(crate) trait Request: Send + 'static {
    /// What it comes to.
    type Response: Response + Send + 'static;

    fn owner(&self) -> Owner;

    fn decide(
        &self,
        state: &mut NameState,
        client: Client,
        at: &DecisionContext<'_>,
    ) -> DecisionResult<Self::Response>;
}

impl Request for Ask {
    type Response = Answer;

    fn owner(&self) -> Owner {
        self.owner
    }

    fn decide(
        &self,
        state: &mut NameState,
        client: Client,
        at: &DecisionContext<'_>,
    ) -> DecisionResult<Answer> {
        let (answer, wakes) = state.acquire(self, client, at)?;
        Ok((answer, wakes.into()))
    }
}

/// A hold or a place that ends, and for how long the name stays taken.
pub(crate) struct Release {
    pub(crate) owner: Owner,
    pub(crate) keep: Duration,
}

impl Request for Release {
    type Response = Released;

    fn owner(&self) -> Owner {
        self.owner
    }

    fn decide(
        &self,
        state: &mut NameState,
        _: Client,
        at: &DecisionContext<'_>,
    ) -> DecisionResult<Released> {
        let (released, wakes) = state.release(&self.owner, self.keep, at);
        Ok((released, wakes.into()))
    }
}
