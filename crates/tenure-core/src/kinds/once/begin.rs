//! Beginning the work of a slot: which slot it is, whether its work is to be done, and the lock for it.

use std::time::Duration;

use tenure_proto::{
    Timestamp, Token, Ttl,
    queue::Mode,
    rule::{Rule, kept},
    schedule::{Mark, Meant, Running, Skipped, Slot, SlotRecord, meant},
};

use super::{
    Begun, Once, Overlap, SkippedSlot, SlotRun,
    record::{Look, look, note_start},
    unstarted::UnstartedRun,
};
use crate::{
    AcquireError, Fault, FaultKind, Guard, InspectError, LockName, error::OnceError,
    options::Options, oversight,
};

/// How much later than its lease the lock of a dead run is given to the next.
const MARGIN: Duration = Duration::from_millis(500);

/// A slot that is to be run, unless something is found that says no.
type Open<T> = Result<T, Skipped>;

/// The run of an earlier slot that still goes on, and what is left of its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EarlierRun {
    token: Token,
    left: Duration,
}

impl Once {
    /// Begins the work of the current slot, or says why it is not to be done.
    ///
    /// If another process does the work of the same slot now, this waits for it, and then either skips or tries the work
    /// again. The wait ends with the slot, or with the [`wait`](Self::wait) of the lock. A caller that is early waits for
    /// its slot, whatever that wait is.
    ///
    /// # Errors
    /// [`OnceError`]: the lock is busy, the store failed, another schedule is in use for this name, or its record is of a
    /// clock that was ahead.
    ///
    /// # Cancel safety
    /// Cancel-safe: a lock that was acquired is released. A run whose start was noted counts as a try.
    pub async fn begin(&self) -> Result<Begun, OnceError> {
        let name = &self.target.usable_name()?.clone();
        let capabilities = self.target.context().store.capabilities();
        if let Some(reason) = capabilities.missing_slot_records() {
            return Err(self.refused(name, reason.into()).into());
        }
        let (slot, seen) = self.wait_for_slot(name).await?;
        if self.overlap == Overlap::Replace && slot.starts().is_none() {
            let what =
                "slots that have names have no order, so no run of one replaces that of another";
            let help = "leave out the replacement, or use slots that begin at a time";
            let fault = Fault::new(FaultKind::Misconfigured, what, help);
            return Err(self.refused(name, fault).into());
        }
        let skipped = |why| Begun::Skipped(SkippedSlot { slot: slot.clone(), why });
        if let Some(why) = self.skipped(name, &slot, &seen)? {
            return Ok(skipped(why));
        }
        let guard = match self.acquire(name, &slot, &seen).await? {
            Ok(guard) => guard,
            Err(why) => return Ok(skipped(why)),
        };
        match self.start(guard, name, &slot, seen).await? {
            Ok(run) => Ok(Begun::Run(run)),
            Err(why) => Ok(skipped(why)),
        }
    }

    /// Waits for the slot that the caller means, by the store's clock.
    async fn wait_for_slot(&self, name: &LockName) -> Result<(Slot, Look), OnceError> {
        let context = self.target.context();
        let mut seen = look(context, name).await?;
        let current = self.schedule.slot_at(seen.now).ok_or_else(|| self.no_slot(name))?;
        let tolerance = self.tolerance(&current);
        let Meant { slot, begins_in, .. } =
            meant(&*self.schedule, seen.now, tolerance).ok_or_else(|| self.no_slot(name))?;
        let mut left = begins_in;
        while !left.is_zero() {
            context.clock.sleep_until(context.now().saturating_add(left)).await;
            seen = look(context, name).await?;
            let begins = slot.starts().unwrap_or_default();
            left = Duration::from_micros(begins.saturating_sub(seen.now));
        }
        Ok((slot, seen))
    }

    /// Why the work of the slot is not to be done, by this record.
    fn skipped(
        &self,
        name: &LockName,
        slot: &Slot,
        seen: &Look,
    ) -> Result<Option<Skipped>, OnceError> {
        let known = self.record_of_schedule(name, seen)?.cloned();
        // A slot can be over of which nothing is known.
        let record = known.unwrap_or_else(|| SlotRecord::new(self.schedule.text()));
        Ok(record.skipped(slot, seen.now, &self.rules))
    }

