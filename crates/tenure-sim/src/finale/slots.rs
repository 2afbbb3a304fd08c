//! Work that is done once per slot, when all is calm.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Begun, Clock, LockName, SlotRun, Store,
    schedule::{Mark, Period, Schedule, Skipped, SlotId, SlotRecord},
};

use crate::{
    check::SlotCall,
    client::{Process, ProcessContext, SlotHabits},
    process,
    tasks::slots::begin,
    world::World,
};
use tenure_testkit::Random;

const TTL: Duration = Duration::from_millis(200);
const MARGIN: Duration = Duration::from_millis(20);

/// When all is calm, a slot is run once and the next one again. If its process is gone then, another one runs it, as
/// far as the rules allow that.
pub(crate) async fn play(world: &Arc<World>, processes: &mut Vec<Process>, random: &mut Random) {
    let (Some(habits), Some(name)) = (SlotHabits::of(&world.stage), world.stage.names.first())
    else {
        return;
    };
    let record = read(world, name).await;
    let known =
        |period: &Period| record.as_ref().is_some_and(|record| *record.schedule == *period.text());
    let Some(period) = [true, false]
        .map(|other| habits.schedule(other))
        .into_iter()
        .flatten()
        .rfind(known)
        .or_else(|| habits.schedule(false))
    else {
        return;
    };
    let mut start = || process::add(processes, world, random);
    let (one, other) = (start(), start());
    let caller = |context| Caller { world, context, name, habits, period: period.clone() };
    let (one, other) = (caller(one), caller(other));

    one.next_slot().await;
    let Some(run) = one.runs().await else { return };
    one.finishes(run).await;
    other.skips("a finished slot").await;

    one.next_slot().await;
    let Some(abandoned) = one.runs().await else { return };
    let waiter = tokio::spawn({
        let (context, once) = (other.context.clone(), other.once());
        let call = other.call();
        async move { begin(&context, &once, &call, None).await }
    });
    tokio::time::sleep(MARGIN).await;
    if let Some(process) =
        processes.iter().find(|process| process.context.number == one.context.number)
    {
        process.context.crash(None);
    }
    let again = waiter.await.ok().flatten();
    drop(abandoned);
    let rules = habits.rules;
    let is_spent = rules.mark == Mark::AtStart || rules.tries == Some(1);
    // The lease of the process that is gone ends about when it is too late.
    let is_close = rules.retry_within.is_some_and(|within| within < TTL * 2);
    match again {
        Some(Begun::Run(run)) if !is_spent => other.finishes(run).await,
        Some(Begun::Skipped(_)) if is_spent || is_close => {}
        again => other.missed("a slot whose process is gone", &again),
    }
}

struct Caller<'a> {
    world: &'a World,
    context: Arc<ProcessContext>,
    name: &'a LockName,
    habits: SlotHabits,
    period: Period,
}

impl Caller<'_> {
    fn once(&self) -> tenure_core::Once {
        let mutex = self.context.tenure.mutex(self.name.as_str()).ttl(TTL).label("caller");
        self.habits.once(mutex, self.period.clone())
    }

    fn call(&self) -> SlotCall {
        SlotCall {
            process: self.context.number,
            name: self.name.clone(),
            schedule: self.period.text().to_owned(),
            rules: self.habits.rules,
            replaces: false,
            sent: self.context.stage.now(),
        }
    }

    /// Waits for the beginning of a slot that the record does not know yet. The store's time of day may have been set
    /// back behind those that it knows.
    async fn next_slot(&self) {
        let clock = &self.context.stage.clock;
        let known = read(self.world, self.name).await.map_or(0, |record| last(&record));
        let at = self.period.slot_at(known.max(clock.wall())).and_then(|slot| slot.ends);
        let rest = Duration::from_micros(at.unwrap_or_default().saturating_sub(clock.wall()));
        tokio::time::sleep(rest + MARGIN).await;
    }

    /// Begins a slot that is open.
    async fn runs(&self) -> Option<SlotRun> {
        let call = self.call();
        let begun = begin(&self.context, &self.once(), &call, None).await;
        let Some(Begun::Run(run)) = begun else {
            self.missed("an open slot", &begun);
            return None;
        };
        let check = &self.context.stage.check;
        // Nothing else has the lock.
        check.slot_begins(&call, &run, usize::MAX, self.context.last_trouble());
        Some(run)
    }

    async fn finishes(&self, run: SlotRun) {
        let check = &self.context.stage.check;
        let finishing = check.slot_finishes(&run, usize::MAX).await;
        match run.finish().await {
            Ok(()) => check.slot_finished(&finishing, self.habits.rules.mark),
            Err(error) => check.slot_missed(self.name, "a finished slot", &format!("{error:#}")),
        }
    }

    async fn skips(&self, wanted: &str) {
        let begun = begin(&self.context, &self.once(), &self.call(), None).await;
        let why = match &begun {
            Some(Begun::Skipped(skipped)) => Some(skipped.why),
            _ => None,
        };
        if !matches!(why, Some(Skipped::Finished { .. })) {
            self.missed(wanted, &begun);
        }
    }

    fn missed(&self, wanted: &str, got: &Option<Begun>) {
        self.context.stage.check.slot_missed(self.name, wanted, &format!("{got:?}"));
    }
}

async fn read(world: &World, name: &LockName) -> Option<SlotRecord> {
    let stored = world.store.read_slots(name).await.ok()?;
    SlotRecord::read(&stored.text?).ok()
}

/// The beginning of the last slot in a record.
fn last(record: &SlotRecord) -> u64 {
    let started = record.started.iter().map(|started| &started.slot);
    let all = started.chain(record.finished.iter().map(|finished| &finished.slot));
    let starts = all.filter_map(|slot| match slot {
        SlotId::At(start) => Some(*start),
        SlotId::Named(_) => None,
    });
    starts.max().unwrap_or_default()
}
