//! Arrivals at a latch, and those who wait for them.

use std::{sync::Arc, time::Duration};

use tenure_core::{Latch, LatchError, LockName, Store, proto::look};
use tokio::task::JoinHandle;

use super::{
    limited::Limited,
    plan::Locks,
    process::{Post, Process},
    world::World,
};
use crate::{Random, check::Seen, fault::Kind};

/// What the latches of a run are.
#[derive(Clone, Copy, Debug)]
struct Terms {
    count: u32,
    keep: Duration,
}

impl Terms {
    fn of(world: &World) -> Option<Self> {
        match world.plan.locks {
            Locks::Latch { count, keep } => Some(Self { count, keep }),
            _ => None,
        }
    }

    fn latch(self, post: &Post, name: &LockName) -> Latch {
        post.tenure.latch(name.as_str(), self.count).keep(self.keep)
    }
}

/// Arrives, waits, or looks who is there.
pub(super) async fn round(post: &Arc<Post>, name: &LockName, random: &mut Random) {
    let Some(terms) = Terms::of(&post.world) else { return };
    match random.below(10) {
        0..=4 => {
            // One more than are counted.
            let who = format!("worker-{}", random.below(u64::from(terms.count) + 1));
            let polls = drops(post, random).map(|polls| polls % 8);
            arrive(post, name, terms, &who, polls).await;
        }
        5..=6 => look(post, name, terms, random.happens(500)).await,
        choice => {
            let within = Duration::from_millis(*random.choose(&[0, 20, 200, 1_500]));
            let within = (choice < 9 || random.happens(500)).then_some(within);
            let polls = drops(post, random);
            wait(post, name, terms, within, polls).await;
        }
    }
}

fn drops(post: &Post, random: &mut Random) -> Option<u64> {
    random.happens(post.world.plan.drops).then(|| random.below(20))
}

/// A call to arrive under way: its end is told also when it is dropped.
struct Arriving<'a> {
    post: &'a Post,
    name: &'a LockName,
    call: usize,
}

impl Drop for Arriving<'_> {
    fn drop(&mut self) {
        self.post.world.check.arrival_ended(self.name, self.call);
    }
}

async fn arrive(post: &Post, name: &LockName, terms: Terms, who: &str, polls: Option<u64>) {
    let world = &post.world;
    let call = world.check.arrives(post.number, name, who, terms.keep);
    let latch = terms.latch(post, name);
    let arriving = Arriving { post, name, call };
    let outcome = Limited::new(Box::pin(latch.arrive(who)), polls).await;
    drop(arriving);
    match outcome {
        None => world.tally.count(Kind::ArrivalDropped),
        Some(Ok(remaining)) => world.check.arrived(name, call, terms.count, remaining).await,
        Some(Err(error)) => world.check.latch_failed(name, &error),
    }
}

/// Asks who is there, or how many are not.
async fn look(post: &Post, name: &LockName, terms: Terms, named: bool) {
    let (world, latch, count) = (&post.world, terms.latch(post, name), terms.count);
    let from = world.now();
    let seen = |remaining, who: Option<&[String]>| {
        let seen = Seen { from, until: world.now(), count, remaining, who };
        world.check.seen_at(name, seen);
    };
    if !named {
        match latch.remaining().await {
            Ok(remaining) => seen(remaining, None),
            Err(error) => world.check.latch_failed(name, &error),
        }
        return;
    }
    match latch.arrived().await {
        Ok(who) => {
            let arrived = u32::try_from(who.len()).unwrap_or(u32::MAX);
            seen(count.saturating_sub(arrived), Some(&who));
        }
        Err(error) => world.check.latch_failed(name, &error),
    }
}

async fn wait(
    post: &Post,
    name: &LockName,
    terms: Terms,
    within: Option<Duration>,
    polls: Option<u64>,
) {
    let (world, latch) = (&post.world, terms.latch(post, name));
    let from = world.now();
    let wait = match within {
        Some(within) => latch.wait().within(within),
        None => latch.wait(),
    };
    world.check.note(post.number, &format!("waits at {name}, within {within:?}"));
    match Limited::new(wait, polls).await {
        None => world.tally.count(Kind::WaitDropped),
        Some(Ok(())) => world.check.waited_at(name, from, terms.count, 0),
        Some(Err(LatchError::TimedOut { remaining, .. })) => {
            world.check.waited_at(name, from, terms.count, remaining);
        }
        // So short a wait rides out no fault.
        Some(Err(LatchError::Look(_))) if within.is_some() => {}
        Some(Err(error)) => world.check.latch_failed(name, &error),
    }
}

