//! Arrivals at a latch, and those who wait for them.

use std::{sync::Arc, time::Duration};

use tenure_core::{Latch, LatchError, LockName};

use crate::check::LatchObservation;
use crate::{
    client::{LockKind, ProcessContext, SharedContext},
    limited::PollLimit,
};
use tenure_testkit::{Random, fault::Kind};

/// What the latches of a run are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LatchTerms {
    pub(crate) count: u32,
    pub(crate) keep: Duration,
}

impl LatchTerms {
    pub(crate) fn of(stage: &SharedContext) -> Option<Self> {
        match stage.habits.locks {
            LockKind::Latch { count, keep } => Some(Self { count, keep }),
            _ => None,
        }
    }

    pub(crate) fn latch(self, context: &ProcessContext, name: &LockName) -> Latch {
        context.tenure.latch(name.as_str(), self.count).keep(self.keep)
    }
}

/// Arrives, waits, or looks who is there.
pub(crate) async fn round(context: &ProcessContext, name: &LockName, random: &mut Random) {
    let Some(terms) = LatchTerms::of(&context.stage) else { return };
    match random.below(10) {
        0..=4 => {
            // One more than are counted.
            let who = format!("worker-{}", random.below(u64::from(terms.count) + 1));
            let polls = drops(context, random).map(|polls| polls % 8);
            arrive(context, name, terms, &who, polls).await;
        }
        5..=6 => observe_latch(context, name, terms, random.happens(500)).await,
        choice => {
            let within = Duration::from_millis(*random.choose(&[0, 20, 200, 1_500]));
            let within = (choice < 9 || random.happens(500)).then_some(within);
            let polls = drops(context, random);
            wait(context, name, terms, within, polls).await;
        }
    }
}

fn drops(context: &ProcessContext, random: &mut Random) -> Option<u64> {
    random.happens(context.stage.habits.drops).then(|| random.below(20))
}

/// A call to arrive under way: its end is told also when it is dropped.
struct ArrivalInFlight<'a> {
    context: &'a ProcessContext,
    name: &'a LockName,
    call: usize,
}

impl Drop for ArrivalInFlight<'_> {
    fn drop(&mut self) {
        self.context.stage.check.arrival_ended(self.name, self.call);
    }
}

pub(crate) async fn arrive(
    context: &ProcessContext,
    name: &LockName,
    terms: LatchTerms,
    who: &str,
    polls: Option<u64>,
) {
    let stage = &context.stage;
    let call = stage.check.arrives(context.number, name, who, terms.keep);
    let latch = terms.latch(context, name);
    let arriving = ArrivalInFlight { context, name, call };
    let outcome = PollLimit::new(Box::pin(latch.arrive(who)), polls).await;
    drop(arriving);
    match outcome {
        None => stage.tally.count(Kind::ArrivalDropped),
        Some(Ok(remaining)) => stage.check.arrived(name, call, terms.count, remaining).await,
        Some(Err(error)) => stage.check.latch_failed(name, &error),
    }
}

/// Asks who is there, or how many are not.
pub(crate) async fn observe_latch(
    context: &ProcessContext,
    name: &LockName,
    terms: LatchTerms,
    named: bool,
) {
    let (stage, latch, count) = (&context.stage, terms.latch(context, name), terms.count);
    let from = stage.now();
    let seen = |remaining, who: Option<&[String]>| {
        let seen = LatchObservation { from, until: stage.now(), count, remaining, who };
        stage.check.seen_at(name, seen);
    };
    if !named {
        match latch.remaining().await {
            Ok(remaining) => seen(remaining, None),
            Err(error) => stage.check.latch_failed(name, &error),
        }
        return;
    }
    match latch.arrived().await {
        Ok(who) => {
            let arrived = u32::try_from(who.len()).unwrap_or(u32::MAX);
            seen(count.saturating_sub(arrived), Some(&who));
        }
        Err(error) => stage.check.latch_failed(name, &error),
    }
}

pub(crate) async fn wait(
    context: &ProcessContext,
    name: &LockName,
    terms: LatchTerms,
    within: Option<Duration>,
    polls: Option<u64>,
) {
    let (stage, latch) = (&context.stage, terms.latch(context, name));
    let from = stage.now();
    let wait = match within {
        Some(within) => latch.wait().within(within),
        None => latch.wait(),
    };
    context.note(&format!("waits at {name}, within {within:?}"));
    match PollLimit::new(wait, polls).await {
        None => stage.tally.count(Kind::WaitDropped),
        Some(Ok(())) => stage.check.waited_at(name, from, terms.count, 0),
        Some(Err(LatchError::TimedOut { remaining, .. })) => {
            stage.check.waited_at(name, from, terms.count, remaining);
        }
        // So short a wait rides out no fault.
        Some(Err(LatchError::Inspect(_))) if within.is_some() => {}
        Some(Err(error)) => stage.check.latch_failed(name, &error),
    }
}

/// Looks at a latch again and again while things go wrong.
pub(crate) async fn watch(context: Arc<ProcessContext>, mut random: Random) {
    let Some(terms) = LatchTerms::of(&context.stage) else { return };
    while !context.stage.calm() {
        let name = random.choose(&context.stage.names).clone();
        observe_latch(&context, &name, terms, random.happens(500)).await;
        context.sleep(random.length(Duration::from_millis(20), Duration::from_millis(300))).await;
    }
}
