//! One task of a process: it acquires, holds and lets go, in ways of its seed's choosing.

use std::{pin::Pin, sync::Arc, time::Duration};

use tenure_core::{AcquireError, All, Clock, Guard, LockName, proto::queue::Mode};

use super::{
    all, election, hold, latch,
    limited::Limited,
    plan::{LONGEST_GRACE, Locks},
    process::Post,
    reentrant,
};
use crate::{Random, fault::Kind};

/// What a task asks for in one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) mode: Mode,
    pub(super) ttl: Duration,
    pub(super) grace: Duration,
    pub(super) max_hold: Option<Duration>,
    pub(super) wait: Option<Duration>,
    pub(super) hold_at_least: Option<Duration>,
    pub(super) fair: bool,
    pub(super) tries: bool,
    /// Whether all names are asked for together.
    pub(super) together: bool,
}

/// A handle with what is asked for, whatever kind of lock it is of.
macro_rules! with_terms {
    ($handle:expr, $terms:expr, $label:expr) => {{
        let mut handle = $handle.ttl($terms.ttl).label($label);
        if !$terms.grace.is_zero() {
            handle = handle.grace($terms.grace);
        }
        if let Some(max_hold) = $terms.max_hold {
            handle = handle.max_hold(max_hold);
        }
        if let Some(wait) = $terms.wait {
            handle = handle.wait(wait);
        }
        if let Some(length) = $terms.hold_at_least {
            handle = handle.hold_at_least(length);
        }
        if $terms.fair { handle.fair() } else { handle }
    }};
}

pub(super) use with_terms;

impl Terms {
    fn draw(post: &Post, random: &mut Random) -> Self {
        let plan = &post.world.plan;
        let millis =
            |random: &mut Random, choices: &[u64]| Duration::from_millis(*random.choose(choices));
        let ttl = millis(random, plan.leases.lengths());
        let mode = match plan.locks {
            Locks::Mutex | Locks::Reentrant | Locks::Election => Mode::Exclusive,
            Locks::ReadWrite if random.happens(600) => Mode::Shared,
            Locks::ReadWrite => Mode::Exclusive,
            Locks::Latch { .. } => Mode::Shared,
            Locks::Semaphore { permits } => {
                let take = 1 + u32::try_from(random.below(permits.into())).unwrap_or(0);
                Mode::Permits { take, of: permits + u32::from(random.happens(100)) }
            }
        };
        Self {
            mode,
            ttl,
            grace: if random.happens(200) { LONGEST_GRACE } else { Duration::ZERO },
            max_hold: random.happens(150).then(|| millis(random, &[20, 150, 700, 3_000])),
            wait: random.happens(400).then(|| millis(random, &[0, 30, 400, 1_500])),
            hold_at_least: random.happens(80).then(|| millis(random, &[15, 100])),
            fair: random.happens(if plan.quick { 100 } else { 300 }),
            tries: random.happens(150),
            together: plan.locks == Locks::Mutex && plan.names > 1 && random.happens(150),
        }
    }

    /// Asks for the lock as its mode says.
    async fn ask(
        &self,
        post: &Post,
        name: &LockName,
        label: &str,
    ) -> Result<Option<Guard>, AcquireError> {
        let (tenure, name) = (&post.tenure, name.as_str());
        match self.mode {
            Mode::Exclusive if post.world.plan.locks == Locks::ReadWrite => {
                let lock = with_terms!(tenure.rwlock(name), self, label);
                if self.tries {
                    return Ok(lock.try_write().await?.map(Guard::from));
                }
                lock.write().await.map(|guard| Some(guard.into()))
            }
            Mode::Exclusive => {
                let lock = with_terms!(tenure.mutex(name), self, label);
                if self.tries { lock.try_lock().await } else { lock.lock().await.map(Some) }
            }
            Mode::Shared => {
                let lock = with_terms!(tenure.rwlock(name), self, label);
                if self.tries { lock.try_read().await } else { lock.read().await.map(Some) }
            }
            Mode::Permits { take, of } => {
                let lock = with_terms!(tenure.semaphore(name, of), self, label);
                if self.tries {
                    return lock.try_acquire_many(take).await;
                }
                lock.acquire_many(take).await.map(Some)
            }
        }
    }

    /// All of `names` together.
    pub(super) fn all(&self, post: &Post, names: &[LockName], label: &str) -> All {
        with_terms!(post.tenure.all(names.iter().map(LockName::as_str)), self, label)
    }