    fn record_of_schedule<'a>(
        &self,
        name: &LockName,
        seen: &'a Look,
    ) -> Result<Option<&'a SlotRecord>, OnceError> {
        let Some(record) = &seen.record else { return Ok(None) };
        let (what, help) = match record.check_schedule(self.schedule.text()) {
            Err(other) => {
                let help = "use one schedule for each name, or replace the other one on purpose";
                (other.to_string(), help)
            }
            Ok(()) if record.finished_ahead(seen.now).is_some() => {
                let what = "the last slot that was finished begins in the future: the clock of the \
                            store was ahead, or was set back";
                let help = "set the clock right; or replace the schedule, which forgets that slot";
                (what.to_owned(), help)
            }
            Ok(()) => return Ok(Some(record)),
        };
        if self.replaces_schedule {
            return Ok(None);
        }
        Err(self.refused(name, Fault::new(FaultKind::Misconfigured, what, help)).into())
    }

    /// Acquires the lock, or says why the slot is skipped while another one has it.
    async fn acquire(
        &self,
        name: &LockName,
        slot: &Slot,
        seen: &Look,
    ) -> Result<Open<Guard>, OnceError> {
        let tried = self.target.clone().try_lock(Mode::Exclusive, self.options.clone()).await;
        match tried {
            Ok(Some(guard)) => return Ok(Ok(guard)),
            Ok(None) => {}
            // A wait is more patient than a try.
            Err(error) if error.is_transient() => {}
            Err(error) => return Err(error.into()),
        }
        let context = self.target.context();
        let mut seen = seen.clone();
        let mut earlier = self.find_earlier_run(name, slot).await?;
        if let Some(EarlierRun { token, .. }) = earlier
            && self.overlap == Overlap::Replace
        {
            seen = look(context, name).await?;
            if let Some(why) = self.skipped(name, slot, &seen)? {
                return Ok(Err(why));
            }
            self.end_run(name, token).await?;
            earlier = None;
        }
        let most = self.options.wait.or_else(|| context.defaults_of(name).wait);
        let until = most.map_or(Timestamp::NEVER, |wait| context.now().saturating_add(wait));
        loop {
            let left = slot.left(seen.now).filter(|_| kept(Rule::SlotEnds));
            // Whoever is to skip waits for the end of the earlier run's lease: that run may be dead.
            let skips = earlier.filter(|_| self.overlap == Overlap::Skip);
            let lease = skips.map(|run| run.left.saturating_add(MARGIN));
            let patience = most.map(|_| until.since(context.now()));
            let wait = [left, patience, lease].into_iter().flatten().min();
            let options = Options { wait, ..self.options.clone() };
            let timed_out = match self.target.clone().lock(Mode::Exclusive, options).await {
                Ok(guard) => return Ok(Ok(guard)),
                Err(error @ AcquireError::TimedOut(_)) => error,
                Err(error) => return Err(error.into()),
            };
            seen = look(context, name).await?;
            if let Some(why) = self.skipped(name, slot, &seen)? {
                return Ok(Err(why));
            }
            earlier = self.find_earlier_run(name, slot).await?;
            let alive = skips.filter(|run| earlier.is_some_and(|now| now.token == run.token));
            match alive {
                // It was renewed, or there is no time to see that.
                Some(EarlierRun { token, .. }) => return Ok(Err(Skipped::Overlaps { token })),
                None if context.now() >= until => return Err(timed_out.into()),
                None => {}
            }
        }
    }

    /// The run of an earlier slot that still has the lock.
    async fn find_earlier_run(
        &self,
        name: &LockName,
        slot: &Slot,
    ) -> Result<Option<EarlierRun>, OnceError> {
        let context = self.target.context();
        // First the holder: a run that began since is in the record then.
        let mut holders = oversight::inspect(context, name).await?.holders;
        holders.retain(|holder| !holder.lingering);
        let seen = look(context, name).await?;
        let Some(record) = self.record_of_schedule(name, &seen)? else { return Ok(None) };
        let tokens: Vec<_> = holders.iter().filter_map(|holder| holder.token).collect();
        let Running::AnEarlierSlot(token) = record.running(&slot.id, &tokens, &self.rules) else {
            return Ok(None);
        };
        let left = holders.iter().find(|holder| holder.token == Some(token));
        let left = left.and_then(|holder| holder.left).unwrap_or(Ttl::DEFAULT.get());
        Ok(Some(EarlierRun { token, left }))
    }

    /// Takes the lock from the run with this token.
    async fn end_run(&self, name: &LockName, token: Token) -> Result<(), OnceError> {
        let context = self.target.context();
        let mut seen = oversight::inspect(context, name).await?;
        seen.holders.retain(|holder| holder.token == Some(token));
        oversight::evict_seen(context, name, &seen).await?;
        Ok(())
    }

    /// Notes the start of a run, unless the record says by now that there is nothing to do.
    async fn start(
        &self,
        guard: Guard,
        name: &LockName,
        slot: &Slot,
        before: Look,
    ) -> Result<Open<SlotRun>, OnceError> {
        let context = self.target.context();
        // Also if this is dropped or fails at any point.
        let unstarted = UnstartedRun::new(&guard);
        let seen = if kept(Rule::SlotReadUnderLock) { look(context, name).await? } else { before };
        if let Some(why) = self.skipped(name, slot, &seen)? {
            drop(unstarted);
            // If this fails, the lease ends by itself.
            drop(guard.release().await);
            return Ok(Err(why));
        }
        let known = self.record_of_schedule(name, &seen)?.cloned();
        let mut record = known.unwrap_or_else(|| SlotRecord::new(self.schedule.text()));
        let token = unstarted.token();
        record.start(slot, token);
        if self.rules.mark == Mark::AtStart {
            record.finish(slot, token);
        }
        note_start(&unstarted, slot, seen.text.clone(), &record, seen.now).await?;
        unstarted.started();
        Ok(Ok(SlotRun::new(guard, slot.clone(), record, seen.now)))
    }

    fn no_slot(&self, name: &LockName) -> OnceError {
        let what = format!("the schedule {:?} has no slot now", self.schedule.text());
        let help = "choose a schedule that begins in the past, and goes on";
        self.refused(name, Fault::new(FaultKind::Misconfigured, what, help)).into()
    }

    fn refused(&self, name: &LockName, fault: Fault) -> InspectError {
        InspectError::store(self.target.context().address(name), fault)
    }
}
