//! One ask: whoever asks waits for the answer, gives it up, or is kept from it.

use std::{pin::Pin, time::Duration};

use tenure_core::{AcquireError, Clock, LockName, proto::queue::Mode};

use super::{CrashPoint, LockKind, ProcessContext, Terms};
use crate::PollLimit;
use tenure_testkit::{Random, fault::Kind};

/// Which ask it is.
#[derive(Debug)]
pub struct AskIdentity {
    task: u64,
    /// What is asked for.
    pub name: LockName,
    /// Says whose it is, for who looks at what the store keeps.
    pub label: String,
}

impl AskIdentity {
    /// The next ask of the run, of a task of `context`.
    #[must_use]
    pub fn new(context: &ProcessContext, task: u64, name: &LockName) -> Self {
        Self { task, name: name.clone(), label: context.label() }
    }
}

/// Waits for what `asking` comes to, or drops it on the way.
pub async fn acquire<G>(
    context: &ProcessContext,
    AskIdentity { task, name, label }: &AskIdentity,
    terms: &Terms,
    asking: impl Future<Output = Result<Option<G>, AcquireError>>,
    random: &mut Random,
) -> Option<G> {
    let (stage, habits) = (&context.stage, &context.stage.habits);
    let cut = context.cut_short(habits.acquire_polls, random);
    let note = |what: &str| context.note(&format!("task {task}, {label}, {name}: {what}"));
    note(&format!("asks {:?}", terms.mode));
    let in_queue = habits.quiet && habits.alone && stands_in_queue(terms, habits.locks);
    let in_queue = in_queue.then(|| stage.check.began_asking_in_queue(name, terms.mode));
    let mut asking = Box::pin(asking);
    let mut outcome = PollLimit::new(asking.as_mut(), cut.polls).await;
    if outcome.is_none()
        && let Some(bound) = habits.stalls
        && random.happens(300)
    {
        stage.tally.count(Kind::AcquireStalled);
        note("does not go on with its acquire");
        outcome = stall(context, asking.as_mut(), bound, random).await;
    }
    drop(asking);
    if let Some(number) = in_queue {
        let granted = matches!(outcome, Some(Ok(Some(_))));
        stage.check.asked_in_queue(name, number, granted);
    }
    match outcome {
        None if cut.ends => context.end_amid(CrashPoint::Acquire).await,
        None => {
            stage.tally.count(Kind::AcquireDropped);
            note("drops its acquire");
            None
        }
        Some(Ok(Some(guard))) => Some(guard),
        Some(Ok(None)) => {
            note("finds it taken");
            context.ground.denied(name, label, terms, false).await;
            None
        }
        Some(Err(error)) => {
            note(what(&error));
            stage.check.refused(&error);
            if matches!(error, AcquireError::TimedOut(_)) {
                context.ground.denied(name, label, terms, true).await;
            }
            None
        }
    }
}

/// Whether such asks for `locks` are served in the order of asking.
fn stands_in_queue(terms: &Terms, locks: LockKind) -> bool {
    let waits = !terms.tries && terms.wait.is_none_or(|wait| !wait.is_zero());
    waits && (terms.fair || terms.mode != Mode::Exclusive || locks == LockKind::Election)
}

/// Leaves an acquire alone for a while, or until all others must be done: `bound` after the last
/// fault.
async fn stall<F: Future>(
    context: &ProcessContext,
    asking: Pin<&mut F>,
    bound: Duration,
    random: &mut Random,
) -> Option<F::Output> {
    if random.happens(500) {
        context.sleep(random.length(Duration::ZERO, LONGEST_STALL)).await;
        return Some(asking.await);
    }
    let stage = &context.stage;
    while !stage.calm() {
        tokio::time::sleep(LONGEST_STALL / 50).await;
    }
    stage.clock.sleep_until(stage.calm_at().saturating_add(bound - LAST_MOMENT)).await;
    None
}

const LONGEST_STALL: Duration = Duration::from_secs(3);
/// Enough for a task to end, and too little for those who waited in vain.
const LAST_MOMENT: Duration = Duration::from_millis(300);

fn what(error: &AcquireError) -> &'static str {
    match error {
        AcquireError::TimedOut(_) => "waited long enough",
        AcquireError::InDoubt(_) => "is in doubt",
        AcquireError::Unreachable(_) => "cannot reach the store",
        _ => "fails",
    }
}
