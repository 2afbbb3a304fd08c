//! Renewing many holds at once.

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind,
    proto::{
        Renewed,
        queue::{DecisionContext, NameState},
    },
    store::Renewal,
};

use crate::{
    decisions::decide::{CancelFlag, Decision, DecisionResult},
    disk::patience::Backoff,
    error,
    inner::Inner,
};

/// How long files that stay locked may delay the answers for all others.
const PATIENCE: Duration = Duration::from_millis(50);

impl Inner {
    /// Renews each hold by itself. A file that stays locked is left for last, and makes its own
    /// hold unknown.
    pub(crate) fn renew(
        &self,
        holds: &[Renewal],
        given_up: &CancelFlag,
    ) -> Vec<Result<Renewed, Fault>> {
        // Others look for the store where it was: holds in one that was moved must end.
        if !self.layout.root.dir.is_in_place() {
            return vec![Err(error::removed(self.layout.root.path())); holds.len()];
        }
        let mut locked = Vec::new();
        let mut answers = Vec::with_capacity(holds.len());
        for (index, hold) in holds.iter().enumerate() {
            let answer = self.renew_one(hold, &mut Backoff::of(Duration::ZERO), given_up);
            if answer.as_ref().is_err_and(|fault| fault.kind() == FaultKind::Unreachable) {
                locked.push((index, hold));
            }
            answers.push(answer);
        }
        let mut patience = Backoff::of(PATIENCE);
        for (index, hold) in locked {
            let answer = self.renew_one(hold, &mut patience, given_up);
            if let Some(place) = answers.get_mut(index) {
                *place = answer;
            }
        }
        answers
    }

    fn renew_one(
        &self,
        hold: &Renewal,
        patience: &mut Backoff,
        given_up: &CancelFlag,
    ) -> Result<Renewed, Fault> {
        self.decide_within(patience, &hold.name, &renew(hold), given_up)
    }
}

fn renew(
    hold: &Renewal,
) -> Decision<impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<Renewed> + '_> {
    Decision {
        decide: |state: &mut NameState, at: &DecisionContext<'_>| {
            Ok((state.renew(&hold.owner, hold.ttl, at), Vec::new()))
        },
        creates: false,
        repairs: false,
    }
}
