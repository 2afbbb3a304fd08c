//! One task of a process: it acquires, holds and lets go, in ways of its seed's choosing.

use std::{future::pending, sync::Arc, time::Duration};

use tenure_core::{AcquireError, Guard, LockName, proto::queue::Mode};
use tenure_testkit::{Random, fault::Kind, sim::Limited};

use super::{
    hold,
    plan::{LONGEST_GRACE, Locks},
    process::Post,
    seen::Sight,
};

/// What a task asks for in one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) mode: Mode,
    pub(super) ttl: Duration,
    pub(super) grace: Duration,
    pub(super) max_hold: Option<Duration>,
    pub(super) hold_at_least: Option<Duration>,
    pub(super) wait: Option<Duration>,
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
        handle
    }};
}

impl Terms {
    fn draw(post: &Post, random: &mut Random) -> Self {
        let plan = &post.world.plan;
        let millis =
            |random: &mut Random, choices: &[u64]| Duration::from_millis(*random.choose(choices));
        let mode = match plan.locks {
            Locks::ReadWrite if random.happens(600) => Mode::Shared,
            Locks::Mutex | Locks::ReadWrite => Mode::Exclusive,
        };
        Self {
            mode,
            ttl: millis(random, plan.leases()),
            grace: if random.happens(200) { LONGEST_GRACE } else { Duration::ZERO },
            max_hold: random.happens(150).then(|| millis(random, &[20, 150, 700])),
            hold_at_least: random.happens(80).then(|| millis(random, &[15, 100])),
            wait: random.happens(600).then(|| millis(random, &[0, 30, 400, 1_500])),
            tries: random.happens(300),
            together: plan.locks == Locks::Mutex && plan.names > 1 && random.happens(200),
        }
    }

    async fn ask(
        &self,
        post: &Post,
        name: &LockName,
        label: &str,
    ) -> Result<Vec<Guard>, AcquireError> {
        let (tenure, name) = (&post.tenure, name.as_str());
        let one = |guard: Option<Guard>| guard.into_iter().collect();
        if self.together {
            let names = post.world.names.iter().map(LockName::as_str);
            let all = with_terms!(tenure.all(names), self, label);
            let guard = if self.tries { all.try_lock().await? } else { Some(all.lock().await?) };
            return Ok(guard.map(|guard| guard.into_parts()).unwrap_or_default());
        }
        if post.world.plan.locks == Locks::Mutex {
            let lock = with_terms!(tenure.mutex(name), self, label);
            return Ok(one(if self.tries {
                lock.try_lock().await?
            } else {
                Some(lock.lock().await?)
            }));
        }
        let lock = with_terms!(tenure.rwlock(name), self, label);
        Ok(one(match (self.mode, self.tries) {
            (Mode::Shared, true) => lock.try_read().await?,
            (Mode::Shared, false) => Some(lock.read().await?),
            (_, true) => lock.try_write().await?.map(Guard::from),
            (_, false) => Some(lock.write().await?.into()),
        }))
    }
}

/// All rounds of a task; none begins when nothing goes wrong any more.
pub(super) async fn work(post: Arc<Post>, index: u64, mut random: Random) {
    let world = post.world.clone();
    for _ in 0..world.plan.rounds {
        let most = if world.plan.quick { 4 } else { 100 };
        post.sleep(random.length(Duration::ZERO, Duration::from_millis(most))).await;
        if world.calm() {
            return;
        }
        let name = random.choose(&world.names).clone();
        let terms = Terms::draw(&post, &mut random);
        let mut guards = acquire(&post, index, &name, &terms, &mut random).await.into_iter();
        // A world has two names at most.
        let (one, other, mut apart) = (guards.next(), guards.next(), random.split());
        tokio::join!(keep(&post, one, &terms, &mut random), keep(&post, other, &terms, &mut apart));
    }
}

async fn keep(post: &Arc<Post>, guard: Option<Guard>, terms: &Terms, random: &mut Random) {
    if let Some(guard) = guard {
        hold::hold(post, guard, terms, random).await;
    }
}

/// Whether the process ends in the middle of this.
pub(super) fn is_the_end(post: &Post, random: &mut Random) -> bool {
    post.world.plan.crashes && !post.world.calm() && random.happens(30)
}

async fn acquire(
    post: &Arc<Post>,
    index: u64,
    name: &LockName,
    terms: &Terms,
    random: &mut Random,
) -> Vec<Guard> {
    let world = &post.world;
    // The label says whose it is, for who looks at what the members keep.
    let label = format!("process {}, ask {}", post.number, world.next_ask());
    let is_the_end = is_the_end(post, random);
    let dropped = is_the_end || random.happens(world.plan.drops);
    let polls = dropped.then(|| random.below(16));
    let note = |what: &str| post.note(&format!("task {index}, {label}, {name}: {what}"));
    note(&format!("asks {:?}", terms.mode));
    let outcome = Limited::new(Box::pin(terms.ask(post, name, &label)), polls).await;
    match outcome {
        None if is_the_end => {
            world.seen.count(Sight::EndedAcquiring);
            post.crash();
            pending().await
        }
        None => {
            world.tally.count(Kind::AcquireDropped);
            note("drops its acquire");
            Vec::new()
        }
        Some(Ok(guards)) => {
            if guards.is_empty() {
                note("finds it taken");
                // Of several, those that were free are let go in the background.
                if world.plan.quiet && !terms.together {
                    given_back(post, name, &label).await;
                }
            }
            guards
        }
        Some(Err(error)) => {
            note(what(&error));
            world.check.refused(&error);
            Vec::new()
        }
    }
}

/// Where no call goes wrong, whoever is told that the name is taken has left nothing anywhere.
async fn given_back(post: &Post, name: &LockName, label: &str) {
    let parts = post.world.members.parts(name, label).await;
    let mut left: Vec<_> = parts.into_values().flatten().collect();
    left.retain(|part| part.label == label);
    post.world.check.left_behind(label, name, &left);
}

fn what(error: &AcquireError) -> &'static str {
    match error {
        AcquireError::TimedOut(_) => "waited long enough",
        AcquireError::InDoubt(_) => "is in doubt",
        AcquireError::Unreachable(_) => "cannot reach the store",
        _ => "fails",
    }
}
