//! A hold that changes hands at a majority.
//!
//! Each member gives it over in one step of its own. A majority of those that count has to have done
//! so, and its greatest token is written to a majority, as for an acquire: this is a ballot too.
//!
//! The new owner makes one attempt, under the owner that whoever remembers nothing of it would use. So
//! the owner is all that another process needs to renew the hold, to let it go or to take it over.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tenure_core::{
    Fault, LockName, Owner, Token,
    proto::{
        queue::{Answer, Grant, TakeOver, TakenOver},
        quorum::{Ballot, Step, majority},
        rule::{Rule, kept},
    },
};

use crate::{
    QuorumStore,
    error::{MemberStatus, no_majority},
    holds::{GrantedHold, PendingRelease},
    locks::{
        asking::{BallotEvent, OngoingAsk},
        verdict::BallotOutcome,
    },
    members::{MemberAnswer, MemberCall, background::MemberCleanup, within},
};

impl QuorumStore {
    pub(crate) async fn take_over_by_majority(
        &self,
        name: &LockName,
        over: &TakeOver,
    ) -> Result<TakenOver, Fault> {
        self.until_marked(|| self.ballot_over(name, over)).await
    }

    async fn ballot_over(
        &self,
        name: &LockName,
        over: &TakeOver,
    ) -> Result<BallotOutcome<TakenOver>, Fault> {
        let (attempt, held) = self.attempt_of(name, &over.owner);
        let known = held.as_ref().map(|held| held.token);
        let sent = TakeOver {
            // From now on, not from the answer: a member that lost the hold may get it back meanwhile.
            from: self.shared.holds.begin_take_over(&over.from).owner(),
            owner: attempt.owner(),
            label: held.as_ref().map_or_else(|| over.label.clone(), |held| held.label.clone()),
            ..over.clone()
        };
        let options = &self.shared.options;
        let limit = options.limit(over.ttl);
        let events = self.members.iter().cloned().enumerate().map(|(member, store)| {
            let (name, sent) = (name.clone(), sent.clone());
            let asks = async move { store.take_over(&name, &sent).await };
            let asks = within(options.clock.clone(), limit, asks);
            Box::pin(asks.map(move |answer| event(member, answer))) as MemberCall<_>
        });
        let ballot = Ballot::of_take_over(self.members.len(), known);
        let mut asking =
            OngoingAsk::new(self, name, sent.as_ask(), attempt, ballot, events.collect());
        asking.note_joined(held.as_ref());
        let mut unfinished = asking.unfinished(known);
        let outcome = asking.count_over(over, known).await;
        unfinished.finish();
        Ok(outcome)
    }

    /// The old owner has nothing any more. What members have of it that did not say so is taken back,
    /// and what an ask brings them that is still on its way.
    fn release_old_owner(
        &self,
        name: &LockName,
        old: &Owner,
        statuses: &[MemberStatus],
        limit: Duration,
    ) {
        let options = &self.shared.options;
        let PendingRelease { attempt, lease, late } =
            self.shared.holds.begin_release(old, Duration::ZERO, options.now());
        let again = MemberCleanup {
            clock: options.clock.clone(),
            limit: options.member_limit,
            name: name.clone(),
            owner: attempt.owner(),
            ttl: lease.unwrap_or(self.shared.charter.longest),
            keep: Duration::ZERO,
        };
        for (member, status) in statuses.iter().enumerate() {
            let late = late.contains(&member);
            if !late && !status.is_no_answer() {
                continue;
            }
            if !matches!(status, MemberStatus::Silent) {
                self.release_again(&again, member, late);
                continue;
            }
            // It may still give it over, unless it has to let go before.
            let (quorum, again, clock) = (self.clone(), again.clone(), options.clock.clone());
            let answered = clock.now().saturating_add(limit);
            drop(self.shared.background.run(async move {
                clock.sleep_until(answered).await;
                quorum.release_again(&again, member, late);
            }));
        }
    }
}

/// A member that gave it over has granted it.
fn event(member: usize, answer: Result<TakenOver, Fault>) -> BallotEvent {
    let answer = match answer {
        Ok(TakenOver::NotHeld) => return BallotEvent::NotHeld { member },
        Ok(TakenOver::Granted(Grant { token, left, others_waiting })) => {
            Ok(Answer::Granted { token, left, others_waiting })
        }
        Err(fault) => Err(fault),
    };
    BallotEvent::Voted(MemberAnswer { member, answer })
}

impl OngoingAsk<'_> {
    async fn count_over(
        mut self,
        over: &TakeOver,
        known: Option<Token>,
    ) -> BallotOutcome<TakenOver> {
        match self.run_ballot().await {
            Step::Won { token, left } => {
                self.quorum.release_old_owner(self.name, &over.from, &self.statuses, self.limit);
                let others_waiting = self.others_waiting;
                let held =
                    GrantedHold { detached: over.detached, ..GrantedHold::of(&self.ask, token) };
                self.record_majority(held);
                BallotOutcome::Done(TakenOver::Granted(Grant { token, left, others_waiting }))
            }
            _ => {
                // There is no majority any more, and for what reason the others may still say.
                if !self.ballot.is_lost() {
                    self.drain_events().await;
                }
                if self.ballot.is_lost() {
                    self.conclude_lost(over).await;
                    return BallotOutcome::Done(TakenOver::NotHeld);
                }
                self.undecided(over, known).await
            }
        }
    }

    /// No majority has it for either owner. What is left of it frees the name for others at once.
    async fn conclude_lost(mut self, over: &TakeOver) {
        while let Some(Some(event)) = self.events.next().now_or_never() {
            self.apply_event(event);
        }
        let (quorum, name) = (self.quorum, self.name);
        // What a member came back without after a restart is why.
        quorum.assemble_now_and_then();
        quorum.release_old_owner(name, &over.from, &self.statuses, Duration::ZERO);
        let now = quorum.shared.options.now();
        let new = quorum.shared.holds.begin_release(&over.owner, Duration::ZERO, now);
        self.in_doubt_before |= !new.late.is_empty();
        if self.may_hold_anywhere() && kept(Rule::PartialWinGivenBack) {
            self.give_back().await;
        }
    }

    /// Too few said anything. Whoever asked repeats it under the same attempt, and is answered the same, or
    /// releases both owners: so nothing is taken back yet. Where a majority refused for good it still has
    /// the hold, and what few may have given over is no use.
    async fn undecided(self, over: &TakeOver, known: Option<Token>) -> BallotOutcome<TakenOver> {
        let (shared, attempt) = (self.quorum.shared.clone(), self.attempt);
        let now = shared.options.now();
        let refused = self.statuses.iter().filter(|status| status.is_refusal()).count();
        let stays = known.is_none() && refused >= majority(self.statuses.len());
        let may_hold = self.may_hold_anywhere();
        let in_doubt = may_hold && !stays;
        if in_doubt {
            if known.is_none() {
                shared.holds.record_in_doubt(attempt, now, over.ttl);
            }
            let until = now.saturating_add(over.ttl);
            shared.holds.record_unanswered(attempt, self.members_in_doubt(), until);
        } else {
            shared.holds.undo_take_over(&over.from);
        }
        let unmarked =
            self.statuses.iter().any(|status| matches!(status, MemberStatus::Unmarked { .. }));
        let name = Some(self.name);
        let fault = no_majority("gave over", name, &self.statuses, &shared.places, in_doubt);
        if may_hold && stays && kept(Rule::PartialWinGivenBack) {
            self.give_back().await;
        }
        // Another ballot under another attempt is one that nobody else would find.
        BallotOutcome::Failed(fault, unmarked && in_doubt)
    }
}
