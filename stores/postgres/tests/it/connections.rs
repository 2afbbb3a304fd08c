//! How many connections a process has, and what becomes of those that hang.

use std::{net::SocketAddr, time::Duration};

use tenure_core::{Tenure, store::Severity};
use tenure_servers::{PgBouncer, PostgresServer};
use tenure_testkit::fault::{Proxy, Weather};

use crate::support::{
    PATIENCE, fresh_database, hold, quiet_server, sql, store, tenure, until, waiting,
};

/// How many sessions of tenure this database has.
async fn count(url: &str) -> usize {
    let ours = "select pid from pg_stat_activity where datname = current_database() \
                and application_name = 'tenure'";
    sql(url, ours).await.len()
}

async fn renewed(guard: &tenure_core::Guard) {
    let first = guard.deadline();
    until("it is renewed", async || guard.deadline() != first).await;
}

#[tokio::test]
async fn a_process_with_one_lock_has_two_connections_whether_it_holds_or_waits() {
    let url = fresh_database().await;
    let holder = tenure(&url);
    let guard = hold(&holder, "lock", Duration::from_secs(4)).await;
    renewed(&guard).await;
    // One more, made while a slow machine did not answer, goes again.
    until("two are left", async || count(&url).await <= 2).await;
    let waits: Vec<_> = (0..5).map(|_| tenure(&url)).collect();
    let locks = waits.iter().map(|waits| {
        let lock = waits.mutex("lock").lock().wait(PATIENCE);
        tokio::spawn(async move { lock.await.unwrap().release().await })
    });
    let locks: Vec<_> = locks.collect();
    until("all wait", async || waiting(&holder, "lock").await == 5).await;
    renewed(&guard).await;
    until("two are left of each", async || count(&url).await <= 2 * 6).await;
    guard.release().await.unwrap();
    for lock in locks {
        lock.await.unwrap().unwrap();
    }
    until("two are left of each", async || count(&url).await <= 2 * 6).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_opened_while_answers_were_slow_goes_again_although_a_hold_is_renewed() {
    let url = fresh_database().await;
    let direct: SocketAddr = url.split(['@', '/']).nth(3).unwrap().parse().unwrap();
    let proxy = Proxy::start(direct, 1).unwrap();
    let holder = tenure(&url.replace(&direct.to_string(), &proxy.address().to_string()));
    let guard = hold(&holder, "lock", Duration::from_secs(6)).await;
    renewed(&guard).await;
    until("two are left", async || proxy.connections() <= 2).await;
    proxy.set(Weather { delay: Duration::from_secs(1), ..Weather::default() });
    until("there is one more", async || proxy.connections() > 2).await;
    proxy.set(Weather::default());
    until("two are left", async || proxy.connections() <= 2).await;
    guard.check().unwrap();
}

#[tokio::test]
async fn ten_waiters_of_a_process_share_its_connections() {
    let url = fresh_database().await;
    let (holder, waits) = (tenure(&url), tenure(&url));
    let names: Vec<_> = (0..10).map(|number| format!("lock {number}")).collect();
    let mut guards = Vec::new();
    for name in &names {
        guards.push(hold(&holder, name, Duration::from_secs(30)).await);
    }
    let before = count(&url).await;
    let locks = names.iter().map(|name| {
        let lock = waits.mutex(name.as_str()).lock().wait(PATIENCE);
        tokio::spawn(async move { lock.await.unwrap().release().await })
    });
    let locks: Vec<_> = locks.collect();
    for name in &names {
        until("it waits", async || waiting(&holder, name).await == 1).await;
    }
    let all = count(&url).await - before;
    assert!(all <= 3, "{all} for ten waiters");
    for guard in guards {
        guard.release().await.unwrap();
    }
    for lock in locks {
        lock.await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_have_more_connections_for_as_long_as_they_need_them() {
    let url = fresh_database().await;
    let tenure = tenure(&url);
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..32 {
        let tenure = tenure.clone();
        tasks.spawn(async move {
            loop {
                let lock = tenure.mutex(format!("lock {task}"));
                lock.lock().await.unwrap().release().await.unwrap();
            }
        });
    }
    // Four for calls, one for renewals, and its own.
    until("there are enough", async || count(&url).await == 6).await;
    tasks.shutdown().await;
    until("they are closed", async || count(&url).await <= 2).await;
}

/// Far more processes than the server allows connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_for_which_the_server_has_no_connection_get_their_turn_when_others_end() {
    let server = PostgresServer::with(&["max_connections=24", "shared_buffers=16MB"]);
    hold(&tenure(&server.url()), "lock", Duration::from_secs(5)).await.release().await.unwrap();
    let mut all = tokio::task::JoinSet::new();
    for process in 0..50 {
        let url = server.url();
        all.spawn(async move {
            let tenure = tenure(&url);
            let lock = tenure.mutex(format!("lock {}", process % 2));
            let guard = lock.lock().ttl(Duration::from_secs(40)).wait(PATIENCE * 2).await?;
            guard.release().await.unwrap();
            tenure.shutdown(PATIENCE).await.unwrap();
            Ok::<_, tenure_core::AcquireError>(())
        });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap().unwrap();
    }
}

#[tokio::test]
async fn who_finds_no_connection_free_is_told_what_helps() {
    let server = PostgresServer::with(&["max_connections=6", "superuser_reserved_connections=0"]);
    let mut others = Vec::new();
    while let Ok(other) = crate::support::session(&server.url()).await {
        others.push(other);
    }
    let fault = tenure_postgres::PostgresStore::open(&server.url()).await.unwrap_err();
    assert!(fault.is_transient(), "{fault:#}");
    assert!(
        fault.help().contains("needs two connections") && !fault.help().contains("connections=")
    );
}

/// Whoever gives up before the store does leaves nobody else with a connection that hangs.
#[tokio::test]
async fn a_connection_that_hangs_is_replaced_although_all_who_ask_give_up_early() {
    let url = fresh_database().await;
    let direct: SocketAddr = url.split(['@', '/']).nth(3).unwrap().parse().unwrap();
    let proxy = Proxy::start(direct, 1).unwrap();
    let by_way = url.replace(&direct.to_string(), &proxy.address().to_string());
    let hasty: Tenure = tenure(&format!("{by_way}?listen=no&connections=1&response_timeout=60s"));
    hold(&hasty, "lock", Duration::from_secs(5)).await.release().await.unwrap();
    proxy.hang();
    until("it is granted", async || {
        let lock = hasty.mutex("lock").ttl(Duration::from_secs(5));
        let asked = tokio::time::timeout(Duration::from_millis(300), async { lock.lock().await });
        matches!(asked.await, Ok(Ok(_)))
    })
    .await;
}

/// A busy process has many, and a short lease has no time to try one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_is_kept_although_all_of_many_connections_hang() {
    let url = fresh_database().await;
    let direct: SocketAddr = url.split(['@', '/']).nth(3).unwrap().parse().unwrap();
    let proxy = Proxy::start(direct, 1).unwrap();
    let tenure = tenure(&url.replace(&direct.to_string(), &proxy.address().to_string()));
    let ttl = Duration::from_secs(6);
    let guard = hold(&tenure, "held", ttl).await;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..32 {
        let tenure = tenure.clone();
        tasks.spawn(async move {
            loop {
                let lock = tenure.mutex(format!("lock {task}"));
                drop(lock.lock().await);
            }
        });
    }
    until("there are many", async || proxy.connections() == 6).await;
    tasks.shutdown().await;
    renewed(&guard).await;
    proxy.hang();
    for _ in 0..2 {
        renewed(&guard).await;
    }
    guard.check().unwrap();
}

#[tokio::test]
async fn the_doctor_tells_how_many_there_may_be() {
    let pooler = PgBouncer::start(quiet_server(), 2, &[]);
    let url = fresh_database().await;
    let behind = pooler.url_of(url.rsplit('/').next().unwrap());
    for url in [url, behind] {
        let seen = tenure_core::Store::health(&store(&url)).await.unwrap();
        assert_eq!(seen[0].severity, Severity::Good);
        assert!(seen[0].found.contains("two connections"), "{:?}", seen[0]);
    }
}
