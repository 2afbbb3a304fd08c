//! Acquiring a majority, in two rounds.

use std::{future::Future, time::Duration};

use futures_util::FutureExt;
use tenure_core::{
    Fault, LockName, Owner,
    proto::{
        queue::{Answer, Ask, Intent, Mode, Order},
        quorum::Ballot,
    },
};

use crate::{
    QuorumStore,
    holds::{Attempt, AttemptHistory, GrantedHold},
    locks::{
        asking::{BallotEvent, OngoingAsk},
        verdict::BallotOutcome,
    },
    members::{MemberAnswer, MemberCall, background::MemberCleanup, looks::GateView, within},
};

impl QuorumStore {
    pub(crate) async fn acquire_by_majority(
        &self,
        name: &LockName,
        ask: &Ask,
    ) -> Result<Answer, Fault> {
        self.until_marked(|| self.ballot(name, ask)).await
    }

    /// Holds a ballot, and another one if it was for want of marks that the first came to nothing.
    pub(crate) async fn until_marked<T, F>(&self, ballot: impl Fn() -> F) -> Result<T, Fault>
    where
        F: Future<Output = Result<BallotOutcome<T>, Fault>>,
    {
        self.assemble_once().await?;
        let mut helped = false;
        loop {
            match ballot().await? {
                BallotOutcome::Done(answer) => return Ok(answer),
                BallotOutcome::Failed(_, true) if !helped => {
                    helped = true;
                    self.assemble(false).await?;
                }
                BallotOutcome::Failed(fault, unmarked) => {
                    if unmarked {
                        self.assemble_later();
                    }
                    return Err(fault);
                }
            }
        }
    }

    /// The attempt that this owner is at, and what it holds. What an earlier one may have left is taken
    /// back.
    pub(crate) fn attempt_of(
        &self,
        name: &LockName,
        owner: &Owner,
    ) -> (Attempt, Option<GrantedHold>) {
        let AttemptHistory { attempt, held, unreleased } = self.shared.holds.begin_ask(owner);
        if let Some((before, lease, members)) = unreleased {
            let again = MemberCleanup {
                clock: self.shared.options.clock.clone(),
                limit: self.shared.options.member_limit,
                name: name.clone(),
                owner: before.owner(),
                ttl: lease,
                keep: Duration::ZERO,
            };
            members.into_iter().for_each(|member| self.release_again(&again, member, true));
        }
        (attempt, held)
    }

    async fn ballot(&self, name: &LockName, ask: &Ask) -> Result<BallotOutcome<Answer>, Fault> {
        let (attempt, held) = self.attempt_of(name, &ask.owner);
        let known = held.as_ref().map(|held| held.token);
        let asked = Ask {
            owner: attempt.owner(),
            // Who repeats its ask need not say who it is. A member that did not know it must know.
            label: held.as_ref().map_or_else(|| ask.label.clone(), |held| held.label.clone()),
            order: Order::Barging,
            intent: Intent::Try,
            ..ask.clone()
        };
        let limit = self.shared.options.limit(ask.ttl);
        let reader = ask.mode == Mode::Shared && known.is_none();
        let looks = match reader.then(|| self.shared.holds.gate_view(&ask.owner)) {
            Some(None) => Some(GateView::new(name, self.members.len())?),
            seen => seen.flatten(),
        };
        let events = self.members.iter().cloned().enumerate().map(|(member, store)| {
            let (name, ask, looks) = (name.clone(), asked.clone(), looks.clone());
            let asks = async move {
                match looks {
                    Some(looks) => looks.ask(member, &store, &name, &ask).await,
                    None => store.acquire(&name, &ask).await.map(Some),
                }
            };
            let asks = within(self.shared.options.clock.clone(), limit, asks);
            Box::pin(asks.map(move |answer| match answer.transpose() {
                Some(answer) => BallotEvent::Voted(MemberAnswer { member, answer }),
                None => BallotEvent::Closed { member },
            })) as MemberCall<_>
        });
        let events = events.collect();
        let ballot = Ballot::new(self.members.len(), known);
        let mut asking = OngoingAsk::new(self, name, asked, attempt, ballot, events);
        asking.note_joined(held.as_ref());
        asking.looks = looks;
        let mut unfinished = asking.unfinished(known);
        let outcome = asking.conclude_ballot(ask, known).await;
        unfinished.finish();
        outcome
    }
}
