//! Beginning the work of a slot: which slot it is, whether its work is to be done, and the lock for it.

use std::time::Duration;

use tenure_proto::{
    Timestamp, Token, Ttl,
    history::SlotTry,
    queue::{Mode, Snapshot},
    rule::{Rule, kept},
    schedule::{Mark, Meant, Running, Skipped, Slot, SlotRecord, meant},
};

use super::{
    Begun, Once, Overlap, SkippedSlot, SlotRun, record::note_start, unstarted::UnstartedRun,
};
use crate::{
    AcquireError, Fault, FaultKind, Guard, InspectError, LockName,
    context::StoreContext,
    driver::timeout_at,
    error::OnceError,
    kinds::note::BreakNotice,
    options::Options,
    oversight::{self, SlotLook, look_at_slots},
    retry_until::{PATIENCE, retry_until},
};

/// How much later than its lease the lock of a dead run is given to the next.
const MARGIN: Duration = Duration::from_millis(500);
/// How soon it is seen again who has the lock, if that is not known.
const AGAIN: Duration = Duration::from_secs(5);
/// How long a run that is to be replaced is told why, at most.
const NOTICE: Duration = Duration::from_secs(5);
/// Between two asks for a place in a full queue.
const FULL: Duration = Duration::from_secs(1);
/// How often a run begins anew whose lock was lost before anything ran.
const ATTEMPTS: u32 = 3;

/// A slot that is to be run, unless something is found that says no.
type Open<T> = Result<T, Skipped>;

/// Who has the lock that a slot needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// A run of this slot, or of a later one.
    ThisSlot,
    /// The run of an earlier slot with this token, and what is left of its lease.
    Earlier { token: Token, left: Duration },
    /// A run that has not noted its start yet, or something else.
    Unknown,
}

impl Holder {
    fn is_earlier(&self, run: Token) -> bool {
        matches!(self, Self::Earlier { token, .. } if *token == run)
    }
}

async fn inspect(
    context: &StoreContext,
    name: &LockName,
    until: Timestamp,
) -> Result<Snapshot, InspectError> {
    let until = until.min(context.now().saturating_add(PATIENCE));
    retry_until(context, name, until, None, || context.store.inspect(name)).await
}

impl Once {
    /// Begins the work of the current slot, or says why it is not to be done.
    ///
    /// If another process does the work of the same slot now, this waits for it, and then either skips or tries the work
    /// again. The wait ends with the slot, or with the [`wait`](Self::wait) of the lock. A caller that is early waits for
    /// its slot, whatever that wait is.
    ///
    /// # Errors
    /// [`OnceError`]: the lock is busy, the store failed, another schedule is in use for this name, its record is of a
    /// clock that was ahead, or a setting is out of range.
    ///
    /// # Cancel safety
    /// Cancel-safe: a lock that was acquired is released. A run whose start was noted counts as a try.
    pub async fn begin(&self) -> Result<Begun, OnceError> {
        let name = &self.target.usable_name()?.clone();
        self.check(name)?;
        let context = self.target.context();
        let most = self.options.wait.or_else(|| context.defaults_of(name).wait);
        let patience = || most.map_or(Timestamp::NEVER, |wait| context.now().saturating_add(wait));
        let slot = self.wait_for_slot(name, patience()).await?;
        self.check_slot(name, &slot)?;
        let until = patience();
        let mut attempts = ATTEMPTS;
        loop {
            let begun = self.begin_in(name, &slot, until).await;
            attempts = attempts.saturating_sub(1);
            match begun {
                // It was lost before anything ran, so the slot is to be run still.
                Err(OnceError::Lost(_)) if attempts > 0 => {}
                begun => return begun,
            }
        }
    }

    /// Begins the work of this slot, if the lock is granted until then.
    async fn begin_in(
        &self,
        name: &LockName,
        slot: &Slot,
        until: Timestamp,
    ) -> Result<Begun, OnceError> {
        let skipped = |why| Begun::Skipped(SkippedSlot { slot: slot.clone(), why });
        let seen = look_at_slots(self.target.context(), name, until).await?;
        if let Some(why) = self.skipped(name, slot, &seen)? {
            return Ok(skipped(why));
        }
        let guard = match self.acquire(name, slot, &seen, until).await? {
            Ok(guard) => guard,
            Err(why) => return Ok(skipped(why)),
        };
        match self.start(guard, name, slot).await? {
            Ok(run) => Ok(Begun::Run(run)),
            Err(why) => Ok(skipped(why)),
        }
    }