    /// Whether such asks for `locks` are served in the order of asking.
    fn stands_in_line(&self, locks: Locks) -> bool {
        let waits = !self.tries && self.wait.is_none_or(|wait| !wait.is_zero());
        waits && (self.fair || self.mode != Mode::Exclusive || locks == Locks::Election)
    }
}

/// All rounds of a task; none begins when nothing goes wrong any more.
pub(super) async fn work(post: Arc<Post>, index: u64, mut random: Random) {
    let world = post.world.clone();
    for _ in 0..world.plan.rounds {
        let most = if world.plan.quick { 4 } else { 200 };
        post.sleep(random.length(Duration::ZERO, Duration::from_millis(most))).await;
        if world.calm() {
            return;
        }
        let name = random.choose(&world.names).clone();
        let terms = Terms::draw(&post, &mut random);
        match world.plan.locks {
            Locks::Election => {
                election::round(&post, index, &name, &terms, &mut random).await;
                continue;
            }
            Locks::Reentrant => {
                reentrant::round(&post, index, &name, &terms, &mut random).await;
                continue;
            }
            Locks::Latch { .. } => {
                latch::round(&post, &name, &mut random).await;
                continue;
            }
            Locks::Mutex | Locks::ReadWrite | Locks::Semaphore { .. } => {}
        }
        if terms.together {
            all::round(&post, index, &terms, &mut random).await;
            continue;
        }
        let ask = Asked::new(&post, index, &name);
        let asking = terms.ask(&post, &name, &ask.label);
        if let Some(guard) = acquire(&post, &ask, &terms, asking, &mut random).await {
            hold::hold(&post, guard, &terms, &mut random).await;
        }
    }
}

/// Which ask it is.
#[derive(Debug)]
pub(super) struct Asked {
    task: u64,
    pub(super) name: LockName,
    /// Says whose it is, for who looks at what the store keeps.
    pub(super) label: String,
}

impl Asked {
    pub(super) fn new(post: &Post, task: u64, name: &LockName) -> Self {
        let label = format!("process {}, ask {}", post.number, post.world.next_ask());
        Self { task, name: name.clone(), label }
    }
}

/// Waits for what `asking` comes to, or drops it on the way.
pub(super) async fn acquire<G>(
    post: &Post,
    Asked { task, name, label }: &Asked,
    terms: &Terms,
    asking: impl Future<Output = Result<Option<G>, AcquireError>>,
    random: &mut Random,
) -> Option<G> {
    let world = &post.world;
    let polls = random.happens(world.plan.drops).then(|| random.below(10));
    let note = |what: &str| {
        world.check.note(post.number, &format!("task {task}, {label}, {name}: {what}"));
    };
    note(&format!("asks {:?}", terms.mode));
    let in_line = world.plan.quiet && terms.stands_in_line(world.plan.locks);
    let in_line = in_line.then(|| world.check.asks_in_line(name, terms.mode));
    let mut asking = Box::pin(asking);
    let mut outcome = Limited::new(asking.as_mut(), polls).await;
    if outcome.is_none() && world.plan.may_stall(terms.together) && random.happens(300) {
        world.tally.count(Kind::AcquireStalled);
        note("does not go on with its acquire");
        outcome = stall(post, asking.as_mut(), random).await;
    }
    drop(asking);
    if let Some(number) = in_line {
        let granted = matches!(outcome, Some(Ok(Some(_))));
        world.check.asked_in_line(name, number, granted);
    }
    match outcome {
        None => {
            world.tally.count(Kind::AcquireDropped);
            note("drops its acquire");
            None
        }
        Some(Ok(Some(guard))) => Some(guard),
        Some(Ok(None)) => {
            note("finds it taken");
            world.check.denied(name, label, !world.plan.late_calls).await;
            None
        }
        Some(Err(error)) => {
            note(what(&error));
            world.check.refused(&error);
            if matches!(error, AcquireError::TimedOut(_)) {
                world.check.denied(name, label, !world.plan.late_calls).await;
            }
            None
        }
    }
}

/// Leaves an acquire alone for a while, or until all others must be done.
async fn stall<F: Future>(
    post: &Post,
    asking: Pin<&mut F>,
    random: &mut Random,
) -> Option<F::Output> {
    if random.happens(500) {
        post.sleep(random.length(Duration::ZERO, LONGEST_STALL)).await;
        return Some(asking.await);
    }
    let world = &post.world;
    while !world.calm() {
        tokio::time::sleep(LONGEST_STALL / 50).await;
    }
    world.clock.sleep_until(world.calm_at().saturating_add(world.plan.bound() - LAST_MOMENT)).await;
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
