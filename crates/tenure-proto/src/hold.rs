//! The state machine of one lease on the side of its holder.

use std::time::Duration;

use crate::{
    Grace, Renewed, Timestamp, Ttl, lease, renewal,
    rule::{Rule, kept},
};

/// How often a hold is renewed because of hints, at most.
pub const HINT_GAP: Duration = Duration::from_millis(50);

/// Why a lease was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostReason {
    /// Its deadline passed before a renewal was answered.
    Deadline,
    /// The store says that it ended or that somebody else has the name.
    Taken,
    /// It reached the longest hold that was asked for.
    MaxHold,
}

/// What was asked for one hold.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The length of the lease.
    pub ttl: Ttl,
    /// What the store adds to it.
    pub grace: Grace,
    /// After how long renewals end.
    pub max_hold: Option<Duration>,
}

impl Terms {
    /// The length of the lease as the store is told.
    #[must_use]
    pub fn for_store(&self) -> Duration {
        self.ttl.for_store() + self.grace.rounded()
    }
}

/// What the holder of a lease should do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a renewal.
    Renew,
    /// Tell the holder that it lost the lease.
    TellLost(LostReason),
    /// Let it go on to the next: it was passed to a task that does not take it.
    PassOn,
    /// Nothing until this moment.
    WaitUntil(Timestamp),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Held,
    Lost(LostReason),
    Ended,
}

/// One lease as its holder sees it: until when it may be counted on, when to renew it, whether it
/// is lost. Time is an argument of every question.
///
/// Inside one process a lease is split into holds, each with a generation of its own, so that the
/// guard of an earlier hold cannot touch a later one.
#[derive(Clone, Debug)]
pub struct Hold {
    terms: Terms,
    phase: Phase,
    generation: u32,
    lease_deadline: Timestamp,
    hold_end: Timestamp,
    renew_at: Timestamp,
    unanswered: bool,
    /// From when on a hint asks for a renewal; never if none does.
    hint_due: Timestamp,
    /// From when on the next hint is heeded.
    hints_from: Timestamp,
    /// Until when the task that it was passed to may take it; never once that is done.
    claim_until: Timestamp,
}

impl Hold {
    /// A grant that was asked for at `sent` and answered at `received`; `None` when so little of
    /// it is left that it is no grant.
    #[must_use]
    pub fn granted(
        sent: Timestamp,
        received: Timestamp,
        left: Duration,
        terms: Terms,
    ) -> Option<Self> {
        let lease_deadline = lease::deadline(sent, received, left, terms.grace)?;
        let hold_end = end_of_hold(received, terms.max_hold);
        let renew_at = next_renewal(sent, lease_deadline, terms.ttl);
        Some(Self {
            terms,
            phase: Phase::Held,
            generation: 0,
            lease_deadline,
            hold_end,
            renew_at,
            unanswered: false,
            hint_due: Timestamp::NEVER,
            hints_from: Timestamp::ZERO,
            claim_until: Timestamp::NEVER,
        })
    }

