//! Servers that crash, and servers that hang.

use std::time::Duration;

use tenure_core::{AcquireError, LostReason};
use tenure_servers::PostgresServer;
use tenure_testkit::counting::{self, Size};

use crate::{
    child::Process,
    ledger,
    support::{hold, lost, tenure, until},
};

#[test]
fn a_server_that_crashes_in_the_middle_of_commits_loses_no_increment_and_accepts_no_stale_one() {
    let size = Size::wanted();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut server = PostgresServer::with(&["max_connections=700", "shared_buffers=16MB"]);
    let url = server.url();
    runtime.block_on(ledger::create(&url));
    let of_child = format!("{url}?connections=1&response_timeout=2s");
    let start = |process: u64| {
        Process::start(&["count", &of_child, &process.to_string(), &size.rounds.to_string()])
    };
    let crash = |number| {
        if number == 2 {
            server.end();
        } else {
            server.kill();
        }
        server.restart();
    };
    let tally = counting::run(size, start, crash, || runtime.block_on(ledger::counted(&url)));
    runtime.block_on(ledger::has_counted(&url, size.all()));
    assert!(tally.refused > 0 && tally.kept > 0, "nobody was late or in doubt: {tally}");
}

#[tokio::test]
async fn a_lock_is_kept_through_a_crash_of_the_server_by_who_holds_it_and_who_waits_for_it() {
    let mut server = PostgresServer::start();
    let (one, other) = (tenure(&server.url()), tenure(&server.url()));
    let held = hold(&one, "lock", Duration::from_secs(30)).await;
    let token = held.token();
    let waits =
        tokio::spawn(async move { hold(&other, "lock", Duration::from_secs(30)).await.token() });
    until("it waits", async || crate::support::waiting(&one, "lock").await == 1).await;
    server.kill();
    server.restart();
    let third = tenure(&server.url());
    assert!(third.mutex("lock").try_lock().await.unwrap().is_none(), "it was forgotten");
    assert!(!waits.is_finished());
    held.check().unwrap();
    until("it can be released", async || {
        one.store().inspect(&crate::support::name("lock")).await.is_ok()
    })
    .await;
    let _ = held.release().await;
    assert!(waits.await.unwrap() > token);
}

#[tokio::test]
async fn a_holder_loses_at_its_deadline_while_the_server_hangs_and_nothing_late_does_harm() {
    const TTL: Duration = Duration::from_millis(1_500);
    let server = PostgresServer::start();
    let url = format!("{}?response_timeout=500ms&connect_timeout=500ms", server.url());
    let (one, other) = (tenure(&url), tenure(&url));
    let held = hold(&one, "lock", TTL).await;
    let free = hold(&other, "free", TTL).await;
    let free_token = free.token();
    free.release().await.unwrap();
    let frozen = server.freeze();
    // Sent now, carried out once it goes on.
    let late = other.mutex("free").try_lock().ttl(Duration::from_secs(60)).await.unwrap_err();
    assert!(matches!(late, AcquireError::InDoubt { .. }), "{late}");
    assert_eq!(lost(&held).await, LostReason::Deadline);
    drop(frozen);
    // What was in doubt is taken back, long before its lease ends.
    let third = tenure(&url);
    let next = hold(&third, "free", TTL).await;
    assert!(next.token() > free_token);
    let lock = hold(&third, "lock", TTL).await;
    assert!(lock.token() > held.token());
    drop(held);
    // Nor does anything that was under way touch the next holders.
    tokio::time::sleep(TTL * 2).await;
    next.check().unwrap();
    lock.check().unwrap();
}

#[tokio::test]
async fn a_server_that_hangs_costs_no_more_connections_than_a_store_has() {
    let server = PostgresServer::start();
    let url =
        format!("{}?response_timeout=300ms&connect_timeout=300ms&connections=2", server.url());
    let one = tenure(&url);
    drop(hold(&one, "lock", Duration::from_secs(2)).await);
    let frozen = server.freeze();
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let one = one.clone();
            tokio::spawn(async move {
                let lock = one.mutex(format!("lock {number}"));
                for _ in 0..3 {
                    assert!(lock.try_lock().await.is_err());
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let own = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let to_server = format!("{:04X}", server.port());
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let inodes: Vec<_> = table
        .lines()
        .filter(|line| line.split_whitespace().nth(2).is_some_and(|to| to.ends_with(&to_server)))
        .filter_map(|line| line.split_whitespace().nth(9))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let open = own.filter(|fd| {
        std::fs::read_link(fd.path())
            .is_ok_and(|to| inodes.iter().any(|one| to.as_os_str() == one.as_str()))
    });
    let open = open.count();
    assert!(open <= 8, "{open} connections to a server that hangs");
    drop(frozen);
    until("it answers", async || one.mutex("lock").try_lock().await.is_ok()).await;
}
