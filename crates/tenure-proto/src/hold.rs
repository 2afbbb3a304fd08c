//! The state machine of one lease, on its holder's side.

use std::time::Duration;

use crate::{
    Grace, Renewed, Timestamp, Ttl, lease, renewal,
    rule::{Rule, kept},
};

/// The shortest time between two renewals because of hints.
pub const HINT_GAP: Duration = Duration::from_millis(50);

/// Why a lease was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostReason {
    /// Its deadline passed before a renewal was answered.
    Deadline,
    /// The store answered that it ended or that another holder has the name.
    Taken,
    /// It reached its `max_hold`.
    MaxHold,
}

/// The settings of one hold.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The length of the lease.
    pub ttl: Ttl,
    /// The additional time for which the store keeps it.
    pub grace: Grace,
    /// How long it may last, even with renewals.
    pub max_hold: Option<Duration>,
}

impl Terms {
    /// Returns the length of the lease in the store.
    #[must_use]
    pub fn for_store(&self) -> Duration {
        self.ttl.for_store() + self.grace.rounded()
    }
}

/// What the holder of a lease must do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a renewal.
    Renew,
    /// Notify the holder that it lost the lease.
    TellLost(LostReason),
    /// Pass it on to the next task: the task that was handed it does not take it.
    PassOn,
    /// Wait until this moment.
    WaitUntil(Timestamp),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Held,
    Lost(LostReason),
    Ended,
}

/// One lease as its holder sees it: until when it counts, when to renew it, and whether it is lost. Time is an argument
/// of every method.
///
/// Inside one process a lease is split into holds. Each has its own generation, so that the guard of an earlier hold
/// cannot affect a later one.
#[derive(Clone, Debug)]
pub struct Hold {
    terms: Terms,
    phase: Phase,
    generation: u32,
    lease_deadline: Timestamp,
    hold_end: Timestamp,
    renew_at: Timestamp,
    /// From when on the lease is at risk unless it is renewed.
    lease_at_risk: Timestamp,
    /// Whether the holder knows that it is at risk.
    told_at_risk: bool,
    unanswered: bool,
    /// When a hint asks for a renewal; never if none does.
    hint_due: Timestamp,
    /// When the next hint counts.
    hints_from: Timestamp,
    /// Until when the task that was handed the lease may take it; never once it has.
    claim_until: Timestamp,
}

