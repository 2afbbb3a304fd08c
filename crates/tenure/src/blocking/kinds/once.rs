//! Once per slot: work that is done once in each slot of a schedule.

use std::time::Duration;

use tenure_core::{AcquireError, Begun, OnceError, Overlap, SkippedSlot};

use crate::{
    blocking::{
        context::BlockingContext,
        thread::BlockingThread,
        watch::{GuardCallbacks, answers, of_parent},
    },
    once::{Mark, Slot},
};

/// Work that is done once in each slot of a schedule: [`crate::once::Once`] for blocking callers.
///
/// ```
/// use std::time::Duration;
/// use tenure::{blocking::Tenure, once::Period};
///
/// let tenure = Tenure::open("memory:")?;
/// let report = tenure.mutex("report").once(Period::new(Duration::from_secs(86_400))?);
/// if let Ok(run) = report.begin()? {
///     // … the work …
///     run.finish()?;
/// }
/// assert!(report.begin()?.is_err(), "it is done for today");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "nothing begins before begin() is called"]
pub struct Once {
    context: BlockingContext,
    pub(in crate::blocking) handle: crate::once::Once,
}

impl Once {
    pub(super) fn new(context: BlockingContext, handle: crate::once::Once) -> Self {
        Self { context, handle }
    }

    /// Sets how early before a slot a caller may come that means this slot: it waits for the beginning. At most half of
    /// the slot; default: a tenth of it, but at most 30 s.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// # use std::time::Duration;
    /// # let hours = tenure::once::Period::new(Duration::from_secs(3_600))?;
    /// let report = tenure.mutex("report").once(hours).early(Duration::ZERO);
    /// # drop(report.begin()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn early(mut self, early: Duration) -> Self {
        self.handle = self.handle.early(early);
        self
    }

    /// Sets how many runs of a slot may begin, at least one. Default: any number, until one finishes or the slot ends.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// # let day = tenure::once::NamedSlot::new("2026-11-28")?;
    /// let report = tenure.mutex("report").once(day).tries(1);
    /// drop(report.begin()?);
    /// assert!(report.begin()?.is_err(), "it was tried");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tries(mut self, tries: u32) -> Self {
        self.handle = self.handle.tries(tries);
        self
    }

    /// Sets how long after its beginning a slot may still begin to run, 1 ms to 366 days. Default: until it ends.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// # use std::time::Duration;
    /// # let hours = tenure::once::Period::new(Duration::from_secs(3_600))?;
    /// let report = tenure.mutex("report").once(hours).retry_within(Duration::from_secs(3_600));
    /// # drop(report.begin()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retry_within(mut self, within: Duration) -> Self {
        self.handle = self.handle.retry_within(within);
        self
    }

    /// Sets what happens if the work of an earlier slot is still going on. Default: [`Overlap::Skip`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// # let day = tenure::once::NamedSlot::new("2026-11-28")?;
    /// use tenure::once::Overlap;
    ///
    /// let report = tenure.mutex("report").once(day).overlap(Overlap::Wait);
    /// # drop(report.begin()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.handle = self.handle.overlap(overlap);
        self
    }

    /// Sets when a slot is marked as finished. Default: [`Mark::AtEnd`], with which work may repeat if its process dies.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// # let day = tenure::once::NamedSlot::new("2026-11-28")?;
    /// use tenure::once::Mark;
    ///
    /// let report = tenure.mutex("report").once(day).mark(Mark::AtStart);
    /// drop(report.begin()?);
    /// assert!(report.begin()?.is_err(), "it is never repeated");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark(mut self, mark: Mark) -> Self {
        self.handle = self.handle.mark(mark);
        self
    }

    /// Replaces another schedule that is in use for this name, instead of refusing this one. What that one finished is
    /// forgotten.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// # use tenure::once::NamedSlot;
    /// # use std::time::Duration;
    /// tenure.mutex("report").once(NamedSlot::new("2026-11-28")?).begin()?.unwrap().finish()?;
    /// let hours = tenure::once::Period::new(Duration::from_secs(3_600))?;
    /// let report = tenure.mutex("report").once(hours);
    /// assert!(report.begin().is_err(), "another schedule is in use");
    /// report.replace_schedule().begin()?.unwrap().finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace_schedule(mut self) -> Self {
        self.handle = self.handle.replace_schedule();
        self
    }

    /// Begins the work of the current slot, or returns in the inner `Err` why it is not to be done.
    ///
    /// If another process does the work of the same slot now, this waits for it, and then either skips or tries the work
    /// again. The wait ends with the slot, or with the wait of the lock.
    ///
    /// # Errors
    /// [`OnceError`]: the lock is busy, the store failed, or another schedule is in use for this name.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// # let day = tenure::once::NamedSlot::new("2026-11-28")?;
    /// let report = tenure.mutex("report").once(day);
    /// if let Ok(run) = report.begin()? {
    ///     run.finish()?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin(&self) -> Result<Result<SlotRun, SkippedSlot>, OnceError> {
        match self.context.begin(self.handle.clone())? {
            Begun::Run(run) => Ok(Ok(SlotRun::new(run, self.context.thread))),
            Begun::Skipped(skipped) => Ok(Err(skipped)),
        }
    }
}

