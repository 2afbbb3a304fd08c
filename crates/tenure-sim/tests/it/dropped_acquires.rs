//! An acquire that is dropped, wherever it stands, leaves no hold and no place in the queue.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test tells, and may fail")]

use std::{future::IntoFuture, sync::Arc, time::Duration};

use tenure_core::{MemoryStore, Store, Tenure};
use tenure_proto::rule::{Rule, break_rule};
use tenure_sim::SimClock;
use tenure_testkit::{
    Random,
    fault::{Faults, Kind, Tally, Unreliable},
};
use tokio::task::JoinSet;

const ROUNDS: u64 = 10_000;
const TASKS: u64 = 50;
/// So long that no lease ends by itself here.
const TTL: Duration = Duration::from_secs(600);
/// How late a request and then its answer may come.
const LATE: Duration = Duration::from_millis(4);

/// Drops `acquire` after it was polled `polls` times, or what it gave if it was done before.
async fn dropped_after(polls: u64, acquire: impl IntoFuture, random: &mut Random) -> bool {
    let mut acquire = std::pin::pin!(acquire.into_future());
    for _ in 0..polls {
        if polled(acquire.as_mut()).await {
            return true;
        }
        tokio::time::sleep(random.length(Duration::from_micros(100), LATE)).await;
    }
    false
}

/// Polls once; whether it was done.
async fn polled<F: Future>(mut future: std::pin::Pin<&mut F>) -> bool {
    std::future::poll_fn(|context| std::task::Poll::Ready(future.as_mut().poll(context).is_ready()))
        .await
}

/// What is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Mutex,
    /// Three names, which the store is asked for together first.
    All,
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_dropped_acquires_leave_nothing_behind() {
    drop_acquires(What::Mutex).await;
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_dropped_multi_locks_leave_nothing_behind() {
    drop_acquires(What::All).await;
}

#[tokio::test(start_paused = true)]
#[should_panic = "dropped acquires"]
async fn it_is_noticed_when_dropped_acquires_are_not_taken_back() {
    let _broken = break_rule(Rule::DroppedAcquireTakenBack);
    drop_acquires(What::Mutex).await;
}

#[tokio::test(start_paused = true)]
#[should_panic = "dropped acquires"]
async fn it_is_noticed_when_dropped_multi_locks_are_not_taken_back() {
    let _broken = break_rule(Rule::DroppedAcquireTakenBack);
    drop_acquires(What::All).await;
}

async fn drop_acquires(what: What) {
    let clock = Arc::new(SimClock::true_time());
    let store = MemoryStore::with_clock(clock.clone());
    let tally = Arc::new(Tally::default());
    let faults = Faults {
        request_late: 500,
        reply_late: 500,
        reply_lost: 20,
        request_lost: 20,
        delay: LATE,
        patience: Duration::from_millis(20),
        ..Faults::default()
    };
    let random = Random::new(7);
    let far =
        Unreliable::new(Arc::new(store.clone()), clock.clone(), faults, random, tally.clone());
    let open = |store: Arc<dyn Store>| {
        let (tenure, engine) = Tenure::builder(store).clock(clock.clone()).build_inline();
        tokio::spawn(engine);
        tenure
    };
    let (tenure, rival) = (open(Arc::new(far)), open(Arc::new(store.clone())));
    let mut held = Vec::new();
    for name in 0..5 {
        held.push(rival.mutex(format!("busy/{name}")).ttl(TTL).lock().await.unwrap());
    }
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let tenure = tenure.clone();
        tasks.spawn(async move {
            let (mut random, mut acquired) = (Random::new(task), 0);
            for round in 0..ROUNDS / TASKS {
                let (kind, of) = if round % 2 == 0 { ("free", 20) } else { ("busy", 5) };
                let (name, polls) = (format!("{kind}/{}", (task + round) % of), round % 12);
                let done = if what == What::All {
                    let apart = [1, 2].map(|other| format!("apart/{task}/{other}"));
                    let all = tenure.all(apart.into_iter().chain([name])).ttl(TTL);
                    let all = if round % 3 == 0 { all.fair() } else { all };
                    dropped_after(polls, all.lock(), &mut random).await
                } else {
                    let mutex = tenure.mutex(name).ttl(TTL);
                    let mutex = if round % 3 == 0 { mutex.fair() } else { mutex };
                    dropped_after(polls, mutex.lock(), &mut random).await
                };
                acquired += u64::from(done);
            }
            acquired
        });
    }
    let acquired: u64 = tasks.join_all().await.into_iter().sum();
    drop(held);
    // Calls that came late are taken back by later attempts, which come ever more rarely.
    tokio::time::sleep(TTL / 2).await;
    for (name, left) in store.list("", 100).await.unwrap().names {
        assert_eq!(left.holders, [], "{name} after {ROUNDS} dropped acquires");
    }
    tokio::time::sleep(store.capabilities().position_ttl).await;
    assert_eq!(store.list("", 100).await.unwrap().names, [], "left of dropped acquires");
    let dropped = ROUNDS - acquired;
    println!("{dropped} acquires dropped before they were done, {acquired} just when they were");
    assert!(dropped > ROUNDS / 2 && acquired > ROUNDS / 50, "{acquired} of {ROUNDS}");
    for kind in [Kind::RequestLate, Kind::ReplyLate, Kind::ReplyLost, Kind::RequestLost] {
        assert!(tally.of(kind) > 0, "{kind:?} never happened");
    }
}
