//! What callers of one process want of one name at the same time is written together.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    FaultKind, LockName, Owner, Store,
    proto::queue::{Answer, Ask, Intent, Kind, Mode, Order, Released},
};
use tenure_sql::SqlStore;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::distant_database::{Distant, Table};

const WAY: Duration = Duration::from_millis(1);

pub(crate) fn name() -> LockName {
    LockName::new("hot").unwrap()
}

pub(crate) fn ask(number: u16) -> Ask {
    let mut owner = [0; 16];
    owner[..2].copy_from_slice(&number.to_be_bytes());
    Ask {
        owner: Owner::from_bytes(owner),
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        order: Order::Fifo,
        intent: Intent::Wait { position: None },
        ttl: Duration::from_secs(60),
        label: "".into(),
    }
}

/// Asks of so many at once, each by a task of its own; what each was answered.
fn asked(store: &SqlStore<Distant>, numbers: std::ops::Range<u16>) -> JoinSet<(u16, Answer)> {
    let mut asked = JoinSet::new();
    for number in numbers {
        let store = store.clone();
        asked.spawn(async move { (number, store.acquire(&name(), &ask(number)).await.unwrap()) });
    }
    asked
}

#[tokio::test(start_paused = true)]
async fn a_hundred_that_come_at_once_are_written_by_a_few_statements() {
    let table = Table::with_commits_of(Duration::from_millis(2));
    let store = table.client(1, WAY);
    let all = asked(&store, 0..200).join_all().await;
    let granted = all.iter().filter(|(_, answer)| matches!(answer, Answer::Granted { .. }));
    assert_eq!(granted.count(), 1);
    let mut ahead: Vec<_> = all
        .iter()
        .filter_map(|(_, answer)| match answer {
            Answer::Busy { ahead, position: Some(_), .. } => Some(*ahead),
            _ => None,
        })
        .collect();
    ahead.sort_unstable();
    ahead.dedup();
    assert_eq!(ahead.len(), 199, "each has a place of its own");
    assert!(table.writes() <= 10, "{}", table.writes());
}

/// The line moves as fast as if nobody came: by less than one lost try for each write of those who let go.
#[tokio::test(start_paused = true)]
async fn those_who_come_do_not_keep_the_line_from_moving() {
    let table = Table::with_commits_of(Duration::from_millis(2));
    let holder = table.client(1, WAY);
    holder.acquire(&name(), &ask(0)).await.unwrap();
    let mut joining = JoinSet::new();
    for process in 1..=10_u8 {
        let store = table.client(1 + process, WAY);
        let first = u16::from(process) * 100;
        joining.spawn(async move { asked(&store, first..first + 40).join_all().await });
    }
    sleep(Duration::from_millis(5)).await;
    let began = Instant::now();
    let released = holder.release(&name(), &ask(0).owner, Duration::ZERO).await.unwrap();
    assert_eq!(released, Released::Released);
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
    joining.join_all().await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(table.writes() < 200, "{}", table.writes());
}

#[tokio::test(start_paused = true)]
async fn the_first_to_come_may_leave_and_the_others_are_answered() {
    let table = Table::with_commits_of(Duration::from_millis(2));
    let store = table.client(1, WAY);
    for leaves_after in 0..12 {
        let first = 1_000 * (leaves_after + 1);
        let leaver = asked(&store, first..first + 1);
        tokio::task::yield_now().await;
        let others = asked(&store, first + 1..first + 20);
        sleep(Duration::from_millis(leaves_after.into())).await;
        drop(leaver);
        assert_eq!(others.join_all().await.len(), 19);
        for number in first..first + 20 {
            let owner = ask(number).owner;
            store.release(&name(), &owner, Duration::ZERO).await.unwrap();
        }
        let left = store.inspect(&name()).await.unwrap();
        assert!(!left.is_held() && left.waiters.is_empty(), "{left:?}");
    }
}

/// Nothing is begun for a caller that has gone.
#[tokio::test(start_paused = true)]
async fn one_that_leaves_before_its_turn_gets_no_place() {
    let table = Table::with_commits_of(Duration::from_millis(20));
    let store = table.client(1, WAY);
    let first = asked(&store, 0..1);
    sleep(Duration::from_millis(5)).await;
    let second = asked(&store, 1..2);
    sleep(Duration::from_millis(5)).await;
    drop(second);
    first.join_all().await;
    sleep(Duration::from_secs(1)).await;
    let seen = store.inspect(&name()).await.unwrap();
    assert!(seen.is_held() && seen.waiters.is_empty(), "{seen:?}");
}

/// Nobody knows what became of it, and nobody waits for those who are gone.
#[tokio::test(start_paused = true)]
async fn where_the_thread_that_writes_has_ended_each_call_is_in_doubt() {
    let table = Table::new();
    let store = Arc::new(table.client(1, WAY));
    table.end_early(true);
    for _ in 0..2 {
        let asks = ask(1);
        let asked = timeout(Duration::from_secs(60), store.acquire(&name(), &asks)).await;
        let fault = asked.unwrap().unwrap_err();
        assert_eq!(fault.kind(), FaultKind::InDoubt);
    }
    table.end_early(false);
    assert_eq!(asked(&store, 0..5).join_all().await.len(), 5);
}

/// A refusal changes nothing, so whoever only tries waits for no row that somebody has locked.
#[tokio::test(start_paused = true)]
async fn one_that_only_tries_does_not_wait_for_those_who_write() {
    let table = Table::new();
    let store = table.client(1, WAY);
    let locked = LockName::new("locked").unwrap();
    store.acquire(&locked, &ask(0)).await.unwrap();
    table.lock_rows(true);
    let (waits, name) = (store.clone(), locked.clone());
    let waiter = tokio::spawn(async move { waits.acquire(&name, &ask(1)).await });
    sleep(Duration::from_millis(50)).await;
    for number in 2..5 {
        let tries = Ask { intent: Intent::Try, ..ask(number) };
        let answer = timeout(Duration::from_millis(50), store.acquire(&locked, &tries)).await;
        let answer = answer.unwrap().unwrap();
        assert!(matches!(answer, Answer::Busy { position: None, .. }), "{answer:?}");
    }
    waiter.abort();
}
