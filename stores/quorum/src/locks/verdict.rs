//! What is done once a ballot of an acquisition has come to something.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tenure_core::{
    Fault, Token,
    proto::{
        queue::{Answer, Ask, Intent, Mode},
        quorum::Step,
        rule::{Rule, kept},
    },
};

use crate::{
    error::{MemberStatus, needs_intervention, no_majority},
    holds::GrantedHold,
    locks::asking::OngoingAsk,
};

/// The shortest time after which a waiter is told to ask again.
const SHORTEST_RETRY: Duration = Duration::from_millis(1);

/// How one ballot ended.
pub(crate) enum BallotOutcome<T> {
    Done(T),
    /// Why not, and whether a member has no mark, which can be helped.
    Failed(Fault, bool),
}

impl OngoingAsk<'_> {
    pub(crate) async fn conclude_ballot(
        mut self,
        ask: &Ask,
        known: Option<Token>,
    ) -> Result<BallotOutcome<Answer>, Fault> {
        let end = self.run_ballot().await;
        match end {
            Step::Won { token, left } => {
                self.quorum.withdraw_writer(self.name, &ask.owner);
                if known.is_some() && ask.mode == Mode::Shared {
                    // It may have been exclusive until now.
                    self.quorum.shared.board.wake_name(self.name);
                }
                let (others_waiting, held) =
                    (self.others_waiting, GrantedHold::of(&self.ask, token));
                self.record_majority(held);
                Ok(BallotOutcome::Done(Answer::Granted { token, left, others_waiting }))
            }
            Step::Outvoted if known.is_some() && self.ballot.is_denied() => {
                Ok(BallotOutcome::Done(self.conclude_held_elsewhere()))
            }
            // A hold that was granted before is not taken away because a repeat fails.
            Step::Outvoted if known.is_none() => {
                Ok(BallotOutcome::Done(self.conclude_busy(ask).await))
            }
            _ => Ok(self.conclude_no_majority(known).await),
        }
    }

    /// A majority has it now, and who comes late joins.
    pub(crate) fn record_majority(self, held: GrantedHold) {
        let (holds, now) = (&self.quorum.shared.holds, self.quorum.shared.options.now());
        let (token, ttl) = (held.token, self.ask.ttl);
        holds.record_grant(self.attempt, held, now, ttl);
        holds.record_unanswered(self.attempt, self.members_in_doubt(), now.saturating_add(ttl));
        for (member, own) in self.ballot.joined() {
            holds.record_join(self.attempt, member, own, token);
        }
        // Of these nobody has seen whether one restarted.
        let silent_of_marks =
            |status: &MemberStatus| matches!(status, MemberStatus::Busy | MemberStatus::NotHeld);
        if self.statuses.iter().any(silent_of_marks) {
            self.quorum.assemble_now_and_then();
        }
        self.accept_late_grants(token);
    }

    /// Others have the name. What was won of it is given back, before this is answered where that
    /// takes no longer than a member's time limit.
    async fn conclude_busy(mut self, ask: &Ask) -> Answer {
        while let Some(Some(event)) = self.events.next().now_or_never() {
            self.apply_event(event);
        }
        let (quorum, name, options) = (self.quorum, self.name, &self.quorum.shared.options);
        // What a member came back with after a restart may be in the way.
        quorum.assemble_now_and_then();
        let now = options.now();
        let waits = matches!(ask.intent, Intent::Wait { .. });
        let random = options.entropy.jitter();
        let (holder, looks) = (self.holder.clone(), self.looks.clone());
        let (exclusive, behind_readers) = (self.ask.mode == Mode::Exclusive, self.behind_readers);
        let soonest = self.retry_after.unwrap_or(Duration::MAX);
        // The reader that let go may be this very owner, and must not come in beside what stays of it by
        // another attempt. What a silent member may grant, the next ask finds there.
        let again = !exclusive && self.reader_lingers && self.ballot.granted() == 0;
        if again && self.may_hold_anywhere() {
            quorum.shared.holds.record_in_doubt(self.attempt, now, ask.ttl);
        } else if self.may_hold_anywhere() {
            self.retire_attempt(ask.ttl);
            if kept(Rule::PartialWinGivenBack) {
                self.give_back().await;
            }
        }
        let pause = quorum.shared.holds.retry_pause(&ask.owner, now, random, waits);
        if waits && exclusive {
            if behind_readers || quorum.shared.holds.has_signed(&ask.owner) {
                quorum.announce_writer(name, ask);
            }
        } else if let (true, Some(looks)) = (waits, looks) {
            quorum.shared.holds.set_gate_view(&ask.owner, looks);
        }
        let retry_after = pause.min(soonest.max(SHORTEST_RETRY));
        Answer::Busy { retry_after, ahead: 0, holder, position: None }
    }

    /// No majority answered. What a minority granted stays, for the next ask of this acquisition or
    /// for its release: the caller is told that it is in doubt.
    async fn conclude_no_majority<T>(mut self, known: Option<Token>) -> BallotOutcome<T> {
        let (quorum, name, ttl) = (self.quorum, self.name, self.ask.ttl);
        self.drain_events().await;
        let mut in_doubt = self.may_hold_anywhere();
        let unmarked =
            self.statuses.iter().any(|status| matches!(status, MemberStatus::Unmarked { .. }));
        let statuses = self.statuses.clone();
        if in_doubt && needs_intervention(&statuses) {
            // The next ask would come to the same, so it is not left to that one. What was granted
            // before stays, and may be another kind of hold by now if a majority did as it was asked.
            in_doubt = known.is_some() && self.ballot.may_hold_majority();
            if known.is_none() {
                self.retire_attempt(ttl);
                self.give_back().await;
            }
        } else if in_doubt && known.is_none() {
            quorum.shared.holds.record_in_doubt(self.attempt, quorum.shared.options.now(), ttl);
        }
        let places = &quorum.shared.places;
        let fault = no_majority("granted", Some(name), &statuses, places, in_doubt);
        BallotOutcome::Failed(fault, unmarked)
    }

    /// A majority has the name for others: what was granted before is gone.
    fn conclude_held_elsewhere(self) -> Answer {
        let retry_after = self.retry_after.unwrap_or(SHORTEST_RETRY);
        Answer::Busy { retry_after, ahead: 0, holder: self.holder, position: None }
    }

    /// From here on the owner of this attempt is not asked with any more.
    fn retire_attempt(&self, ttl: Duration) {
        let shared = &self.quorum.shared;
        shared.holds.record_taken_back(self.attempt, shared.options.now(), ttl);
    }
}
