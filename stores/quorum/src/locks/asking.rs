//! One ask of all members, and what they answer in the two rounds.

use std::time::Duration;

use futures_util::StreamExt;
use tenure_core::{
    Fault, FaultKind, LockName, Token,
    proto::{
        queue::{Answer, Ask, Contender, Mode, Raised},
        quorum::{Ballot, Confirmation, Step, Vote, mark::Standing},
        rule::{Rule, kept},
    },
};

use crate::{
    QuorumStore,
    error::MemberStatus,
    holds::{Attempt, GrantedHold},
    members::{MemberAnswer, MemberCalls, looks::GateView, standing::look, within},
};

/// An answer to one of the two rounds.
pub(crate) enum BallotEvent {
    Voted(MemberAnswer<Answer>),
    /// A writer comes first at this member.
    Closed {
        member: usize,
    },
    /// This member has nothing that could change hands.
    NotHeld {
        member: usize,
    },
    Confirmed {
        member: usize,
        token: Token,
        confirmation: Confirmation,
        /// What the look at it showed.
        standing: Result<Standing, Fault>,
    },
}

impl BallotEvent {
    /// Whether it shows a member that is to be given a mark.
    pub(crate) fn shows_no_mark(&self) -> bool {
        matches!(self, Self::Confirmed { standing: Ok(standing), .. } if standing.needs_mark())
    }
}

/// One ask of all members, while it goes on.
pub(crate) struct OngoingAsk<'a> {
    pub(crate) quorum: &'a QuorumStore,
    pub(crate) name: &'a LockName,
    pub(crate) ask: Ask,
    pub(crate) attempt: Attempt,
    pub(crate) ballot: Ballot,
    pub(crate) events: MemberCalls<BallotEvent>,
    pub(crate) limit: Duration,
    pub(crate) statuses: Vec<MemberStatus>,
    /// Whether an earlier ask of this attempt was in doubt: then a member may hold the name by that
    /// one, whatever it answers now.
    pub(crate) in_doubt_before: bool,
    pub(crate) others_waiting: bool,
    pub(crate) holder: Option<Contender>,
    /// Of a reader: what it has seen of the gate.
    pub(crate) looks: Option<GateView>,
    /// Whether a reader let go of it, and it only stays taken.
    pub(crate) reader_lingers: bool,
    /// Whether readers are in a writer's way.
    pub(crate) behind_readers: bool,
    pub(crate) retry_after: Option<Duration>,
}

/// A ballot that is dropped on the way leaves its attempt in doubt.
pub(crate) struct UnfinishedBallot<'a> {
    quorum: &'a QuorumStore,
    attempt: Attempt,
    ttl: Duration,
    over: bool,
}

impl UnfinishedBallot<'_> {
    pub(crate) fn finish(&mut self) {
        self.over = true;
    }
}

impl Drop for UnfinishedBallot<'_> {
    fn drop(&mut self) {
        if !self.over {
            let shared = &self.quorum.shared;
            shared.holds.record_in_doubt(self.attempt, shared.options.now(), self.ttl);
        }
    }
}

impl<'a> OngoingAsk<'a> {
    pub(crate) fn new(
        quorum: &'a QuorumStore,
        name: &'a LockName,
        ask: Ask,
        attempt: Attempt,
        ballot: Ballot,
        events: MemberCalls<BallotEvent>,
    ) -> Self {
        Self {
            quorum,
            name,
            limit: quorum.shared.options.limit(ask.ttl),
            ask,
            attempt,
            ballot,
            events,
            statuses: vec![MemberStatus::Silent; quorum.members.len()],
            in_doubt_before: quorum.shared.holds.is_in_doubt(attempt),
            others_waiting: false,
            holder: None,
            looks: None,
            reader_lingers: false,
            behind_readers: false,
            retry_after: None,
        }
    }

    /// What is known of members that joined the hold late.
    pub(crate) fn note_joined(&mut self, held: Option<&GrantedHold>) {
        for (member, token) in held.iter().flat_map(|held| &held.joined) {
            self.ballot.note_joined(*member, *token);
        }
    }

