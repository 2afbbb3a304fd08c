//! A server that crashes amid commits.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use tenure_core::{Guard, Store, Token};
use tenure_servers::MariadbServer;
use tenure_testkit::counting::{self, Size};
use tokio::task::JoinSet;

use crate::{
    child::Process,
    ledger,
    support::{hold, owner, process, store, take},
};

const CRASHES: u32 = 4;

#[derive(Default)]
struct Seen {
    inside: AtomicBool,
    over: AtomicBool,
    tokens: Mutex<Vec<Token>>,
    turns: AtomicU32,
}

impl Seen {
    async fn work(&self, guard: &Guard) {
        let token = guard.token();
        assert!(!self.inside.swap(true, Ordering::SeqCst), "two are inside");
        {
            let mut tokens = self.tokens.lock().unwrap();
            assert!(tokens.last().is_none_or(|last| *last < token), "{token:?} after {tokens:?}");
            tokens.push(token);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(self.inside.swap(false, Ordering::SeqCst));
        assert!(guard.check().is_ok(), "no lease ends so soon");
        self.turns.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_amid_commits_grants_nothing_twice() {
    // With a log, each commit is one of two parts: a crash can come in between.
    let mut server = MariadbServer::start_with(&["--log-bin=log", "--server-id=1"]);
    let url = server.url();
    let seen = Arc::new(Seen::default());
    let kept = store(&url);
    let token = take(&kept, "kept", owner(7)).await;
    let mut tasks = JoinSet::new();
    for _ in 0..2 {
        let process = process(&url);
        for _ in 0..3 {
            let (process, seen) = (process.clone(), seen.clone());
            tasks.spawn(async move {
                while !seen.over.load(Ordering::Relaxed) {
                    let guard = hold(&process, "lock").await;
                    seen.work(&guard).await;
                    let _ = guard.release().await;
                }
            });
        }
    }
    for round in 1..=CRASHES {
        let before = seen.turns.load(Ordering::Relaxed);
        crate::support::until("they work", async || {
            seen.turns.load(Ordering::Relaxed) > before + 20
        })
        .await;
        server.kill();
        tokio::time::sleep(Duration::from_millis(u64::from(100 * round))).await;
        server.restart();
    }
    let before = seen.turns.load(Ordering::Relaxed);
    crate::support::until("they work", async || seen.turns.load(Ordering::Relaxed) > before + 20)
        .await;
    seen.over.store(true, Ordering::Relaxed);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert_eq!(take(&kept, "kept", owner(7)).await, token, "what was held is held");
    eprintln!("{} turns, {CRASHES} crashes", seen.turns.load(Ordering::Relaxed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_shows_where_the_server_may_have_forgotten_commits() {
    let mut kept = MariadbServer::start();
    let mut lossy = MariadbServer::start_with(&["--innodb-flush-log-at-trx-commit=0"]);
    for (server, changes) in [(&mut kept, false), (&mut lossy, true)] {
        let store = store(&server.url());
        let first = store.incarnation().await.unwrap();
        // The start of a server is told in seconds.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        assert_eq!(store.incarnation().await.unwrap(), first);
        server.restart();
        let mut now = store.incarnation().await;
        while now.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
            now = store.incarnation().await;
        }
        assert_eq!(now.unwrap() != first, changes);
    }
    let one = store(&kept.url()).incarnation().await.unwrap();
    let others = store(&format!("{}?tables=others", kept.url())).incarnation().await.unwrap();
    assert_ne!(one, others, "made anew, they have forgotten everything");
}

#[test]
fn a_server_that_crashes_amid_commits_loses_no_increment_and_accepts_no_stale_one() {
    let size = Size::wanted();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut server = MariadbServer::start_with(&["--max-connections=700"]);
    let url = server.url();
    runtime.block_on(ledger::create(&url));
    let of_child = format!("{url}?connections=1&response_timeout=2s");
    let start = |process: u64| {
        Process::start(&["count", &of_child, &process.to_string(), &size.rounds.to_string()])
    };
    let crash = |_| server.restart();
    let tally = counting::run(size, start, crash, || runtime.block_on(ledger::counted(&url)));
    runtime.block_on(ledger::has_counted(&url, size.all()));
    assert!(tally.refused > 0 && tally.kept > 0, "nobody was late or in doubt: {tally}");
}
