//! Random histories of one lease, seen by its holder and by a store whose clock runs differently.

use std::time::Duration;

use proptest::prelude::*;
use tenure_proto::{Grace, Hold, LostReason, Renewed, Terms, Timestamp, Ttl, hold::Action};

use crate::world::{at, ms};

/// How long a message takes to the store and back, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Trip {
    there: u64,
    back: u64,
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Answered,
    RequestLost,
    AnswerLost,
    Evicted,
}

#[derive(Clone, Debug)]
enum Step {
    /// So many thousandths of the ttl go by.
    Wait(u64),
    Renew(Fate, Trip),
    Hint,
    Pass(Terms),
    Claim,
    End,
}

#[derive(Clone, Debug)]
pub(crate) struct History {
    terms: Terms,
    /// How many thousandths of a second the store counts in one of the holder's seconds.
    rate: u64,
    grant: Trip,
    /// What a repeated acquire finds used up, in thousandths.
    used: u64,
    steps: Vec<Step>,
}

fn trip() -> impl Strategy<Value = Trip> {
    let way = || prop_oneof![6 => 0..3_000_u64, 2 => 0..200_000_u64, 1 => 0..20_000_000_u64];
    (way(), way()).prop_map(|(there, back)| Trip { there, back })
}

fn terms() -> impl Strategy<Value = Terms> {
    let max_hold =
        prop_oneof![3 => Just(None), 1 => (1..90_000_u64).prop_map(|hold| Some(ms(hold)))];
    let grace = prop_oneof![2 => Just(0), 1 => 0..60_000_u64];
    (10..30_000_u64, grace, max_hold).prop_map(|(ttl, grace, max_hold)| Terms {
        ttl: Ttl::new(ms(ttl)).expect("a ttl"),
        grace: Grace::new(ms(grace)).expect("a grace"),
        max_hold,
    })
}

pub(crate) fn history() -> impl Strategy<Value = History> {
    let fate = prop_oneof![
        5 => Just(Fate::Answered),
        1 => Just(Fate::RequestLost),
        1 => Just(Fate::AnswerLost),
        1 => Just(Fate::Evicted),
    ];
    let step = prop_oneof![
        8 => (0..400_u64).prop_map(Step::Wait),
        8 => (fate, trip()).prop_map(|(fate, trip)| Step::Renew(fate, trip)),
        2 => Just(Step::Hint),
        1 => terms().prop_map(Step::Pass),
        1 => Just(Step::Claim),
        1 => Just(Step::End),
    ];
    let used = prop_oneof![3 => Just(0), 1 => 0..1_000_u64];
    (terms(), 990..=1_010_u64, trip(), used, prop::collection::vec(step, 0..40))
        .prop_map(|(terms, rate, grant, used, steps)| History { terms, rate, grant, used, steps })
}

fn ensure(holds: bool, broken: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken.to_owned()) }
}

struct Model {
    hold: Hold,
    rate: u64,
    now: Timestamp,
    /// When the lease ends in truth, on the holder's clock.
    store_end: Timestamp,
    evicted: bool,
    lost: Option<LostReason>,
    ended: bool,
    generation: u32,
    told_at_risk: bool,
}

/// Plays a history and says what went wrong first.
pub(crate) fn play(history: &History) -> Result<(), String> {
    let sent = at(5_000);
    let arrived = sent.saturating_add(Duration::from_micros(history.grant.there));
    let received = arrived.saturating_add(Duration::from_micros(history.grant.back));
    let lease = history.terms.for_store();
    let left = lease - lease * u32::try_from(history.used).unwrap_or(0) / 1_000;
    let store_end = arrived.saturating_add(on_holders_clock(left, history.rate));
    let Some(hold) = Hold::granted(sent, received, left, history.terms) else { return Ok(()) };
    ensure(received < hold.deadline(), "a grant came after its own deadline")?;
    let rate = history.rate;
    let (evicted, lost, ended, generation, told_at_risk) = (false, None, false, 0, false);
    let mut model = Model {
        hold,
        rate,
        now: received,
        store_end,
        evicted,
        lost,
        ended,
        generation,
        told_at_risk,
    };
    model.stands()?;
    for (index, step) in history.steps.iter().enumerate() {
        model
            .take(step)
            .and_then(|()| model.stands())
            .map_err(|broken| format!("step {index}, {step:?}: {broken}"))?;
    }
    Ok(())
}

/// How long the holder's clock takes for what the store counts as `length`.
fn on_holders_clock(length: Duration, rate: u64) -> Duration {
    length * 1_000 / u32::try_from(rate).unwrap_or(1_000)
}