/// Looks at a latch again and again while things go wrong.
pub(super) async fn watch(post: Arc<Post>, mut random: Random) {
    let Some(terms) = Terms::of(&post.world) else { return };
    while !post.world.calm() {
        let name = random.choose(&post.world.names).clone();
        look(&post, &name, terms, random.happens(500)).await;
        post.sleep(random.length(Duration::from_millis(20), Duration::from_millis(300))).await;
    }
}

/// When all is calm everybody arrives, again and again, until nobody waits any more.
pub(super) fn all_arrive(
    world: &Arc<World>,
    processes: &mut Vec<Process>,
    random: &mut Random,
) -> Option<JoinHandle<()>> {
    let terms = Terms { keep: LONG, ..Terms::of(world)? };
    let post = start(world, processes, random);
    Some(tokio::spawn(async move {
        loop {
            for name in &post.world.names {
                for worker in 0..terms.count {
                    arrive(&post, name, terms, &format!("worker-{worker}"), None).await;
                }
            }
            post.sleep(look::LONGEST / 2).await;
        }
    }))
}

/// When nobody is on the way any more: all are there, the latch is reset, and counts once more.
pub(super) async fn finale(world: &Arc<World>, processes: &mut Vec<Process>, random: &mut Random) {
    let Some(terms) = Terms::of(world) else { return };
    tokio::time::sleep(world.plan.faults.delay * 3 + HALF_AN_ARRIVAL + MARGIN).await;
    let (one, other) = (start(world, processes, random), start(world, processes, random));
    for name in &world.names {
        let left = world.store.inspect(name).await.unwrap_or_default();
        world.check.only_arrivals_left(name, &left);
        look(&one, name, terms, true).await;
        reset(&one, name, terms).await;
    }
    let Some(name) = world.names.first() else { return };
    let terms = Terms { keep: LONG, ..terms };
    let waiter = tokio::spawn({
        let (one, name) = (one.clone(), name.clone());
        async move { wait(&one, &name, terms, None, None).await }
    });
    let first = random.below(u64::from(terms.count));
    for worker in 0..u64::from(terms.count) {
        let who = format!("worker-{}", (first + worker) % u64::from(terms.count));
        for post in [&one, &other] {
            arrive(post, name, terms, &who, None).await;
        }
        wait(&other, name, terms, Some(MARGIN), None).await;
    }
    if tokio::time::timeout(look::LONGEST + MARGIN, waiter).await.is_err() {
        world.check.latch_stuck(name);
    }
    // Arrivals outlive those who made them, and what is seen of one that was dropped midway.
    arrive(&other, name, terms, "late comer", Some(1 + random.below(4))).await;
    look(&one, name, terms, true).await;
    for process in processes.iter().filter(|process| process.post.number == other.number) {
        process.crash();
    }
    tokio::time::sleep(HALF_AN_ARRIVAL + MARGIN).await;
    look(&one, name, terms, true).await;
    reset(&one, name, terms).await;
    wait(&one, name, terms, Some(MARGIN), None).await;
}

const LONG: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the trace of an arrival that was dropped midway lasts.
const HALF_AN_ARRIVAL: Duration = Duration::from_secs(30);
const MARGIN: Duration = Duration::from_millis(200);

fn start(world: &Arc<World>, processes: &mut Vec<Process>, random: &mut Random) -> Arc<Post> {
    let process = Process::start(processes.len() as u64 + 1, world, random);
    let post = process.post.clone();
    processes.push(process);
    post
}

async fn reset(post: &Post, name: &LockName, terms: Terms) {
    let world = &post.world;
    let left = world.store.inspect(name).await.unwrap_or_default();
    world.check.wiped(name, &left);
    if let Err(error) = terms.latch(post, name).reset().await {
        world.check.latch_failed(name, &error);
    }
}
