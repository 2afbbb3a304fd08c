//! Running once per slot: what was asked for, and what is said of a slot.

use std::time::Duration;

use tenure::{
    LockName, Tenure,
    once::{
        Cron, Mark, NamedSlot, Once, Overlap, Period, Schedule, ScheduleState, Skipped,
        SkippedSlot, SlotId,
    },
};

use crate::{
    args::{self, SlotArgs},
    exit::Failure,
    explanation::Explanation,
    output::human,
};

/// What `--once-per`, `--slot` or `--slot-id` ask for.
#[derive(Clone, Debug)]
pub(crate) struct SlotSettings {
    divides: Divides,
    early: Option<Duration>,
    tries: Option<u32>,
    retry_within: Option<Duration>,
    overlap: Overlap,
    mark: Mark,
    replaces_schedule: bool,
}

#[derive(Clone, Debug)]
enum Divides {
    Period(Period),
    Cron(Box<Cron>),
    Named(NamedSlot),
}

impl SlotSettings {
    /// What was asked for; `None` if nothing of slots was.
    pub(crate) fn new(args: &SlotArgs) -> Result<Option<Self>, Failure> {
        let refused = |error: &dyn std::fmt::Display| {
            Failure::Usage(Explanation::of_line(&error.to_string()))
        };
        let divides = match (args.once_per, &args.slot, &args.slot_id) {
            (Some(length), ..) => {
                let period = Period::new(length).map_err(|error| refused(&error))?;
                Divides::Period(period)
            }
            (_, Some(pattern), _) => {
                let cron = Cron::new(pattern, args.tz.as_deref().unwrap_or("UTC"));
                Divides::Cron(Box::new(cron.map_err(|error| refused(&error))?))
            }
            (.., Some(name)) => {
                Divides::Named(NamedSlot::new(name).map_err(|error| refused(&error))?)
            }
            _ => return Ok(None),
        };
        let overlap = match args.overlap {
            None | Some(args::Overlap::Skip) => Overlap::Skip,
            Some(args::Overlap::Wait) => Overlap::Wait,
            Some(args::Overlap::Replace) => Overlap::Replace,
        };
        if overlap == Overlap::Replace && matches!(divides, Divides::Named(_)) {
            let what =
                "slots that have names have no order, so no run of one replaces that of another";
            let help = "leave out --overlap replace, or use --slot or --once-per";
            return Err(Failure::Usage((what, help).into()));
        }
        let mark = match args.mark {
            None | Some(args::Mark::AtEnd) => Mark::AtEnd,
            Some(args::Mark::AtStart) => Mark::AtStart,
        };
        Ok(Some(Self {
            divides,
            early: args.early,
            tries: args.tries,
            retry_within: args.retry_within,
            overlap,
            mark,
            replaces_schedule: args.replace_schedule,
        }))
    }

    /// What runs once per slot under the lock of this name, before the settings of the lock.
    pub(crate) fn on(&self, tenure: &Tenure, name: &LockName) -> Once {
        let mutex = tenure.mutex(name.as_str());
        let mut once = match &self.divides {
            Divides::Period(period) => mutex.once(period.clone()),
            Divides::Cron(cron) => mutex.once((**cron).clone()),
            Divides::Named(named) => mutex.once(named.clone()),
        };
        if let Some(early) = self.early {
            once = once.early(early);
        }
        if let Some(tries) = self.tries {
            once = once.tries(tries);
        }
        if let Some(within) = self.retry_within {
            once = once.retry_within(within);
        }
        if self.replaces_schedule {
            once = once.replace_schedule();
        }
        once.overlap(self.overlap).mark(self.mark)
    }

    /// The schedule, for people.
    pub(crate) fn schedule(&self) -> String {
        match &self.divides {
            Divides::Period(period) => format!("every {}", human::length(period.length())),
            Divides::Cron(cron) => format!("{cron} (time zones {})", Cron::time_zone_data()),
            Divides::Named(named) => named.text().to_owned(),
        }
    }
}

/// Whether the slot may be left without a run, unless another run of it is under way.
pub(crate) const fn may_be_missed(why: Skipped) -> bool {
    matches!(why, Skipped::Ended | Skipped::TriesSpent { .. } | Skipped::TooLate)
}

/// Whether another run of the slot is under way, or has finished it.
pub(crate) fn is_cared_for(state: &ScheduleState, slot: &SlotId) -> bool {
    let covers = |finished: &SlotId| match (finished, slot) {
        (SlotId::At(finished), SlotId::At(slot)) => finished >= slot,
        (finished, slot) => finished == slot,
    };
    state.running.as_ref().is_some_and(|run| run.slot == *slot)
        || state.finished.as_ref().is_some_and(|finished| covers(&finished.slot))
}

/// Why a slot is skipped. If it `is_missed`, no host runs it.
pub(crate) fn skipped(
    name: &LockName,
    store: &str,
    skipped: &SkippedSlot,
    is_missed: bool,
) -> Failure {
    let slot = skipped.slot.id.in_utc();
    let why = match skipped.why {
        Skipped::Finished { token } => format!("was finished by the run with token {token}"),
        Skipped::Ended => "ended before this host had the lock".to_owned(),
        Skipped::TriesSpent { tries: 1 } => "was tried once, which is all".to_owned(),
        Skipped::TriesSpent { tries } => format!("was tried {tries} times, which are all"),
        Skipped::TooLate => "began too long ago".to_owned(),
        Skipped::Overlaps { token } => {
            format!("overlaps the run of an earlier slot, which still has token {token}")
        }
        _ => "has nothing to do".to_owned(),
    };
    let what = if is_missed {
        format!("{name} is not run, and no run has finished it: the slot {slot} {why}")
    } else {
        format!("nothing to do for {name}: the slot {slot} {why}")
    };
    Failure::Skipped {
        why: Explanation::new(what).held_by(name.as_str(), store.to_owned(), None).kind(None),
        skipped: Box::new(skipped.clone()),
        is_missed,
    }
}
