//! Acquiring a majority, in two rounds.

use std::{future::Future, time::Duration};

use futures_util::{FutureExt, StreamExt};
use tenure_core::{
    Fault, FaultKind, LockName, Owner, Token,
    proto::{
        queue::{Answer, Ask, Contender, Intent, Mode, Order, Raised},
        quorum::{Ballot, Confirmation, Step, Vote, mark::Standing},
        rule::{Rule, kept},
    },
};

use crate::{
    QuorumStore,
    background::TakingBack,
    error::{Status, need_somebody, no_majority},
    holds::{Attempt, Before, Held},
    looks::Looks,
    members::{Call, Calls, Told, within},
    standing::look,
};

/// An answer to one of the two rounds.
pub(crate) enum Event {
    Voted(Told<Answer>),
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

impl Event {
    /// Whether it shows a member that is to be given a mark.
    pub(crate) fn shows_no_mark(&self) -> bool {
        matches!(self, Self::Confirmed { standing: Ok(standing), .. } if standing.needs_mark())
    }
}

/// How one ballot ended.
pub(crate) enum Outcome<T> {
    Done(T),
    /// Why not, and whether a member has no mark, which can be helped.
    Failed(Fault, bool),
}

/// One ask of all members, while it goes on.
pub(crate) struct Asking<'a> {
    pub(crate) quorum: &'a QuorumStore,
    pub(crate) name: &'a LockName,
    pub(crate) ask: Ask,
    pub(crate) attempt: Attempt,
    pub(crate) ballot: Ballot,
    pub(crate) events: Calls<Event>,
    pub(crate) limit: Duration,
    pub(crate) statuses: Vec<Status>,
    /// Whether an earlier ask of this attempt was in doubt: then a member may hold the name by that
    /// one, whatever it answers now.
    pub(crate) in_doubt_before: bool,
    pub(crate) others_waiting: bool,
    holder: Option<Contender>,
    /// Of a reader: what it has seen of the gate.
    looks: Option<Looks>,
    /// Whether a reader let go of it, and it only stays taken.
    reader_lingers: bool,
    /// Whether readers are in a writer's way.
    behind_readers: bool,
    retry_after: Option<Duration>,
}

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
        F: Future<Output = Result<Outcome<T>, Fault>>,
    {
        self.assemble_once().await?;
        let mut helped = false;
        loop {
            match ballot().await? {
                Outcome::Done(answer) => return Ok(answer),
                Outcome::Failed(_, true) if !helped => {
                    helped = true;
                    self.assemble(false).await?;
                }
                Outcome::Failed(fault, unmarked) => {
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
    pub(crate) fn attempt_of(&self, name: &LockName, owner: &Owner) -> (Attempt, Option<Held>) {
        let Before { attempt, held, unreleased } = self.shared.holds.asking(owner);
        if let Some((before, lease, members)) = unreleased {
            let again = TakingBack {
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

    async fn ballot(&self, name: &LockName, ask: &Ask) -> Result<Outcome<Answer>, Fault> {
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
        let looks = match reader.then(|| self.shared.holds.looks(&ask.owner)) {
            Some(None) => Some(Looks::new(name, self.members.len())?),
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
                Some(answer) => Event::Voted(Told { member, answer }),
                None => Event::Closed { member },
            })) as Call<_>
        });
        let events = events.collect();
        let ballot = Ballot::new(self.members.len(), known);
        let mut asking = Asking::new(self, name, asked, attempt, ballot, events);
        asking.has_joined(held.as_ref());
        asking.looks = looks;
        let mut unfinished = asking.unfinished(known);
        let outcome = asking.count(ask, known).await;
        unfinished.is_over();
        outcome
    }
}

/// A ballot that is dropped on the way leaves its attempt in doubt.
pub(crate) struct Unfinished<'a> {
    quorum: &'a QuorumStore,
    attempt: Attempt,
    ttl: Duration,
    over: bool,
}

impl Unfinished<'_> {
    pub(crate) fn is_over(&mut self) {
        self.over = true;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.over {
            let shared = &self.quorum.shared;
            shared.holds.left_in_doubt(self.attempt, shared.options.now(), self.ttl);
        }
    }
}

