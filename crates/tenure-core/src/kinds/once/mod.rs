//! Once per slot: work that is done once in each slot of a schedule, by whichever process gets there first.

mod begin;
mod checks;
mod record;
mod run;
mod unstarted;

use std::{fmt, sync::Arc, time::Duration};

use tenure_proto::schedule::{Mark, Schedule, Skipped, Slot, SlotRules};

pub use self::run::SlotRun;
use super::target::LockTarget;
use crate::{
    Busy, Fault,
    options::{Options, setters},
};

/// The longest tolerance for callers that come early, unless one is set.
const LONGEST_EARLY: Duration = Duration::from_secs(30);

/// What a call does if the work of an earlier slot is still going on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// It skips its slot.
    #[default]
    Skip,
    /// It waits, until its own slot ends.
    Wait,
    /// It takes the lock from that work, and waits until its own slot ends. Slots that have names refuse this, as they
    /// have no order.
    Replace,
}

/// How a call ended that was to begin the work of a slot.
#[derive(Debug)]
#[must_use = "the work of the slot is to be done now"]
pub enum Begun {
    /// The work is to be done now, and the lock is held.
    Run(SlotRun),
    /// The work is not to be done.
    Skipped(SkippedSlot),
}

/// A slot whose work is not to be done, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedSlot {
    /// The slot.
    pub slot: Slot,
    /// The reason.
    pub why: Skipped,
}

/// What a caller that comes early tells, with the slot and how long it is until that begins.
type OnEarly = Arc<dyn Fn(&Slot, Duration) + Send + Sync>;

/// Work that is done once in each slot of a schedule, from [`Mutex::once`](crate::Mutex::once).
///
/// Several hosts start the same job, each a little earlier or later than the others. Each calls [`begin`](Self::begin).
/// One of them gets [`Begun::Run`], does the work and calls [`SlotRun::finish`]. The others wait for it, and then get
/// [`Begun::Skipped`]. If the work fails, or its process dies, the next one gets [`Begun::Run`] for the same slot.
///
/// Promise [S10](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s10-once-per-slot): at most one run of
/// a slot is recorded as finished, and at least one is tried while a caller lives and the store answers. The store's
/// clock decides which slot it is.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{sync::Arc, time::Duration};
/// use tenure_core::{Begun, MemoryStore, Tenure, schedule::Period};
///
/// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
/// let report = tenure.mutex("report").once(Period::new(Duration::from_secs(86_400))?);
/// if let Begun::Run(run) = report.begin().await? {
///     // … the work …
///     run.finish().await?;
/// }
/// assert!(matches!(report.begin().await?, Begun::Skipped(_)), "it is done for today");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "nothing begins before begin() is called"]
pub struct Once {
    target: LockTarget,
    options: Options,
    schedule: Arc<dyn Schedule>,
    early: Option<Duration>,
    rules: SlotRules,
    overlap: Overlap,
    replaces_schedule: bool,
    on_early: Option<OnEarly>,
}

impl Once {
    pub(super) fn new(target: LockTarget, options: Options, schedule: Arc<dyn Schedule>) -> Self {
        // The record is checked by the owner, which therefore no other task may have.
        let options = Options { apart: true, tells_slot: true, ..options };
        let (rules, overlap) = (SlotRules::default(), Overlap::default());
        Self {
            target,
            options,
            schedule,
            early: None,
            rules,
            overlap,
            replaces_schedule: false,
            on_early: None,
        }
    }

    setters!();

    /// Sets how early before a slot a caller may come that means this slot: it waits for the beginning. Default: a tenth
    /// of the slot, but at most 30 s.
    ///
    /// A host whose clock runs ahead starts before the boundary. It would find the slot before finished, skip, and miss
    /// its own.
    ///
    /// [`begin`](Self::begin) refuses more than half of the [longest](Schedule::longest) slot, if that is known. In a
    /// slot of which it is more than half, it counts as half.
    pub fn early(mut self, early: Duration) -> Self {
        self.early = Some(early);
        self
    }

    /// Sets how many runs of a slot may begin, at least one. Default: any number, until one finishes or the slot ends.
    pub fn tries(mut self, tries: u32) -> Self {
        self.rules.tries = Some(tries);
        self
    }

    /// Sets how long after its beginning a slot may still begin to run, 1 ms to 366 days. Default: until it ends. More
    /// than the length of the slot is as if it were not set: no run begins after the end.
    pub fn retry_within(mut self, within: Duration) -> Self {
        self.rules.retry_within = Some(within);
        self
    }

    /// Sets what happens if the work of an earlier slot is still going on. Default: [`Overlap::Skip`].
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.overlap = overlap;
        self
    }

    /// Sets when a slot is marked as finished. Default: [`Mark::AtEnd`], with which work may repeat if its process dies.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.rules.mark = mark;
        self
    }

    /// Replaces another schedule that is in use for this name, instead of refusing this one, and also a record of a clock
    /// that was ahead. What was finished is forgotten.
    pub fn replace_schedule(mut self) -> Self {
        self.replaces_schedule = true;
        self
    }

    /// Calls `tell` each time the store says that another holder has the lock, while [`begin`](Self::begin) waits for it.
    /// It must not block.
    pub fn on_busy(mut self, tell: impl Fn(&Busy) + Send + Sync + 'static) -> Self {
        self.options.on_busy = Some(Arc::new(tell));
        self
    }

    /// Calls `tell` each time the store did not answer while [`begin`](Self::begin) waits for the lock. It must not block.
    pub fn on_unreachable(mut self, tell: impl Fn(&Fault) + Send + Sync + 'static) -> Self {
        self.options.on_unreachable = Some(Arc::new(tell));
        self
    }

    /// Calls `tell` with the slot, and with how long it is until that begins, if [`begin`](Self::begin) comes early and
    /// waits for it. It must not block.
    pub fn on_early(mut self, tell: impl Fn(&Slot, Duration) + Send + Sync + 'static) -> Self {
        self.on_early = Some(Arc::new(tell));
        self
    }

    /// How early a caller of this slot may come.
    fn tolerance(&self, slot: &Slot) -> Duration {
        let length = slot.length().unwrap_or_default();
        self.early.map_or_else(|| (length / 10).min(LONGEST_EARLY), |early| early.min(length / 2))
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, schedule, .. } = self;
        f.debug_struct("Once")
            .field("of", target)
            .field("schedule", schedule)
            .finish_non_exhaustive()
    }
}
