//! What has to be so after a drill, by the lines of the job and the reports of the calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::{Duration, UNIX_EPOCH},
};

use serde_json::json;

use crate::{call::Call, drill::Done};

/// How early a call may come that means the next slot: a tenth of it.
const EARLY: Duration = Duration::from_millis(100);

/// What came of a drill.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    slots: usize,
    calls: usize,
    runs: usize,
    /// Calls that were killed or frozen, and those of them whose job had begun.
    struck: usize,
    struck_runs: usize,
    /// Runs that exited with 1.
    failed: usize,
    /// Calls whose lock was lost.
    lost: usize,
    /// Calls that gave up, as the store did not answer.
    unanswered: usize,
    /// Slots with a line at the end.
    done: usize,
    /// Those with a run after that, as the one that wrote it crashed before the slot was marked.
    pub(crate) repeated: usize,
    /// Slots whose every run failed or crashed.
    pub(crate) in_vain: usize,
    /// Those of them without a crash: the calls in line after a run that failed are to try again.
    given_up: usize,
    /// Slots without a run, during which an earlier one still had the lock, or a call that was frozen.
    kept: usize,
    /// Slots without a run, which were over when the store first answered a call that meant them.
    away: usize,
    /// Slots without a run, for no reason.
    missed: usize,
    /// What should not be.
    pub(crate) wrong: Vec<String>,
}

/// A run of the job.
struct Run<'a> {
    token: u64,
    call: &'a Call,
    is_done: bool,
}

pub(crate) fn judge(done: &Done) -> Figures {
    let mut figures = Figures { calls: done.calls.len(), ..Figures::default() };
    let slots = runs_of_slots(done, &mut figures.wrong);
    figures.check_tokens(done);
    for call in &done.calls {
        figures.check_call(call, &slots);
    }
    for runs in slots.values() {
        figures.check_repeats(runs);
    }
    figures.check_missed(done, &slots);
    figures
}

fn runs_of_slots<'a>(done: &'a Done, wrong: &mut Vec<String>) -> BTreeMap<u64, Vec<Run<'a>>> {
    let mut slots: BTreeMap<u64, Vec<Run<'_>>> = BTreeMap::new();
    for line in &done.journal {
        let call = &done.calls[line.call];
        let runs = slots.entry(seconds(&line.slot)).or_default();
        if !line.is_end {
            runs.push(Run { token: line.token, call, is_done: false });
            continue;
        }
        match runs.iter_mut().find(|run| run.token == line.token && !run.is_done) {
            Some(run) => run.is_done = true,
            None => wrong.push(format!("an end without a beginning: {line:?}")),
        }
    }
    slots
}

impl Figures {
    /// The tokens rise in the order of the lines: no run writes after a later one began.
    fn check_tokens(&mut self, done: &Done) {
        for two in done.journal.windows(2) {
            let [before, after] = two else { continue };
            let rises =
                if after.is_end { after.token == before.token } else { after.token > before.token };
            if !rises {
                self.wrong.push(format!("tokens do not rise: {before:?}, then {after:?}"));
            }
        }
    }

    fn check_call(&mut self, call: &Call, slots: &BTreeMap<u64, Vec<Run<'_>>>) {
        self.lost += usize::from(call.is_lost());
        self.unanswered += usize::from(call.is_unanswered());
        self.struck += usize::from(call.struck.is_some());
        let skipped = call.skipped();
        if let Some(("finished", token)) = skipped {
            let slot = call.reported_slot().map_or(0, seconds);
            let mut later = slots.range(slot..).flat_map(|(_, runs)| runs);
            if !later.any(|run| Some(run.token) == token && run.is_done) {
                self.wrong.push(format!("no run finished the slot: {}", told(call)));
            }
        }
        // Its clock is as wrong as it was to be.
        let since = call.came().map_or(0.0, |came| came - call.started.as_secs_f64());
        if call.struck.is_none() && since.abs() > 20.0 {
            self.wrong.push(format!("it came {since} s after its start: {}", told(call)));
        }
        if call.code == 0 && !call.is_marked() {
            self.wrong.push(format!("success without a mark: {}", told(call)));
        }
        if call.is_broken() {
            return;
        }
        let as_meant = match call.code {
            0 => true,
            1 => call.fails && call.reported_slot().is_some(),
            122 => skipped.is_some(),
            _ => false,
        };
        if !as_meant {
            self.wrong.push(format!("an unexpected end: {}", told(call)));
        }
        // By the true clock, whatever the host's own says.
        if let Some(slot) = within(call)
            && call.reported_slot().map(seconds) != Some(slot)
        {
            self.wrong.push(format!("another slot than {slot}: {}", told(call)));
        }
    }

