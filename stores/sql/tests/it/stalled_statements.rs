//! A statement that hangs, or comes late, holds up nobody but who asked for it.

use std::{
    slice,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use tenure_core::{
    Store,
    proto::{
        Renewed,
        queue::{Ask, Mode, Released},
    },
    store::Renewal,
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    distant_database::Table,
    grouped_asks::{ask, name},
};

const WAY: Duration = Duration::from_millis(1);

/// Core gives a renewal up after a part of its ttl, and tries again.
#[tokio::test(start_paused = true)]
async fn a_renewal_or_a_release_that_hangs_holds_up_no_renewal() {
    let ttl = Duration::from_secs(3);
    for hangs_by_release in [true, false] {
        let table = Table::new();
        let store = table.client(1, WAY);
        for number in 1..=2 {
            let reads = Ask { mode: Mode::Shared, ttl, ..ask(number) };
            store.acquire(&name(), &reads).await.unwrap();
        }
        let engine = store.for_engine();
        table.hang(1);
        let began = Instant::now();
        let mut beside = JoinSet::new();
        if hangs_by_release {
            let engine = engine.clone();
            beside.spawn(async move {
                let owner = ask(2).owner;
                engine.release(&name(), &owner, Duration::ZERO).await.unwrap_err();
            });
            sleep(WAY * 10).await;
        }
        let hold = Renewal { name: name(), owner: ask(1).owner, ttl };
        let renewed = loop {
            let renewed = engine.renew(slice::from_ref(&hold)).await.pop().unwrap();
            if let Ok(renewed) = renewed {
                break renewed;
            }
            sleep(Duration::from_millis(100)).await;
        };
        assert!(matches!(renewed, Renewed::Renewed { .. }), "{renewed:?}");
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_hangs_holds_up_those_that_come_later_for_a_moment() {
    let table = Table::new();
    let store = table.client(1, WAY);
    table.hang(2);
    let mut all = JoinSet::new();
    for number in 0..10 {
        let store = store.clone();
        all.spawn(async move {
            sleep(Duration::from_millis(100) * u32::from(number)).await;
            let began = Instant::now();
            let answered = store.acquire(&name(), &ask(number)).await.is_ok();
            (answered, began.elapsed())
        });
    }
    let all = all.join_all().await;
    let answered = |(answered, took): &&(bool, Duration)| *answered && took.as_millis() < 1_200;
    // The others came while the first two were not known to hang.
    assert!(all.iter().filter(answered).count() >= 3, "{all:?}");
    // Nobody else is in doubt.
    assert!(all.iter().filter(|(answered, _)| !answered).count() <= 7, "{all:?}");
}

/// Those who come next have turns of their own.
#[tokio::test(start_paused = true)]
async fn reservations_that_came_late_starve_nobody_who_comes_after_them() {
    let table = Table::with_commits_of(Duration::from_micros(300));
    table.client(1, WAY).acquire(&name(), &ask(0)).await.unwrap();
    table.stall(1_000_000);
    let mut all = JoinSet::new();
    for near in 1..=8_u16 {
        let store = table.client(u8::try_from(near).unwrap(), WAY / 5);
        all.spawn(async move {
            loop {
                let ask = ask(near);
                let _ = store.acquire(&name(), &ask).await;
                let _ = store.release(&name(), &ask.owner, Duration::ZERO).await;
            }
        });
    }
    let (far, answered) = (table.client(99, WAY * 20), Arc::new(AtomicU32::new(0)));
    for task in 0..20_u16 {
        let (far, answered) = (far.clone(), answered.clone());
        all.spawn(async move {
            sleep(Duration::from_millis(250) * u32::from(task)).await;
            for round in 1.. {
                let asked = far.acquire(&name(), &ask(task * 100 + round + 100)).await;
                answered.fetch_add(asked.is_ok().into(), Relaxed);
                sleep(Duration::from_millis(300)).await;
            }
        });
    }
    sleep(Duration::from_secs(20)).await;
    table.stall(0);
    let before = answered.load(Relaxed);
    sleep(Duration::from_secs(10)).await;
    all.abort_all();
    assert!(answered.load(Relaxed) >= before + 5, "{before} + {}", answered.load(Relaxed) - before);
}

/// What is taken back may be under way still.
#[tokio::test(start_paused = true)]
async fn what_a_caller_has_left_is_taken_back_once_it_is_written() {
    for leaves_after in 1..30 {
        let table = Table::with_commits_of(Duration::from_millis(20));
        let store = table.client(1, WAY);
        // So that it is not asked for by one statement alone.
        store.acquire(&name(), &ask(0)).await.unwrap();
        store.release(&name(), &ask(0).owner, Duration::ZERO).await.unwrap();
        let asked = ask(1);
        let left = Duration::from_millis(leaves_after);
        let ended = timeout(left, store.acquire(&name(), &asked)).await;
        let owner = asked.owner;
        let released = store.for_engine().release(&name(), &owner, Duration::ZERO).await.unwrap();
        if ended.is_ok() {
            assert_eq!(released, Released::Released);
        }
        sleep(Duration::from_secs(1)).await;
        let seen = store.inspect(&name()).await.unwrap();
        assert!(!seen.is_held() && seen.waiters.is_empty(), "after {leaves_after} ms: {seen:?}");
    }
}