impl Model {
    fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Wait(part) => {
                let ttl = self.hold.terms().ttl.get();
                self.now = self.now.saturating_add(ttl * u32::try_from(*part).unwrap_or(0) / 1_000);
                Ok(())
            }
            Step::Renew(fate, trip) => {
                // The engine sleeps until there is something to do.
                if let Action::WaitUntil(due) = self.hold.next_action(self.now)
                    && due < self.hold.deadline()
                {
                    self.now = due;
                }
                if self.hold.next_action(self.now) == Action::Renew {
                    return self.renew(*fate, *trip);
                }
                Ok(())
            }
            Step::Hint => {
                self.hold.hinted(self.now);
                Ok(())
            }
            Step::Pass(terms) => {
                let held = self.lost.is_none() && !self.ended;
                if held && self.hold.deadline_for(terms) > self.now {
                    self.hold.pass(self.now, *terms, ms(500));
                    self.generation += 1;
                    self.told_at_risk = false;
                }
                Ok(())
            }
            Step::Claim => {
                let over = self.lost.is_some() || self.ended || self.hold.deadline() <= self.now;
                ensure(self.hold.claim(self.now) != over, "a hold is taken unless it is over")
            }
            Step::End => {
                self.hold.end();
                self.ended = true;
                Ok(())
            }
        }
    }

    fn renew(&mut self, fate: Fate, trip: Trip) -> Result<(), String> {
        let sent = self.now;
        let asked = self.hold.renewal_length(sent);
        ensure(
            asked.subsec_nanos().is_multiple_of(1_000_000),
            "a renewal asks for part of a millisecond",
        )?;
        self.hold.renewal_sent(sent);
        let arrived = sent.saturating_add(Duration::from_micros(trip.there));
        let answer = self.at_store(fate, arrived, asked);
        self.now = arrived.saturating_add(Duration::from_micros(trip.back));
        self.stands()?;
        self.hold.renewal_answered(sent, self.now, answer);
        let tried_again = match self.next_besides_risk() {
            Action::WaitUntil(due) => due < self.hold.deadline() || self.covered(),
            Action::Renew | Action::PassOn | Action::TellLost(_) => true,
        };
        ensure(tried_again, "a lease is left to end without another renewal")
    }

    /// What comes next if nothing happens, except for telling the holder that it is at risk.
    fn next_besides_risk(&self) -> Action {
        let mut hold = self.hold.clone();
        hold.risk_changed(self.now);
        match hold.next_action(self.now) {
            Action::WaitUntil(due) if hold.risk_changed(due).is_some() => hold.next_action(due),
            other => other,
        }
    }

    /// Whether what is left of the lease outlasts the longest hold, or is too short for a retry.
    fn covered(&self) -> bool {
        let retry =
            self.now.saturating_add(tenure_proto::renewal::retry_gap(self.hold.terms().ttl));
        self.hold.why_over() == LostReason::MaxHold || retry >= self.hold.deadline()
    }

    fn at_store(&mut self, fate: Fate, arrived: Timestamp, asked: Duration) -> Renewed {
        match fate {
            Fate::RequestLost => return Renewed::Unknown,
            Fate::Evicted => {
                self.evicted = true;
                self.store_end = self.store_end.min(arrived);
            }
            Fate::Answered | Fate::AnswerLost if self.store_end > arrived => {
                let end = arrived.saturating_add(on_holders_clock(asked, self.rate));
                self.store_end = self.store_end.max(end);
            }
            Fate::Answered | Fate::AnswerLost => {}
        }
        if matches!(fate, Fate::AnswerLost) {
            return Renewed::Unknown;
        }
        if self.store_end <= arrived {
            return Renewed::Lost;
        }
        let left = self.store_end.since(arrived) * u32::try_from(self.rate).unwrap_or(0) / 1_000;
        Renewed::Renewed { left, others_waiting: false }
    }

    /// What holds at every moment.
    fn stands(&mut self) -> Result<(), String> {
        ensure(self.hold.generation() == self.generation, "a generation came from nowhere")?;
        let at_risk = self.hold.is_at_risk(self.now);
        if let Some(told) = self.hold.risk_changed(self.now) {
            ensure(told == at_risk && told != self.told_at_risk, "a risk is told wrongly")?;
            self.told_at_risk = told;
        }
        let action = self.hold.next_action(self.now);
        if self.ended {
            let quiet = action == Action::WaitUntil(Timestamp::NEVER);
            return ensure(quiet, "something is done for a lease that was released");
        }
        match action {
            Action::TellLost(reason) => {
                ensure(self.lost.is_none_or(|lost| lost == reason), "the reason changed")?;
                self.lost = Some(reason);
                return Ok(());
            }
            Action::WaitUntil(due) => ensure(due > self.now, "waiting for what is past")?,
            Action::Renew => ensure(self.hold.claimed(), "a renewal for nobody's guard")?,
            Action::PassOn => ensure(!self.hold.claimed(), "a hold is taken from its guard")?,
        }
        ensure(self.lost.is_none(), "a lost lease came back")?;
        ensure(self.hold.deadline() > self.now, "a hold goes on past its deadline")?;
        let grace = on_holders_clock(self.hold.terms().grace.rounded(), self.rate);
        let believed = self.hold.deadline().saturating_add(grace);
        // An eviction ends a lease before its time, and only the answer tells.
        ensure(
            self.evicted || believed <= self.store_end,
            "the holder believes longer than the store",
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn no_history_of_a_lease_breaks_a_promise(history in history()) {
        if let Err(broken) = play(&history) {
            return Err(TestCaseError::fail(broken));
        }
    }
}
