//! Beginning the work of a slot: which slot it is, whether its work is to be done, and the lock for it.

use std::time::Duration;

use tenure_proto::{
    Token,
    queue::Mode,
    rule::{Rule, kept},
    schedule::{Mark, Meant, Running, Skipped, Slot, SlotRecord, meant},
};

use super::{
    Begun, Once, Overlap, SkippedSlot, SlotRun,
    record::{Look, look, taken, write},
};
use crate::{
    AcquireError, Fault, FaultKind, Guard, InspectError, LockName, error::OnceError,
    options::Options, oversight,
};

impl Once {
    /// Begins the work of the current slot, or says why it is not to be done.
    ///
    /// If another process does the work of the same slot now, this waits for it, and then either skips or tries the work
    /// again. The wait ends with the slot, or with the [`wait`](Mutex::wait) of the lock.
    ///
    /// # Errors
    /// [`OnceError`]: the lock is busy, the store failed, or another schedule is in use for this name.
    ///
    /// # Cancel safety
    /// Cancel-safe: a lock that was acquired is released. A run that had just begun counts as a try.
    ///
    /// [`Mutex::wait`]: crate::Mutex::wait
    pub async fn begin(&self) -> Result<Begun, OnceError> {
        let name = &self.target.usable_name()?.clone();
        let capabilities = self.target.context().store.capabilities();
        if let Some(reason) = capabilities.missing_slot_records() {
            return Err(self.refused(name, reason.into()).into());
        }
        let (slot, seen) = self.wait_for_slot(name).await?;
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
        match record.check_schedule(self.schedule.text()) {
            Ok(()) => Ok(Some(record)),
            Err(_) if self.replaces_schedule => Ok(None),
            Err(other) => {
                let help = "use one schedule for each name, or replace the other one on purpose";
                let fault = Fault::new(FaultKind::Misconfigured, other.to_string(), help);
                Err(self.refused(name, fault).into())
            }
        }
    }

    /// Acquires the lock, or says why the slot is skipped while another one has it.
    async fn acquire(
        &self,
        name: &LockName,
        slot: &Slot,
        seen: &Look,
    ) -> Result<Result<Guard, Skipped>, OnceError> {
        let tried = self.target.clone().try_lock(Mode::Exclusive, self.options.clone()).await;
        match tried {
            Ok(Some(guard)) => return Ok(Ok(guard)),
            Ok(None) => {}
            // A wait is more patient than a try.
            Err(error) if error.is_transient() => {}
            Err(error) => return Err(error.into()),
        }
        let context = self.target.context();
        let seen = match self.find_overlap(name, slot).await? {
            Some(token) if self.overlap == Overlap::Skip => {
                return Ok(Err(Skipped::Overlaps { token }));
            }
            Some(token) if self.overlap == Overlap::Replace => {
                self.end_run(name, token).await?;
                look(context, name).await?
            }
            _ => seen.clone(),
        };
        let left = slot.left(seen.now).filter(|_| kept(Rule::SlotEnds));
        let wait = match (self.options.wait, left) {
            (Some(wait), Some(left)) => Some(wait.min(left)),
            (wait, left) => wait.or(left),
        };
        let is_slot = wait.is_some() && wait != self.options.wait;
        let options = Options { wait, ..self.options.clone() };
        match self.target.clone().lock(Mode::Exclusive, options).await {
            Ok(guard) => Ok(Ok(guard)),
            Err(AcquireError::TimedOut(_)) if is_slot => Ok(Err(Skipped::Ended)),
            Err(error) => Err(error.into()),
        }
    }

    /// The token of a run of an earlier slot that still has the lock.
    async fn find_overlap(&self, name: &LockName, slot: &Slot) -> Result<Option<Token>, OnceError> {
        let context = self.target.context();
        // First the holder: a run that began since is in the record then.
        let holders = oversight::inspect(context, name).await?.holders;
        let seen = look(context, name).await?;
        let Some(record) = self.record_of_schedule(name, &seen)? else { return Ok(None) };
        let present = holders.iter().filter(|holder| !holder.lingering);
        let tokens: Vec<_> = present.filter_map(|holder| holder.token).collect();
        match record.running(&slot.id, &tokens) {
            Running::AnEarlierSlot(token) => Ok(Some(token)),
            Running::ThisSlot => Ok(None),
        }
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
    ) -> Result<Result<SlotRun, Skipped>, OnceError> {
        let context = self.target.context();
        let seen = if kept(Rule::SlotReadUnderLock) { look(context, name).await? } else { before };
        if let Some(why) = self.skipped(name, slot, &seen)? {
            guard.cancel_hold_at_least();
            // If this fails, the lease ends by itself.
            drop(guard.release().await);
            return Ok(Err(why));
        }
        let known = self.record_of_schedule(name, &seen)?.cloned();
        let mut record = known.unwrap_or_else(|| SlotRecord::new(self.schedule.text()));
        record.start(slot, guard.token());
        if self.rules.mark == Mark::AtStart {
            record.finish(slot, guard.token());
        }
        // Another process may do the work of the slot by now, or have done it.
        if !write(&guard, slot, seen.text.clone(), &record, seen.now).await? {
            return Err(taken(&guard).into());
        }
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
