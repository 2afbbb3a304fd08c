//! Callers that work once per slot: they finish it, fail, or lose their lock.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Begun, Guard, LockName, Mutex, Once, OnceError, Overlap, SlotRun, Store,
    proto::queue::Mode,
    schedule::{Period, Schedule},
};

use crate::{
    check::{Finishing, SlotCall},
    client::{
        AskIdentity, LockKind, ProcessContext, SharedContext, SlotHabits, Terms, acquire, hold,
        leave, report_hold, stay, with_terms,
    },
    limited::PollLimit,
    world::World,
};
use tenure_testkit::{Random, fault::Kind};

/// How much longer the slots of the other schedule are.
const LONGER: Duration = Duration::from_secs(1);

impl SlotHabits {
    pub(crate) fn of(stage: &SharedContext) -> Option<Self> {
        match stage.habits.locks {
            LockKind::Slots(habits) => Some(habits),
            _ => None,
        }
    }

    /// The schedule of most callers, or the other one.
    pub(crate) fn schedule(&self, other: bool) -> Option<Period> {
        let longer = if other { LONGER } else { Duration::ZERO };
        Period::new(self.period + longer).ok()
    }

    /// Work under these rules, once per slot.
    pub(crate) fn once(&self, mutex: Mutex, schedule: Period) -> Once {
        let once = mutex.once(schedule).mark(self.rules.mark);
        let once = match self.rules.tries {
            Some(tries) => once.tries(tries),
            None => once,
        };
        match self.rules.retry_within {
            Some(within) => once.retry_within(within),
            None => once,
        }
    }
}

/// A call to begin under way: its end is told also when it is dropped.
struct BeginInFlight<'a> {
    stage: &'a SharedContext,
    call: &'a SlotCall,
}

impl Drop for BeginInFlight<'_> {
    fn drop(&mut self) {
        self.stage.check.slot_call_ended(self.call);
    }
}

/// Begins the work of a slot, and does it in one of many ways.
pub(crate) async fn round(
    context: &ProcessContext,
    world: &World,
    index: u64,
    name: &LockName,
    terms: &Terms,
    random: &mut Random,
) {
    let Some(habits) = SlotHabits::of(&context.stage) else { return };
    let asked = AskIdentity::new(context, index, name);
    if random.happens(60) {
        // Something else is done under the same lock.
        let asking = terms.ask(&context.tenure, context.stage.habits.locks, name, &asked.label);
        if let Some(guard) = acquire(context, &asked, terms, asking, random).await {
            hold(context, guard, terms, random).await;
        }
        return;
    }
    let other = habits.other_schedule && random.happens(300);
    let Some(schedule) = habits.schedule(other) else { return };
    let overlap = match random.below(if habits.replaces { 3 } else { 2 }) {
        0 => Overlap::Skip,
        1 => Overlap::Wait,
        _ => Overlap::Replace,
    };
    let text = schedule.text().to_owned();
    let mutex = with_terms!(context.tenure.mutex(name.as_str()), terms, &asked.label);
    let mut once = habits.once(mutex, schedule).overlap(overlap);
    if random.happens(200) {
        once = once.early(Duration::from_millis(*random.choose(&[0, 20, 500])));
    }
    let call = SlotCall {
        process: context.number,
        name: name.clone(),
        schedule: text,
        rules: habits.rules,
        replaces: overlap == Overlap::Replace,
        sent: context.stage.now(),
    };
    let polls = random.happens(context.stage.habits.drops).then(|| random.below(20));
    match begin(context, &once, &call, polls).await {
        Some(Begun::Run(run)) => {
            // The checker counts how long the name is kept from the moment at which it learns of a hold.
            let terms = Terms { hold_at_least: None, ..*terms };
            work(&Worker { context, world, call: &call, terms }, run, random).await;
        }
        Some(Begun::Skipped(_)) | None => {}
    }
}

/// Calls begin, and tells the checker what came of it.
pub(crate) async fn begin(
    context: &ProcessContext,
    once: &Once,
    call: &SlotCall,
    polls: Option<u64>,
) -> Option<Begun> {
    let stage = &context.stage;
    stage.check.asks_for_slot(call);
    let beginning = BeginInFlight { stage, call };
    let begun = PollLimit::new(Box::pin(once.begin()), polls).await;
    drop(beginning);
    match begun {
        None => stage.tally.count(Kind::AcquireDropped),
        Some(Ok(begun)) => {
            if let Begun::Skipped(skipped) = &begun {
                stage.check.slot_skipped(call, skipped, context.last_trouble());
            }
            return Some(begun);
        }
        Some(Err(error)) => stage.check.slot_failed(call, &error, context.last_trouble()),
    }
    None
}