impl Hold {
    /// Makes the hold of a grant that was requested at `sent` and answered at `received`. `None` if too little of the
    /// lease is left.
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
            lease_at_risk: half_of_margin(sent, lease_deadline, terms.ttl),
            told_at_risk: false,
            unanswered: false,
            hint_due: Timestamp::NEVER,
            hints_from: Timestamp::ZERO,
            claim_until: Timestamp::NEVER,
        })
    }

    /// Returns the time until which you may count on this hold.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.lease_deadline.min(self.hold_end)
    }

    /// Returns the generation of this hold of the lease.
    #[must_use]
    pub const fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns the settings of the hold.
    #[must_use]
    pub const fn terms(&self) -> Terms {
        self.terms
    }

    /// Returns whether a renewal was sent whose answer is not known.
    #[must_use]
    pub const fn renewal_unanswered(&self) -> bool {
        self.unanswered
    }

    /// Returns whether the lease ended with a release.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Returns what to do at `now`.
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
        let news_at = if self.told_at_risk { self.deadline() } else { self.at_risk_from() };
        if self.unanswered {
            return Action::WaitUntil(news_at);
        }
        // A lease that outlasts the hold needs no renewal, but a hint still causes one.
        let renew_at =
            if self.outlasts() { self.hint_due } else { self.renew_at.min(self.hint_due) };
        if now >= renew_at {
            return Action::Renew;
        }
        Action::WaitUntil(renew_at.min(news_at))
    }

    /// Returns whether the hold is at risk at `now`: less than half of the margin is left. The margin is the time
    /// between the moment when a renewal is due and the deadline, so renewals have failed for a while.
    ///
    /// A hold that ends with its `max_hold` is at risk in the last third of its ttl, or of its `max_hold` if that is
    /// shorter.
    #[must_use]
    pub fn is_at_risk(&self, now: Timestamp) -> bool {
        self.phase == Phase::Held && self.claimed() && now >= self.at_risk_from()
    }

    /// Returns whether the hold is at risk at `now`, if its holder does not know that yet. From now on it does.
    pub fn risk_changed(&mut self, now: Timestamp) -> Option<bool> {
        if self.phase != Phase::Held || !self.claimed() || now >= self.deadline() {
            return None;
        }
        let at_risk = self.is_at_risk(now);
        (std::mem::replace(&mut self.told_at_risk, at_risk) != at_risk).then_some(at_risk)
    }

    /// Returns what is left of the lease at `now`, and how long it was when it was granted or renewed last: the ttl, or
    /// less if the store vouches for less.
    #[must_use]
    pub fn lease_left(&self, now: Timestamp) -> (Duration, Duration) {
        // At risk from two thirds of it on.
        let length = self.lease_deadline.since(self.lease_at_risk).saturating_mul(3);
        (self.lease_deadline.since(now), length.min(self.terms.ttl.get()))
    }

    /// Returns the time from which on the hold is at risk unless it is renewed.
    #[must_use]
    pub fn at_risk_from(&self) -> Timestamp {
        let hold_at_risk = self.terms.max_hold.map_or(Timestamp::NEVER, |max_hold| {
            self.hold_end.saturating_sub(max_hold.min(self.terms.ttl.get()) / 3)
        });
        // A lease that outlasts the hold needs no renewal.
        if self.outlasts() { hold_at_risk } else { hold_at_risk.min(self.lease_at_risk) }
    }

    /// Whether the lease lasts as long as the hold can.
    fn outlasts(&self) -> bool {
        self.lease_deadline >= self.hold_end
    }

    /// Returns the length of lease to request in a renewal at `now`: no longer than what is left of the longest hold,
    /// so that the name is free soon after it.
    #[must_use]
    pub fn renewal_length(&self, now: Timestamp) -> Duration {
        let rest = self.hold_end.since(now).max(Ttl::MIN);
        if rest >= self.terms.ttl.get() {
            return self.terms.for_store();
        }
        lease::covering(rest, self.terms.grace)
    }

    /// Records that a renewal is sent at `now`.
    pub fn renewal_sent(&mut self, now: Timestamp) {
        self.unanswered = true;
        self.hint_due = Timestamp::NEVER;
        self.hints_from = now.saturating_add(HINT_GAP);
    }

    /// Records a hint that the name was taken away. Only the store knows, so a renewal is due at `due`, or once the
    /// renewal under way is answered, because that answer may be older than the hint.
    ///
    /// Hints may be forged, and some come for no reason. So they cause at most one renewal in each [`HINT_GAP`].
    pub fn hinted(&mut self, due: Timestamp) {
        self.hint_due = self.hint_due.min(due.max(self.hints_from));
    }

    /// Records the answer, at `received`, to the renewal that was sent at `sent`.
    ///
    /// Only an answer before the old deadline extends the lease, and nothing brings back a lost lease (promises
    /// [S3](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s3-a-holder-is-never-the-last-to-know) and
    /// [S7](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s7-the-watchdog-ends-with-the-guard)).
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
                        let at_risk = half_of_margin(sent, later, self.terms.ttl);
                        self.lease_at_risk = self.lease_at_risk.max(at_risk);
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
        // It needed no renewal, so this one was for a hint, which is not answered yet.
        if self.outlasts() {
            self.hint_due = self.hint_due.min(self.renew_at);
        }
    }

    /// Returns the time until which a task of the process with these `terms` may count on the lease. The task's own
    /// grace is kept free, whatever the present holder's grace is.
    #[must_use]
    pub fn deadline_for(&self, terms: &Terms) -> Timestamp {
        let more = terms.grace.rounded().saturating_sub(self.terms.grace.rounded());
        self.lease_deadline.saturating_sub(more)
    }

    /// Passes the lease to the next task of the process, with its `terms`. The task has to take it within `window`, or
    /// within a third of what is left of the lease if that is less.
    ///
    /// Until then no task has a guard, so the lease is not renewed (promise
    /// [S7](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s7-the-watchdog-ends-with-the-guard)). A
    /// task that is not polled keeps the name from others for no longer than that.
    pub fn pass(&mut self, now: Timestamp, terms: Terms, window: Duration) {
        self.let_go();
        self.hold_end = end_of_hold(now, terms.max_hold);
        self.lease_deadline = self.deadline_for(&terms);
        self.renew_at = self.renew_at.min(next_renewal(now, self.lease_deadline, terms.ttl));
        self.lease_at_risk = half_of_margin(now, self.lease_deadline, terms.ttl);
        self.terms = terms;
        if kept(Rule::UntakenGoesOn) {
            let window = window.min(self.lease_deadline.since(now) / 3);
            self.claim_until = now.saturating_add(window);
            // It begins when the task takes the lease.
            self.hold_end = Timestamp::NEVER;
        }
    }

    /// Returns whether the task that was passed the lease has taken it, if it was passed at all.
    #[must_use]
    pub fn claimed(&self) -> bool {
        self.claim_until == Timestamp::NEVER
    }

    /// Takes the lease for the task that was passed it. Returns `false` if the lease is over.
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

    /// Limits the hold to `max_hold` from now on.
    pub fn bound(&mut self, now: Timestamp, max_hold: Option<Duration>) {
        self.terms.max_hold = max_hold;
        self.hold_end = end_of_hold(now, max_hold);
    }

    /// Ends the present hold, whatever becomes of the lease: no task can take it or count on it any more.
    pub fn let_go(&mut self) {
        self.generation += 1;
        self.told_at_risk = false;
        self.claim_until = Timestamp::NEVER;
    }

    /// Ends the lease as lost: its deadline passed, or the store answered that it is gone.
    pub fn lose(&mut self, reason: LostReason) {
        if self.phase == Phase::Held {
            self.phase = Phase::Lost(reason);
        }
    }

    /// Ends the lease as released or left to expire: it is no longer renewed.
    pub fn end(&mut self) {
        if kept(Rule::RenewalEndsWithGuard) {
            self.phase = Phase::Ended;
        }
    }

    /// Returns why a hold is over whose deadline passed.
    #[must_use]
    pub fn why_over(&self) -> LostReason {
        if self.hold_end <= self.lease_deadline {
            LostReason::MaxHold
        } else {
            LostReason::Deadline
        }
    }
}

/// When to renew a lease that was granted, renewed or passed on at `from`: after a third of the ttl, or of what is left
/// if that is less, and somewhat earlier together with others.
fn next_renewal(from: Timestamp, deadline: Timestamp, ttl: Ttl) -> Timestamp {
    let gap = renewal_gap(from, deadline, ttl);
    let (at, beat) = (from.saturating_add(gap), renewal::beat(ttl));
    if gap / 4 < beat { at } else { at.on_beat(beat) }
}

fn renewal_gap(from: Timestamp, deadline: Timestamp, ttl: Ttl) -> Duration {
    renewal::interval(ttl).min(deadline.since(from) / 3)
}

/// Half-way between the time when a lease that was granted, renewed or passed on at `from` is renewed, beats aside, and
/// its deadline.
fn half_of_margin(from: Timestamp, deadline: Timestamp, ttl: Ttl) -> Timestamp {
    let due = from.saturating_add(renewal_gap(from, deadline, ttl));
    due.saturating_add(deadline.since(due) / 2)
}

fn end_of_hold(from: Timestamp, max_hold: Option<Duration>) -> Timestamp {
    max_hold.map_or(Timestamp::NEVER, |length| from.saturating_add(length))
}