    /// Waits for the slot that the caller means, by the store's clock.
    async fn wait_for_slot(&self, name: &LockName, until: Timestamp) -> Result<Slot, OnceError> {
        let context = self.target.context();
        let seen = look_at_slots(context, name, until).await?;
        let current = self.schedule.slot_at(seen.now).ok_or_else(|| self.no_slot(name))?;
        let tolerance = self.tolerance(&current);
        let Meant { slot, begins_in, .. } =
            meant(&*self.schedule, seen.now, tolerance).ok_or_else(|| self.no_slot(name))?;
        let mut left = begins_in;
        if let Some(tell) = self.on_early.as_ref().filter(|_| !left.is_zero()) {
            tell(&slot, left);
        }
        while !left.is_zero() {
            context.clock.sleep_until(context.now().saturating_add(left)).await;
            let seen = look_at_slots(context, name, Timestamp::NEVER).await?;
            let begins = slot.starts().unwrap_or_default();
            left = Duration::from_micros(begins.saturating_sub(seen.now));
        }
        Ok(slot)
    }

    /// Why the work of the slot is not to be done, by this record.
    fn skipped(
        &self,
        name: &LockName,
        slot: &Slot,
        seen: &SlotLook,
    ) -> Result<Option<Skipped>, OnceError> {
        let known = self.record_of_schedule(name, seen)?.cloned();
        // A slot can be over of which nothing is known.
        let record = known.unwrap_or_else(|| SlotRecord::new(self.schedule.text()));
        Ok(record.skipped(slot, seen.now, &self.rules))
    }