/// Who does the work of a run.
pub(crate) struct Worker<'a> {
    pub(crate) context: &'a ProcessContext,
    pub(crate) world: &'a World,
    pub(crate) call: &'a SlotCall,
    pub(crate) terms: Terms,
}

impl Worker<'_> {
    /// Tells the checker of a run that has begun. What it calls the hold.
    pub(crate) async fn report(&self, run: &Arc<SlotRun>) -> usize {
        let Self { context, call, terms, .. } = self;
        let weak = Arc::downgrade(run);
        let hold = report_hold(context, &call.name, run.token(), terms, weak).await;
        context.stage.check.slot_begins(call, run, hold, context.last_trouble());
        self.look().await;
        hold
    }

    /// Compares the record with the slots that are finished.
    pub(crate) async fn look(&self) {
        let name = &self.call.name;
        let text = self.world.store.read_slots(name).await.ok().and_then(|stored| stored.text);
        self.context.stage.check.slots_kept(name, text.as_deref());
    }

    /// Tells the checker what came of a finish.
    async fn finished(&self, finishing: &Finishing, outcome: Option<&Result<(), OnceError>>) {
        let (context, stage) = (self.context, &self.context.stage);
        match outcome {
            None => stage.tally.count(Kind::ReleaseDropped),
            Some(Ok(())) => {
                stage.check.slot_finished(finishing, self.call.rules.mark);
            }
            Some(Err(error)) => {
                stage.check.slot_not_finished(finishing, error, context.last_trouble());
            }
        }
        self.look().await;
    }

    fn polls(&self, random: &mut Random) -> Option<u64> {
        random.happens(self.context.stage.habits.drops).then(|| random.below(8))
    }

    /// Marks the slot as finished, and goes on under the lock.
    async fn mark_and_stay(&self, run: Arc<SlotRun>, hold: usize, random: &mut Random) {
        let (context, check) = (self.context, &self.context.stage.check);
        let finishing = check.slot_finishes(&run, hold).await;
        // Until the answer has come, it does nothing under the lock.
        check.downgrades(hold);
        let Some(mut run) = Arc::into_inner(run) else { return };
        let outcome = PollLimit::new(Box::pin(run.mark()), self.polls(random)).await;
        self.finished(&finishing, outcome.as_ref()).await;
        let guard: Arc<Guard> = Arc::new(run.into_guard());
        check.goes_on(hold, &guard, Mode::Exclusive).await;
        for _ in 0..random.below(5) {
            if guard.check().is_err() {
                break;
            }
            stay(context, &guard, hold, &self.terms, random).await;
            self.look().await;
        }
        self.go(guard, hold, random).await;
    }

    async fn finish(&self, run: Arc<SlotRun>, hold: usize, random: &mut Random) {
        let check = &self.context.stage.check;
        let finishing = check.slot_finishes(&run, hold).await;
        check.ended(hold);
        let Some(run) = Arc::into_inner(run) else { return };
        let outcome = PollLimit::new(Box::pin(run.finish()), self.polls(random)).await;
        self.finished(&finishing, outcome.as_ref()).await;
    }

    /// Lets go of the lock without another word about the slot.
    async fn go(&self, guard: Arc<Guard>, hold: usize, random: &mut Random) {
        let valid = self.context.stage.check.ended(hold);
        if let Some(guard) = Arc::into_inner(guard) {
            leave(self.context, guard, (hold, valid), &self.terms, random).await;
        }
    }
}

async fn work(worker: &Worker<'_>, run: SlotRun, random: &mut Random) {
    let run = Arc::new(run);
    let hold = worker.report(&run).await;
    // Now and then there is little to do.
    if random.happens(750) {
        stay(worker.context, &run, hold, &worker.terms, random).await;
    }
    match random.below(10) {
        0..=3 => worker.finish(run, hold, random).await,
        4..=6 => worker.mark_and_stay(run, hold, random).await,
        _ => {
            worker.context.note("fails in its slot");
            if let Some(run) = Arc::into_inner(run) {
                worker.go(Arc::new(run.into_guard()), hold, random).await;
            }
        }
    }
}