    /// After the end of a run comes no other one, unless it crashed before it marked the slot.
    fn check_repeats(&mut self, runs: &[Run<'_>]) {
        self.runs += runs.len();
        self.struck_runs += runs.iter().filter(|run| run.call.struck.is_some()).count();
        let failed = |run: &&Run<'_>| run.call.fails && !run.is_done && !run.call.is_broken();
        self.failed += runs.iter().filter(failed).count();
        self.done += usize::from(runs.iter().any(|run| run.is_done));
        let Some((last, before)) = runs.split_last() else { return };
        self.repeated += usize::from(before.iter().any(|run| run.is_done));
        for run in before.iter().filter(|run| run.is_done) {
            if !run.call.is_broken() || run.call.is_marked() {
                let (first, last) = (told(run.call), told(last.call));
                self.wrong.push(format!("the slot was run again: {first}, then {last}"));
            }
        }
    }

    /// A slot in which a host called has a run, unless an earlier run was in the way.
    fn check_missed(&mut self, done: &Done, slots: &BTreeMap<u64, Vec<Run<'_>>>) {
        let well = done.calls.iter().filter(|call| !call.is_broken() && !is_late(call));
        let called = well.filter_map(|call| call.reported_slot().map(seconds).or(within(call)));
        let all: BTreeSet<_> = called.chain(slots.keys().copied()).collect();
        self.slots = all.len();
        for slot in all {
            let runs = slots.get(&slot).map_or(&[][..], Vec::as_slice);
            if runs.iter().any(|run| run.is_done) {
                continue;
            }
            let crashed = done.calls.iter().any(|call| crashed_in(call, slot));
            let odd = runs.iter().find(|run| !run.call.is_broken() && !run.call.fails);
            if let Some(run) = odd {
                self.wrong.push(format!("a run without an end: {}", told(run.call)));
            } else if !runs.is_empty() || crashed {
                self.in_vain += 1;
                self.given_up += usize::from(!crashed);
            } else if done.calls.iter().any(|call| is_in_the_way(call, slot)) {
                self.kept += 1;
            } else if is_answered_late(&done.calls, slot) {
                self.away += 1;
            } else {
                self.missed += 1;
                let mut here = done.calls.iter().collect::<Vec<_>>();
                here.retain(|call| call.reported_slot().map(seconds) == Some(slot));
                let here: Vec<_> = here.into_iter().map(told).collect();
                self.wrong.push(format!("the slot {slot} was missed: {}", here.join("\n")));
            }
        }
    }
}

/// Whether this call began a run of this slot and crashed, perhaps before the first line of its job.
fn crashed_in(call: &Call, slot: u64) -> bool {
    let ran = call.skipped().is_none() && call.reported_slot().map(seconds) == Some(slot);
    ran && call.is_broken()
}

/// Whether this call, of an earlier slot, still had the lock in this slot or may have had it: it ran, or was killed or
/// frozen before it reported anything. One that was frozen with the lock before it ran may skip its slot afterwards.
fn is_in_the_way(call: &Call, slot: u64) -> bool {
    let begins = Duration::from_secs(slot);
    if let (Some(since), Some(_)) = (call.struck, call.skipped()) {
        return since < begins + Duration::from_secs(1) && since + call.ttl > begins;
    }
    let reported = call.reported_slot().map(seconds);
    let may_hold = match reported {
        Some(reported) => reported < slot && call.skipped().is_none(),
        None => call.is_broken(),
    };
    may_hold && call.started < begins + Duration::from_secs(1) && call.in_the_way_until() > begins
}

/// Whether the store answered no call of this slot before it was over.
#[allow(clippy::cast_precision_loss, reason = "it is of these years")]
fn is_answered_late(calls: &[Call], slot: u64) -> bool {
    let mut here = calls.iter().filter(|call| call.reported_slot().map(seconds) == Some(slot));
    here.all(|call| call.answered().is_none_or(|at| at >= (slot + 1) as f64))
}

/// Whether it came to the store in the second half of its slot, and waited until that ended: on a slow machine all calls
/// of a slot may be so late.
fn is_late(call: &Call) -> bool {
    let begins = Duration::from_secs(call.reported_slot().map_or(0, seconds));
    let waited = call.skipped().is_some_and(|(why, _)| why == "ended");
    waited && call.came().is_some_and(|came| came > begins.as_secs_f64() + 0.5)
}

/// The slot that the whole call was in for certain.
fn within(call: &Call) -> Option<u64> {
    let slot = call.started.as_secs();
    (call.ended + EARLY < Duration::from_secs(slot + 1)).then_some(slot)
}

/// When a slot begins, in seconds since 1970.
pub(crate) fn seconds(slot: &str) -> u64 {
    humantime::parse_rfc3339(slot).unwrap().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A call, to look into it.
fn told(call: &Call) -> String {
    let events: Vec<_> = call.events.iter().map(ToString::to_string).collect();
    format!("{call:?}\n  {}\n", events.join("\n  "))
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slots, calls, runs, struck, struck_runs, failed, lost, unanswered, .. } = self;
        let Self { done, repeated, in_vain, given_up, kept, away, missed, wrong, .. } = self;
        writeln!(f, "{slots} slots, {calls} calls, {runs} runs")?;
        writeln!(f, "  {struck} calls killed or frozen, {struck_runs} of them in a run")?;
        writeln!(
            f,
            "  {failed} runs failed, {lost} lost their lock, {unanswered} calls unanswered"
        )?;
        writeln!(f, "  {done} slots done, {repeated} of them again after a crash")?;
        writeln!(f, "  {in_vain} tried in vain, {given_up} of them without a crash")?;
        writeln!(f, "  {kept} kept by an earlier run, {away} over before the store answered")?;
        writeln!(f, "  {missed} missed")?;
        write!(f, "  {} things wrong", wrong.len())
    }
}