    /// What is to be kept until the ballot is over.
    pub(crate) fn unfinished(&self, known: Option<Token>) -> UnfinishedBallot<'a> {
        let (quorum, attempt, ttl) = (self.quorum, self.attempt, self.ask.ttl);
        UnfinishedBallot { quorum, attempt, ttl, over: known.is_some() }
    }

    /// Listens to the members until the ballot has come to something, and says what.
    pub(crate) async fn run_ballot(&mut self) -> Step {
        loop {
            match self.ballot.step() {
                Step::Wait => match self.events.next().await {
                    Some(event) => self.apply_event(event),
                    None => return Step::Failed,
                },
                Step::Confirm { token, members } => {
                    for member in members {
                        self.confirm(member, token);
                    }
                }
                end @ (Step::Won { .. } | Step::Outvoted | Step::Failed) => return end,
            }
        }
    }

    pub(crate) fn apply_event(&mut self, event: BallotEvent) {
        match event {
            BallotEvent::Voted(MemberAnswer { member, answer }) => {
                let (vote, status) = match answer {
                    Ok(Answer::Granted { token, left, others_waiting }) => {
                        self.others_waiting |= others_waiting;
                        (Vote::Granted { token, left }, MemberStatus::Did)
                    }
                    Ok(Answer::Busy { retry_after, holder, .. }) => {
                        self.merge_holder(holder);
                        let soonest = self.retry_after.unwrap_or(retry_after);
                        self.retry_after = Some(soonest.min(retry_after));
                        (Vote::Busy, MemberStatus::Busy)
                    }
                    Err(fault) if fault.kind() == FaultKind::InDoubt => {
                        (Vote::Doubt, MemberStatus::of(&fault))
                    }
                    Err(fault) => (Vote::Failed, MemberStatus::of(&fault)),
                };
                self.ballot.voted(member, vote);
                self.set_status(member, status);
            }
            BallotEvent::Closed { member } => {
                self.ballot.voted(member, Vote::Closed);
                self.set_status(member, MemberStatus::Busy);
            }
            BallotEvent::NotHeld { member } => {
                self.ballot.voted(member, Vote::Busy);
                self.set_status(member, MemberStatus::NotHeld);
            }
            BallotEvent::Confirmed { member, token, confirmation, standing } => {
                self.ballot.confirmed(member, token, confirmation);
                match (confirmation, standing) {
                    (Confirmation::Confirmed, _) => {}
                    (_, Ok(Standing::KeptOut { rest, restarted })) => {
                        self.set_status(member, MemberStatus::KeptOut { rest, restarted });
                    }
                    (_, Ok(Standing::Unmarked | Standing::Claimed)) => {
                        self.set_status(member, MemberStatus::Unmarked { restarted: false });
                    }
                    (_, Ok(Standing::Restarted)) => {
                        self.set_status(member, MemberStatus::Unmarked { restarted: true });
                    }
                    (_, Ok(Standing::Foreign(words))) => {
                        let place =
                            self.quorum.shared.places.get(member).map_or("", String::as_str);
                        self.set_status(
                            member,
                            MemberStatus::unseen(&self.quorum.foreign(place, &words)),
                        );
                    }
                    (_, Ok(_)) => self.set_status(member, MemberStatus::Uncounted),
                    (_, Err(fault)) => self.set_status(member, MemberStatus::unseen(&fault)),
                }
            }
        }
    }

    /// Of several that members show, the one whose lease ends first: a member that is behind may
    /// show more.
    fn merge_holder(&mut self, holder: Option<Contender>) {
        let Some(holder) = holder else { return };
        self.reader_lingers |= holder.mode == Mode::Shared && holder.lingering;
        self.behind_readers |= holder.mode == Mode::Shared && !holder.lingering;
        if self.holder.as_ref().is_none_or(|known| holder.left < known.left) {
            self.holder = Some(holder);
        }
    }

    fn set_status(&mut self, member: usize, status: MemberStatus) {
        if let Some(old) = self.statuses.get_mut(member) {
            *old = status;
        }
    }

    /// Sends the second round to one member: it writes the token, and its mark is looked at.
    pub(crate) fn confirm(&self, member: usize, token: Token) {
        let Some(store) = self.quorum.members.get(member).cloned() else { return };
        let (clock, limit) = (self.quorum.shared.options.clock.clone(), self.limit);
        let (name, owner) = (self.name.clone(), self.ask.owner);
        let charter = self.quorum.shared.charter;
        let keeps = self.ballot.keeps_known(member);
        self.events.push(Box::pin(async move {
            let raise = async {
                if !kept(Rule::TokenOfQuorumIsWritten) {
                    return Ok(Raised::Raised);
                }
                within(clock.clone(), limit, store.raise(&name, &owner, token)).await
            };
            let look = within(clock.clone(), limit, look(&store, &charter));
            let (raised, seen) = futures_util::future::join(raise, look).await;
            let standing = seen.map(|seen| seen.standing);
            // A greater token that is known to be of this hold is as good.
            let raised = raised.map(|one| one == Raised::Raised || keeps && one == Raised::Stale);
            let confirmation = match (raised, &standing) {
                (Ok(true), Ok(Standing::Counted)) => Confirmation::Confirmed,
                (Ok(true), Ok(_)) => Confirmation::KeptOut,
                (Ok(false), _) | (Err(_), Ok(Standing::KeptOut { .. })) => Confirmation::No,
                (Err(_), _) | (Ok(true), Err(_)) => Confirmation::Doubt,
            };
            BallotEvent::Confirmed { member, token, confirmation, standing }
        }));
    }

    /// What the others say is worth the rest of their time: less is in doubt then.
    pub(crate) async fn drain_events(&mut self) {
        while let Some(event) = self.events.next().await {
            self.apply_event(event);
        }
    }

    /// The members to which an ask of this attempt may still come.
    pub(crate) fn members_in_doubt(&self) -> impl Iterator<Item = usize> {
        let all = self.in_doubt_before;
        self.statuses
            .iter()
            .enumerate()
            .filter_map(move |(member, status)| (all || status.is_in_doubt()).then_some(member))
    }

    pub(crate) fn may_hold_anywhere(&self) -> bool {
        let mut members = 0..self.quorum.members.len();
        self.in_doubt_before || members.any(|member| self.ballot.may_hold(member))
    }
}
