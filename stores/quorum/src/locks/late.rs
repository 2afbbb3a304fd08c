//! What is still to come of an ask that is answered: late grants, and members from which something
//! is to be taken back.

use std::time::Duration;

use futures_util::{
    FutureExt, StreamExt,
    future::{join, join_all, select},
};
use tenure_core::{
    Fault, FaultKind, Token,
    proto::{
        queue::Answer,
        rule::{Rule, kept},
    },
};

use crate::{
    error::MemberStatus,
    locks::asking::{BallotEvent, OngoingAsk},
    members::{MemberAnswer, background::MemberCleanup, standing::look, within},
};

impl OngoingAsk<'_> {
    /// Whoever grants it after the majority did holds it too, and writes the token.
    pub(crate) fn accept_late_grants(mut self, token: Token) {
        let mut unmarked =
            self.statuses.iter().any(|one| matches!(one, MemberStatus::Unmarked { .. }));
        // Their tokens were greater, so they had no second round: their marks are to be seen, too.
        let joined: Vec<_> = self.ballot.joined().collect();
        for (member, _) in joined {
            self.confirm(member, token);
        }
        while let Some(Some(event)) = self.events.next().now_or_never() {
            unmarked |= event.shows_no_mark();
            if let BallotEvent::Voted(MemberAnswer {
                member,
                answer: Ok(Answer::Granted { token: own, .. }),
            }) = event
            {
                self.quorum.shared.holds.record_join(self.attempt, member, own, token);
                self.confirm(member, token);
            }
        }
        if self.events.is_empty() && !unmarked {
            return;
        }
        let taking_back = self.taking_back();
        let (quorum, mut events, attempt) = (self.quorum.clone(), self.events, self.attempt);
        let charter = self.quorum.shared.charter;
        drop(self.quorum.shared.background.run(async move {
            while let Some(event) = events.next().await {
                unmarked |= event.shows_no_mark();
                let Some((member, in_doubt)) = event.may_hold(false) else { continue };
                let Some(store) = quorum.members.get(member).cloned() else { continue };
                if let BallotEvent::Voted(MemberAnswer {
                    answer: Ok(Answer::Granted { token: own, .. }),
                    ..
                }) = event
                {
                    quorum.shared.holds.record_join(attempt, member, own, token);
                }
                if !in_doubt {
                    let (name, owner) = (&taking_back.name, &taking_back.owner);
                    let (clock, limit) = (&taking_back.clock, taking_back.limit);
                    let raise = within(clock.clone(), limit, store.raise(name, owner, token));
                    let look = within(clock.clone(), limit, look(&store, &charter));
                    // Its own token may be greater, which is as good.
                    let (_, seen) = join(raise, look).await;
                    // A member that is always slow would keep an old mark until it is needed.
                    unmarked |= seen.is_ok_and(|seen| seen.standing.needs_mark());
                }
                if in_doubt {
                    let until = taking_back.clock.now().saturating_add(taking_back.ttl);
                    quorum.shared.holds.record_unanswered(attempt, [member], until);
                }
                // The hold may have ended before it came to this member.
                if !quorum.shared.holds.is_held(attempt) && kept(Rule::LateGrantGivenBack) {
                    let background = &quorum.shared.background;
                    background.take_back(taking_back.clone(), member, store, in_doubt);
                }
            }
            if unmarked {
                quorum.assemble_later();
            }
        }));
    }

    /// Gives back what was won without a majority, and what silent members may still grant. Waits
    /// for the former, no longer than a member may take.
    pub(crate) async fn give_back(self) {
        let taking_back = self.taking_back();
        let (quorum, mut events) = (self.quorum.clone(), self.events);
        let (background, clock) = (&quorum.shared.background, taking_back.clock.clone());
        let mut surely = Vec::new();
        let before = self.in_doubt_before;
        let members = quorum.members.iter().cloned().zip(&self.statuses).enumerate();
        for (at, (store, status)) in members.filter(|(at, _)| before || self.ballot.may_hold(*at)) {
            match status {
                // Its answer is among the events that are still to come.
                MemberStatus::Silent => {}
                status if before || matches!(status, MemberStatus::Failed { .. }) => {
                    background.take_back(taking_back.clone(), at, store, true);
                }
                _ => surely.push(taking_back.clone().release_at(store, false)),
            }
        }
        let (done, answered) = tokio::sync::oneshot::channel::<()>();
        let limit = taking_back.limit;
        let shared = quorum.shared.clone();
        let late_answers = async move {
            while let Some(event) = events.next().await {
                let Some((member, in_doubt)) = event.may_hold(before) else { continue };
                if let Some(store) = quorum.members.get(member).cloned() {
                    let background = &quorum.shared.background;
                    background.take_back(taking_back.clone(), member, store, in_doubt);
                }
            }
        };
        let work = async move {
            let taken_back = async {
                join_all(surely).await;
                drop(done);
            };
            join(taken_back, late_answers).await;
        };
        let wait = async move {
            // It goes on when this call is dropped, unless too much does so already.
            match shared.background.run(work) {
                Ok(()) => drop(answered.await),
                Err(work) => drop(select(Box::pin(work), answered).await),
            }
            Ok::<_, Fault>(())
        };
        let _ = within(clock, limit, wait).await;
    }

    fn taking_back(&self) -> MemberCleanup {
        MemberCleanup {
            clock: self.quorum.shared.options.clock.clone(),
            limit: self.limit,
            name: self.name.clone(),
            owner: self.ask.owner,
            ttl: self.ask.ttl,
            keep: Duration::ZERO,
        }
    }
}

impl BallotEvent {
    /// The member that holds the name by this, or may, and whether it only may: when an earlier ask
    /// of the attempt was in doubt, whatever this one is answered.
    fn may_hold(&self, before: bool) -> Option<(usize, bool)> {
        let (member, answer) = match self {
            Self::Voted(MemberAnswer { member, answer }) => (member, answer),
            Self::Closed { member } => return Some((*member, before)),
            Self::NotHeld { member } => return before.then_some((*member, true)),
            Self::Confirmed { .. } => return None,
        };
        match answer {
            Ok(Answer::Granted { .. }) => Some((*member, before)),
            Err(fault) if fault.kind() == FaultKind::InDoubt => Some((*member, true)),
            Ok(Answer::Busy { .. }) | Err(_) => before.then_some((*member, true)),
        }
    }
}