/// A run of a slot: its lock is held, and its work is to be done. It has everything of a
/// [`Guard`](crate::blocking::Guard).
///
/// Call [`finish`](Self::finish) when the work is done. If this is dropped instead, the lock is released and the slot
/// stays open.
#[must_use = "the lock is released, and the slot stays open, as soon as this is dropped"]
pub struct SlotRun {
    pub(in crate::blocking) guard: crate::once::SlotRun,
    watch: GuardCallbacks,
}

impl SlotRun {
    fn new(guard: crate::once::SlotRun, thread: &'static BlockingThread) -> Self {
        Self { guard, watch: GuardCallbacks::new(thread) }
    }

    answers!();

    /// Returns the slot.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// # let day = tenure::once::NamedSlot::new("2026-11-28")?;
    /// let run = tenure.mutex("report").once(day).begin()?.unwrap();
    /// assert_eq!(run.slot().id.to_string(), "2026-11-28");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn slot(&self) -> &Slot {
        self.guard.slot()
    }

    /// Returns how many runs of this slot have begun, this one included.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// # let day = tenure::once::NamedSlot::new("2026-11-28")?;
    /// assert_eq!(tenure.mutex("report").once(day).begin()?.unwrap().tries(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tries(&self) -> u32 {
        self.guard.tries()
    }

    /// Marks the slot as finished, and releases the lock. When this returns `Ok`, the store has recorded the slot.
    ///
    /// # Errors
    /// [`OnceError::Lost`] if the lock was lost before: the slot is not marked, and another run of it may have begun.
    /// [`OnceError::InDoubt`] if the store did not answer until the hold ended: the slot may be marked or not.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// # let day = tenure::once::NamedSlot::new("2026-11-28")?;
    /// tenure.mutex("report").once(day).begin()?.unwrap().finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(self) -> Result<(), OnceError> {
        let Self { guard, watch } = self;
        let thread = watch.end();
        let (name, token) = (guard.name().clone(), guard.token());
        thread.wait_for(guard.finish()).unwrap_or_else(|| Err(of_parent(name, token).into()))
    }
}

impl BlockingContext {
    fn begin(&self, once: crate::once::Once) -> Result<Begun, OnceError> {
        let telling = |post: crate::blocking::news::NotificationSender| {
            let away = post.clone();
            let once = once
                .on_busy(move |busy| post.send_busy(busy))
                .on_unreachable(move |fault| away.send_unreachable(fault));
            async move { once.begin().await }
        };
        let begun = self.thread.wait_telling(&self.listener, telling);
        begun.unwrap_or_else(|| {
            Err(match self.address() {
                Ok(lock) => AcquireError::ShutDown { lock }.into(),
                Err(error) => error.into(),
            })
        })
    }
}