#[test]
fn a_call_that_was_frozen_with_the_lock_is_in_the_way_though_it_skips_its_slot() {
    let seconds = Duration::from_secs;
    let skipped = json!({ "event": "skipped", "slot": "1970-01-01T00:01:40Z", "reason": "finished", "message": "by token 7" });
    let call = Call {
        number: 0,
        slot: 100,
        ttl: seconds(2),
        started: seconds(100),
        ended: seconds(104),
        fails: false,
        struck: Some(seconds(100)),
        code: 122,
        events: vec![skipped],
        shift: 0,
    };
    let kept: Vec<_> = (95..106).filter(|slot| is_in_the_way(&call, *slot)).collect();
    assert_eq!(kept, [100, 101], "until its lease ended");
    let well = Call { struck: None, ..call };
    assert!(!(95..106).any(|slot| is_in_the_way(&well, slot)));
}

#[test]
fn a_slot_is_missed_if_the_store_answered_while_it_lasted() {
    let call = |answered: &str| {
        let at = |second: &str| format!("1970-01-01T00:01:{second}Z");
        let came = json!({ "event": "store", "time": at("40.1") });
        let skipped = json!({
            "event": "skipped", "slot": at("40"), "reason": "ended", "message": "", "time": at(answered),
        });
        Call {
            number: 0,
            slot: 100,
            ttl: Duration::from_secs(2),
            started: Duration::from_secs(100),
            ended: Duration::from_secs(102),
            fails: false,
            struck: None,
            code: 122,
            events: vec![came, skipped],
            shift: 0,
        }
    };
    assert!(is_answered_late(&[call("41.2"), call("41")], 100));
    assert!(!is_answered_late(&[call("41.2"), call("40.9")], 100));
}