impl<'a> Asking<'a> {
    pub(crate) fn new(
        quorum: &'a QuorumStore,
        name: &'a LockName,
        ask: Ask,
        attempt: Attempt,
        ballot: Ballot,
        events: Calls<Event>,
    ) -> Self {
        Self {
            quorum,
            name,
            limit: quorum.shared.options.limit(ask.ttl),
            ask,
            attempt,
            ballot,
            events,
            statuses: vec![Status::Silent; quorum.members.len()],
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
    pub(crate) fn has_joined(&mut self, held: Option<&Held>) {
        for (member, token) in held.iter().flat_map(|held| &held.joined) {
            self.ballot.has_joined(*member, *token);
        }
    }

    /// What is to be kept until the ballot is over.
    pub(crate) fn unfinished(&self, known: Option<Token>) -> Unfinished<'a> {
        let (quorum, attempt, ttl) = (self.quorum, self.attempt, self.ask.ttl);
        Unfinished { quorum, attempt, ttl, over: known.is_some() }
    }

    async fn count(mut self, ask: &Ask, known: Option<Token>) -> Result<Outcome<Answer>, Fault> {
        let end = self.end().await;
        match end {
            Step::Won { token, left } => {
                self.quorum.strike(self.name, &ask.owner);
                if known.is_some() && ask.mode == Mode::Shared {
                    // It may have been exclusive until now.
                    self.quorum.shared.board.wake_name(self.name);
                }
                let (others_waiting, held) = (self.others_waiting, Held::of(&self.ask, token));
                self.won(held);
                Ok(Outcome::Done(Answer::Granted { token, left, others_waiting }))
            }
            Step::Outvoted if known.is_some() && self.ballot.is_denied() => {
                Ok(Outcome::Done(self.held_by_others()))
            }
            // A hold that was granted before is not taken away because a repeat fails.
            Step::Outvoted if known.is_none() => Ok(Outcome::Done(self.outvoted(ask).await)),
            _ => Ok(self.failed(known).await),
        }
    }

    /// Listens to the members until the ballot has come to something, and says what.
    pub(crate) async fn end(&mut self) -> Step {
        loop {
            match self.ballot.step() {
                Step::Wait => match self.events.next().await {
                    Some(event) => self.heard(event),
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

    /// A majority has it now, and who comes late joins.
    pub(crate) fn won(self, held: Held) {
        let (holds, now) = (&self.quorum.shared.holds, self.quorum.shared.options.now());
        let (token, ttl) = (held.token, self.ask.ttl);
        holds.granted(self.attempt, held, now, ttl);
        holds.may_come_late(self.attempt, self.doubtful(), now.saturating_add(ttl));
        for (member, own) in self.ballot.joined() {
            holds.joins(self.attempt, member, own, token);
        }
        // Of these nobody has seen whether one restarted.
        let silent_of_marks = |status: &Status| matches!(status, Status::Busy | Status::NotHeld);
        if self.statuses.iter().any(silent_of_marks) {
            self.quorum.assemble_now_and_then();
        }
        self.let_late_ones_join(token);
    }

    pub(crate) fn heard(&mut self, event: Event) {
        match event {
            Event::Voted(Told { member, answer }) => {
                let (vote, status) = match answer {
                    Ok(Answer::Granted { token, left, others_waiting }) => {
                        self.others_waiting |= others_waiting;
                        (Vote::Granted { token, left }, Status::Did)
                    }
                    Ok(Answer::Busy { retry_after, holder, .. }) => {
                        self.seen(holder);
                        let soonest = self.retry_after.unwrap_or(retry_after);
                        self.retry_after = Some(soonest.min(retry_after));
                        (Vote::Busy, Status::Busy)
                    }
                    Err(fault) if fault.kind() == FaultKind::InDoubt => {
                        (Vote::Doubt, Status::of(&fault))
                    }
                    Err(fault) => (Vote::Failed, Status::of(&fault)),
                };
                self.ballot.voted(member, vote);
                self.is(member, status);
            }
            Event::Closed { member } => {
                self.ballot.voted(member, Vote::Closed);
                self.is(member, Status::Busy);
            }
            Event::NotHeld { member } => {
                self.ballot.voted(member, Vote::Busy);
                self.is(member, Status::NotHeld);
            }
            Event::Confirmed { member, token, confirmation, standing } => {
                self.ballot.confirmed(member, token, confirmation);
                match (confirmation, standing) {
                    (Confirmation::Confirmed, _) => {}
                    (_, Ok(Standing::KeptOut { rest, restarted })) => {
                        self.is(member, Status::KeptOut { rest, restarted });
                    }
                    (_, Ok(Standing::Unmarked | Standing::Claimed)) => {
                        self.is(member, Status::Unmarked { restarted: false });
                    }
                    (_, Ok(Standing::Restarted)) => {
                        self.is(member, Status::Unmarked { restarted: true });
                    }
                    (_, Ok(Standing::Foreign(words))) => {
                        let place =
                            self.quorum.shared.places.get(member).map_or("", String::as_str);
                        self.is(member, Status::unseen(&self.quorum.foreign(place, &words)));
                    }
                    (_, Ok(_)) => self.is(member, Status::Uncounted),
                    (_, Err(fault)) => self.is(member, Status::unseen(&fault)),
                }
            }
        }
    }

    /// Of several that members show, the one whose lease ends first: a member that is behind may
    /// show more.
    fn seen(&mut self, holder: Option<Contender>) {
        let Some(holder) = holder else { return };
        self.reader_lingers |= holder.mode == Mode::Shared && holder.lingering;
        self.behind_readers |= holder.mode == Mode::Shared && !holder.lingering;
        if self.holder.as_ref().is_none_or(|known| holder.left < known.left) {
            self.holder = Some(holder);
        }
    }

    fn is(&mut self, member: usize, status: Status) {
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
            Event::Confirmed { member, token, confirmation, standing }
        }));
    }

    /// Others have the name. What was won of it is given back, before this is answered where that
    /// takes no longer than a member's time limit.
    async fn outvoted(mut self, ask: &Ask) -> Answer {
        while let Some(Some(event)) = self.events.next().now_or_never() {
            self.heard(event);
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
            quorum.shared.holds.left_in_doubt(self.attempt, now, ask.ttl);
        } else if self.may_hold_anywhere() {
            self.attempt_is_over(ask.ttl);
            if kept(Rule::PartialWinGivenBack) {
                self.give_back().await;
            }
        }
        let pause = quorum.shared.holds.pause(&ask.owner, now, random, waits);
        if waits && exclusive {
            if behind_readers || quorum.shared.holds.has_signed(&ask.owner) {
                quorum.sign(name, ask);
            }
        } else if let (true, Some(looks)) = (waits, looks) {
            quorum.shared.holds.looked(&ask.owner, looks);
        }
        let retry_after = pause.min(soonest.max(SHORTEST_RETRY));
        Answer::Busy { retry_after, ahead: 0, holder, position: None }
    }

    /// No majority answered. What a minority granted stays, for the next ask of this acquisition or
    /// for its release: the caller is told that it is in doubt.
    async fn failed<T>(mut self, known: Option<Token>) -> Outcome<T> {
        let (quorum, name, ttl) = (self.quorum, self.name, self.ask.ttl);
        self.hear_all().await;
        let mut in_doubt = self.may_hold_anywhere();
        let unmarked = self.statuses.iter().any(|status| matches!(status, Status::Unmarked { .. }));
        let statuses = self.statuses.clone();
        if in_doubt && need_somebody(&statuses) {
            // The next ask would come to the same, so it is not left to that one. What was granted
            // before stays, and may be another kind of hold by now if a majority did as it was asked.
            in_doubt = known.is_some() && self.ballot.may_hold_majority();
            if known.is_none() {
                self.attempt_is_over(ttl);
                self.give_back().await;
            }
        } else if in_doubt && known.is_none() {
            quorum.shared.holds.left_in_doubt(self.attempt, quorum.shared.options.now(), ttl);
        }
        let places = &quorum.shared.places;
        let fault = no_majority("granted", Some(name), &statuses, places, in_doubt);
        Outcome::Failed(fault, unmarked)
    }

    /// What the others say is worth the rest of their time: less is in doubt then.
    pub(crate) async fn hear_all(&mut self) {
        while let Some(event) = self.events.next().await {
            self.heard(event);
        }
    }

    /// A majority has the name for others: what was granted before is gone.
    fn held_by_others(self) -> Answer {
        let retry_after = self.retry_after.unwrap_or(SHORTEST_RETRY);
        Answer::Busy { retry_after, ahead: 0, holder: self.holder, position: None }
    }

    /// The members to which an ask of this attempt may still come.
    pub(crate) fn doubtful(&self) -> impl Iterator<Item = usize> {
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

    /// From here on the owner of this attempt is not asked with any more.
    fn attempt_is_over(&self, ttl: Duration) {
        let shared = &self.quorum.shared;
        shared.holds.taken_back(self.attempt, shared.options.now(), ttl);
    }
}

/// The shortest time after which a waiter is told to ask again.
const SHORTEST_RETRY: Duration = Duration::from_millis(1);