    /// Until when this hold may be counted on.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.lease_deadline.min(self.hold_end)
    }

    /// Which hold of the lease this is.
    #[must_use]
    pub const fn generation(&self) -> u32 {
        self.generation
    }

    /// What was asked for the hold.
    #[must_use]
    pub const fn terms(&self) -> Terms {
        self.terms
    }

    /// Whether a renewal was sent whose answer is not known.
    #[must_use]
    pub const fn renewal_unanswered(&self) -> bool {
        self.unanswered
    }

    /// Whether the lease has ended by a release.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// What to do at `now`.
    #[must_use]
    pub fn next_action(&self, now: Timestamp) -> Action {
        match self.phase {
            Phase::Lost(reason) => return Action::TellLost(reason),
            Phase::Ended => return Action::WaitUntil(Timestamp::NEVER),
            Phase::Held => {}
        }
        if now >= self.deadline() {
            return Action::TellLost(self.why_over());
        }
        if !self.claimed() {
            let until = self.claim_until;
            return if now >= until { Action::PassOn } else { Action::WaitUntil(until) };
        }
        if self.unanswered {
            return Action::WaitUntil(self.deadline());
        }
        // A lease that outlasts the hold needs no renewal, but a hint is still looked into.
        let renew_at =
            if self.outlasts() { self.hint_due } else { self.renew_at.min(self.hint_due) };
        if now >= renew_at {
            return Action::Renew;
        }
        Action::WaitUntil(renew_at.min(self.deadline()))
    }

    /// Whether the lease lasts as long as the hold can.
    fn outlasts(&self) -> bool {
        self.lease_deadline >= self.hold_end
    }

    /// The length of lease that a renewal at `now` asks of the store: no longer than the rest of
    /// the longest hold, so that the name is free soon after it.
    #[must_use]
    pub fn renewal_length(&self, now: Timestamp) -> Duration {
        let rest = self.hold_end.since(now).max(Ttl::MIN);
        if rest >= self.terms.ttl.get() {
            return self.terms.for_store();
        }
        lease::covering(rest, self.terms.grace)
    }

    /// A renewal goes out at `now`.
    pub fn renewal_sent(&mut self, now: Timestamp) {
        self.unanswered = true;
        self.hint_due = Timestamp::NEVER;
        self.hints_from = now.saturating_add(HINT_GAP);
    }

    /// A hint says that somebody took the name away. Only the store knows, so a renewal is due at `due`,
    /// or when the one that is under way is answered: what it says may be older than the hint.
    ///
    /// Hints may be forged, and some come for no reason, so they cause no more than one renewal in each
    /// [`HINT_GAP`].
    pub fn hinted(&mut self, due: Timestamp) {
        self.hint_due = self.hint_due.min(due.max(self.hints_from));
    }

    /// The answer to the renewal that went out at `sent` came at `received`.
    ///
    /// Only an answer that comes before the old deadline extends the lease, and nothing brings a
    /// lost one back (promises [S3](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s3-a-holder-is-never-the-last-to-know) and [S7](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s7-the-watchdog-ends-with-the-guard)).
    pub fn renewal_answered(&mut self, sent: Timestamp, received: Timestamp, answer: Renewed) {
        self.unanswered = false;
        let lost = matches!(self.phase, Phase::Lost(_)) || received >= self.deadline();
        if self.phase == Phase::Ended || (lost && kept(Rule::LostIsFinal)) {
            return;
        }
        match answer {
            Renewed::Renewed { left, .. } => {
                match lease::deadline(sent, received, left, self.terms.grace) {
                    Some(later) => {
                        self.phase = Phase::Held;
                        self.lease_deadline = self.lease_deadline.max(later);
                        self.renew_at = next_renewal(sent, later, self.terms.ttl);
                    }
                    // It came too late to say anything about now.
                    None => self.try_again(received),
                }
            }
            Renewed::Lost => self.phase = Phase::Lost(LostReason::Taken),
            Renewed::Unknown => self.try_again(received),
        }
    }

    fn try_again(&mut self, received: Timestamp) {
        if !kept(Rule::FailedRenewalTriedAgain) {
            self.renew_at = Timestamp::NEVER;
            return;
        }
        self.renew_at = received.saturating_add(renewal::retry_gap(self.terms.ttl));
        // Without a need to be renewed it was for a hint, which nobody has answered yet.
        if self.outlasts() {
            self.hint_due = self.hint_due.min(self.renew_at);
        }
    }

    /// Until when the lease may be counted on by a task of the process that asks for `terms`: its
    /// grace is kept free, whatever the present holder asked for.
    #[must_use]
    pub fn deadline_for(&self, terms: &Terms) -> Timestamp {
        let more = terms.grace.rounded().saturating_sub(self.terms.grace.rounded());
        self.lease_deadline.saturating_sub(more)
    }

    /// The lease goes to the next task of the process, which asked for `terms` and has to take it
    /// within `window`, or within a third of what is left where that is less.
    ///
    /// Until then nobody has a guard, so nothing is renewed (promise [S7](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s7-the-watchdog-ends-with-the-guard)): a task that does not go on
    /// keeps the name from others for no longer than that.
    pub fn pass(&mut self, now: Timestamp, terms: Terms, window: Duration) {
        self.let_go();
        self.hold_end = end_of_hold(now, terms.max_hold);
        self.lease_deadline = self.deadline_for(&terms);
        self.renew_at = self.renew_at.min(next_renewal(now, self.lease_deadline, terms.ttl));
        self.terms = terms;
        if kept(Rule::UntakenGoesOn) {
            let window = window.min(self.lease_deadline.since(now) / 3);
            self.claim_until = now.saturating_add(window);
            // It begins when the task takes it.
            self.hold_end = Timestamp::NEVER;
        }
    }

    /// Whether the task that the lease was passed to has taken it, if it was passed on at all.
    #[must_use]
    pub fn claimed(&self) -> bool {
        self.claim_until == Timestamp::NEVER
    }

    /// The task that the lease was passed to takes it; `false` if it is over.
    #[must_use]
    pub fn claim(&mut self, now: Timestamp) -> bool {
        if self.phase != Phase::Held || now >= self.deadline() {
            return false;
        }
        if !self.claimed() {
            self.claim_until = Timestamp::NEVER;
            self.hold_end = end_of_hold(now, self.terms.max_hold);
        }
        true
    }

    /// The hold lasts for at most `max_hold` from now on.
    pub fn bound(&mut self, now: Timestamp, max_hold: Option<Duration>) {
        self.terms.max_hold = max_hold;
        self.hold_end = end_of_hold(now, max_hold);
    }

    /// The present hold is over, whatever becomes of the lease: nobody can take it or count on it
    /// any more.
    pub fn let_go(&mut self) {
        self.generation += 1;
        self.claim_until = Timestamp::NEVER;
    }

    /// The lease is over: its deadline passed or the store said so.
    pub fn lose(&mut self, reason: LostReason) {
        if self.phase == Phase::Held {
            self.phase = Phase::Lost(reason);
        }
    }

    /// The lease is released, or left to expire: nothing is renewed any more.
    pub fn end(&mut self) {
        if kept(Rule::RenewalEndsWithGuard) {
            self.phase = Phase::Ended;
        }
    }

    /// Why a hold whose deadline passed is over.
    #[must_use]
    pub fn why_over(&self) -> LostReason {
        if self.hold_end <= self.lease_deadline {
            LostReason::MaxHold
        } else {
            LostReason::Deadline
        }
    }
}

/// When a lease is renewed that was granted, renewed or passed on at `from`: after a third of the
/// ttl, or of what is left where that is less, and somewhat earlier together with others.
fn next_renewal(from: Timestamp, deadline: Timestamp, ttl: Ttl) -> Timestamp {
    let gap = renewal::interval(ttl).min(deadline.since(from) / 3);
    let (at, beat) = (from.saturating_add(gap), renewal::beat(ttl));
    if gap / 4 < beat { at } else { at.on_beat(beat) }
}

fn end_of_hold(from: Timestamp, max_hold: Option<Duration>) -> Timestamp {
    max_hold.map_or(Timestamp::NEVER, |length| from.saturating_add(length))
}