    fn record_of_schedule<'a>(
        &self,
        name: &LockName,
        seen: &'a SlotLook,
    ) -> Result<Option<&'a SlotRecord>, OnceError> {
        let Some(record) = &seen.record else { return Ok(None) };
        let (what, help) = match record.check_schedule(self.schedule.text()) {
            Err(other) => {
                let help = "use one schedule for each name; to change it, replace the other one once \
                            (--replace-schedule)";
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
    ///
    /// It waits in slices: until the slot ends, until the caller's patience ends, and until it is time to see again who
    /// has the lock.
    async fn acquire(
        &self,
        name: &LockName,
        slot: &Slot,
        seen: &SlotLook,
        until: Timestamp,
    ) -> Result<Open<Guard>, OnceError> {
        let tried = self.target.clone().try_lock(Mode::Exclusive, self.options.clone()).await;
        match tried {
            Ok(Some(guard)) => return Ok(Ok(guard)),
            Ok(None) => {}
            // A wait is more patient than a try.
            Err(error) if error.is_transient() => {}
            Err(error) => return Err(error.into()),
        }
        let (context, mut now) = (self.target.context(), seen.now);
        loop {
            let holder = self.find_holder(name, slot, until).await?;
            if let (Holder::Earlier { token, .. }, Overlap::Replace) = (&holder, self.overlap) {
                let seen = look_at_slots(context, name, until).await?;
                if let Some(why) = self.skipped(name, slot, &seen)? {
                    return Ok(Err(why));
                }
                self.end_run(name, slot, seen.now, *token, until).await?;
                // That took its time, too.
                let seen = look_at_slots(context, name, until).await?;
                now = seen.now;
                if let Some(why) = self.skipped(name, slot, &seen)? {
                    return Ok(Err(why));
                }
            }
            let left = slot.left(now).filter(|_| kept(Rule::SlotEnds));
            let patience = (until < Timestamp::NEVER).then(|| until.since(context.now()));
            let slice = self.slice(&holder);
            let wait = [left, patience, slice].into_iter().flatten().min();
            let options = Options { wait, ..self.options.clone() };
            let error = match self.target.clone().lock(Mode::Exclusive, options).await {
                Ok(guard) => return Ok(Ok(guard)),
                Err(error) => error,
            };
            let is_over = context.now() >= until;
            match &error {
                AcquireError::TimedOut(_) => {}
                // There is room again in a while.
                AcquireError::Full(_) if !is_over => {
                    let soon = context.now().saturating_add(FULL);
                    context.clock.sleep_until(soon.min(until)).await;
                }
                // The end of a slice cuts an answer short, and the look below waits for the store.
                AcquireError::InDoubt(_) | AcquireError::Unreachable(_) if !is_over => {}
                _ => return Err(error.into()),
            }
            let seen = look_at_slots(context, name, until).await?;
            now = seen.now;
            if let Some(why) = self.skipped(name, slot, &seen)? {
                return Ok(Err(why));
            }
            if let Holder::Earlier { token, .. } = holder
                && self.overlap == Overlap::Skip
                && wait == slice
                && self.find_holder(name, slot, until).await?.is_earlier(token)
            {
                // The lease that was seen is over, so it was renewed: that run is alive.
                return Ok(Err(Skipped::Overlaps { token }));
            }
            if is_over {
                return Err(error.into());
            }
        }
    }

    /// How long to wait before it is seen again who has the lock.
    fn slice(&self, holder: &Holder) -> Option<Duration> {
        match (holder, self.overlap) {
            (_, Overlap::Wait) | (Holder::ThisSlot, _) => None,
            // That run may be dead: then its lease ends.
            (Holder::Earlier { left, .. }, Overlap::Skip) => Some(left.saturating_add(MARGIN)),
            (Holder::Earlier { .. } | Holder::Unknown, _) => Some(AGAIN),
        }
    }

    /// Who has the lock, as far as the record says.
    async fn find_holder(
        &self,
        name: &LockName,
        slot: &Slot,
        until: Timestamp,
    ) -> Result<Holder, OnceError> {
        let context = self.target.context();
        // First the holder: a run that began since is in the record then.
        let mut holders = inspect(context, name, until).await?.holders;
        holders.retain(|holder| !holder.lingering);
        let seen = look_at_slots(context, name, until).await?;
        let Some(record) = self.record_of_schedule(name, &seen)? else {
            return Ok(Holder::Unknown);
        };
        let tokens: Vec<_> = holders.iter().filter_map(|holder| holder.token).collect();
        if let Running::AnEarlierSlot(token) = record.running(&slot.id, &tokens, &self.rules) {
            let left = holders.iter().find(|holder| holder.token == Some(token));
            let left = left.and_then(|holder| holder.left).unwrap_or(Ttl::DEFAULT.get());
            return Ok(Holder::Earlier { token, left });
        }
        let noted = record.started.first().is_some_and(|started| tokens.contains(&started.token));
        Ok(if noted { Holder::ThisSlot } else { Holder::Unknown })
    }

    /// Takes the lock from the run with this token, for a run of `slot`. That run learns why, if the store takes a note.
    async fn end_run(
        &self,
        name: &LockName,
        slot: &Slot,
        now: u64,
        token: Token,
        until: Timestamp,
    ) -> Result<(), OnceError> {
        let context = self.target.context();
        // No longer than the slot lasts.
        let longest = slot.left(now).map_or(NOTICE, |left| left.min(NOTICE));
        let told_until = context.now().saturating_add(longest).min(until);
        let mut seen = inspect(context, name, until).await?;
        seen.holders.retain(|holder| holder.token == Some(token));
        if seen.holders.is_empty() {
            return Ok(());
        }
        let host = context.identity(None).host.unwrap_or_else(|| "another host".to_owned());
        let reason = format!("replaced by the run of the slot {} on {host}", slot.id.in_utc());
        let (acquirer, holders) = (self.target.acquirer(), &seen.holders);
        let notice = BreakNotice::new(acquirer, name.as_str(), holders, reason.clone());
        let notice = timeout_at(&*context.clock, told_until, notice).await;
        // That took its time. A run that ended by it would be no use to a slot that is over.
        let slots = look_at_slots(context, name, until).await?;
        if context.now() >= until || self.skipped(name, slot, &slots)?.is_some() {
            return Ok(());
        }
        let evicted = match oversight::evict_seen(context, name, &seen).await {
            Err(error) if !error.is_transient() => return Err(error.into()),
            // It is seen again who has the lock.
            evicted => evicted.ok(),
        };
        oversight::record_break(
            context,
            name,
            evicted.as_deref().unwrap_or_default(),
            Some(reason),
        );
        // It did not end by this if it had released before.
        if let Some(Ok(notice)) = notice
            && evicted.is_none_or(|evicted| !evicted.is_empty())
        {
            notice.leave().await;
        }
        Ok(())
    }

    /// Notes the start of a run, unless the record says by now that there is nothing to do.
    async fn start(
        &self,
        guard: Guard,
        name: &LockName,
        slot: &Slot,
    ) -> Result<Open<SlotRun>, OnceError> {
        let context = self.target.context();
        // Also if this is dropped or fails at any point.
        let unstarted = UnstartedRun::new(&guard);
        let seen = look_at_slots(context, name, Timestamp::NEVER).await?;
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
        // Before it is noted: that may take as long as the lease.
        guard.set_slot(SlotTry::new(slot.id.clone(), record.tries(&slot.id)));
        note_start(&unstarted, slot, seen.text.clone(), &record, seen.now).await?;
        unstarted.started();
        Ok(Ok(SlotRun::new(guard, slot.clone(), record, seen.now)))
    }
}
