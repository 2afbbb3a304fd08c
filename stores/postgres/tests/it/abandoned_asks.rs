//! What is asked for waits behind a lock, and whoever asked is gone by the time that it is free.

use std::time::{Duration, Instant};

use tenure_servers::PgBouncer;

use crate::{
    child::Process,
    support::{
        PATIENCE, fresh_database, hold, is_at_least, quiet_server, session, sql, tenure, told,
        until,
    },
};

const LONG: Duration = Duration::from_secs(3_600);

/// What makes each grant take so many seconds.
fn slow(seconds: u32) -> String {
    format!(
        "create function tenure.slow() returns trigger language plpgsql as \
         'begin perform pg_sleep({seconds}); return new; end'; \
         create trigger slow before update on tenure.locks for each row when (new.owner is not null) \
         execute function tenure.slow()"
    )
}

const SLEEPS: &str = "select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";

async fn waits(url: &str) -> bool {
    let waits = "select pid from pg_stat_activity where datname = current_database() \
                 and query like '%tenure.locks%' and wait_event_type = 'Lock'";
    !sql(url, waits).await.is_empty()
}

async fn is_held(url: &str) -> bool {
    !sql(url, "select name from tenure.locks where owner is not null").await.is_empty()
}

#[tokio::test]
async fn what_a_process_asked_for_that_was_killed_is_not_granted_to_it_later() {
    let pooler = PgBouncer::start(quiet_server(), 4, &[]);
    for is_pooled in [false, true] {
        let direct = fresh_database().await;
        hold(&tenure(&direct), "lock", LONG).await.release().await.unwrap();
        let url = match is_pooled {
            true => pooler.url_of(direct.rsplit('/').next().unwrap()),
            false => direct.clone(),
        };
        let stranger = session(&direct).await.unwrap();
        told(&stranger, "begin; select 1 from tenure.locks for update").await.unwrap();
        let url = format!("{url}?listen=no&response_timeout=40s");
        let mut asks = Process::start(&["hold", &url, "3600000"]);
        until("it waits", async || waits(&direct).await).await;
        asks.kill();
        let killed = Instant::now();
        until("it waits no more", async || !waits(&direct).await).await;
        let waited = killed.elapsed();
        told(&stranger, "rollback").await.unwrap();
        assert!(waited < Duration::from_secs(10), "it would have been granted after {waited:?}");
        assert!(!is_held(&direct).await, "nobody is there who holds it");
        let next = tenure(&direct).mutex("lock").lock().wait(PATIENCE).await;
        next.unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn a_process_that_gives_up_and_ends_in_order_leaves_nothing_behind() {
    for round in 0..3 {
        let url = fresh_database().await;
        hold(&tenure(&url), "lock", LONG).await.release().await.unwrap();
        let stranger = session(&url).await.unwrap();
        told(&stranger, "begin; select 1 from tenure.locks for update").await.unwrap();
        let mut leaves = Process::start(&["leave", &format!("{url}?response_timeout=40s")]);
        let said = tokio::task::spawn_blocking(move || leaves.says()).await.unwrap();
        assert_eq!(said.as_deref(), Some("left"), "round {round}");
        told(&stranger, "rollback").await.unwrap();
        until("it waits no more", async || !waits(&url).await).await;
        assert!(!is_held(&url).await, "round {round}: nobody is there who holds it");
    }
}

/// Longer than what a lock keeps from its effect.
#[tokio::test]
async fn a_shutdown_waits_for_what_was_asked_for_and_given_up_however_long_it_takes() {
    let url = fresh_database().await;
    hold(&tenure(&url), "lock", LONG).await.release().await.unwrap();
    sql(&url, &slow(2)).await;
    let leaves = tenure(&format!("{url}?response_timeout=40s"));
    let lock = leaves.mutex("lock").ttl(LONG);
    let asked = tokio::spawn(async move { lock.lock().await.map(drop) });
    until("it is under way", async || !sql(&url, SLEEPS).await.is_empty()).await;
    asked.abort();
    leaves.shutdown(PATIENCE).await.unwrap();
    assert!(sql(&url, SLEEPS).await.is_empty(), "it is under way still");
    assert!(!is_held(&url).await, "nobody is there who holds it");
}

/// It does not tell the server that a client has left.
#[tokio::test]
async fn behind_a_pooler_a_shutdown_waits_for_what_was_asked_for_and_given_up_as_well() {
    let pooler = PgBouncer::start(quiet_server(), 4, &[]);
    for timeout in ["40s", "1500ms"] {
        let direct = fresh_database().await;
        hold(&tenure(&direct), "lock", LONG).await.release().await.unwrap();
        sql(&direct, &slow(2)).await;
        let url = pooler.url_of(direct.rsplit('/').next().unwrap());
        let leaves = tenure(&format!("{url}?listen=no&response_timeout={timeout}"));
        let lock = leaves.mutex("lock").ttl(LONG);
        let asked = tokio::spawn(async move { lock.try_lock().await.map(drop) });
        until("it is under way", async || !sql(&direct, SLEEPS).await.is_empty()).await;
        if timeout == "40s" {
            asked.abort();
        } else {
            asked.await.unwrap().expect_err("it takes longer");
        }
        leaves.shutdown(PATIENCE).await.unwrap();
        assert!(sql(&direct, SLEEPS).await.is_empty(), "{timeout}: it is under way still");
        assert!(!is_held(&direct).await, "{timeout}: nobody is there who holds it");
    }
}

/// It need not be a lock that it waits for.
#[tokio::test]
async fn what_takes_long_for_a_process_that_was_killed_ends_with_it() {
    let url = fresh_database().await;
    if !is_at_least(14, &url, "a server that looks whether its client lives").await {
        return;
    }
    hold(&tenure(&url), "lock", LONG).await.release().await.unwrap();
    sql(&url, &slow(30)).await;
    let mut asks = Process::start(&["hold", &format!("{url}?response_timeout=60s"), "3600000"]);
    until("it is under way", async || !sql(&url, SLEEPS).await.is_empty()).await;
    asks.kill();
    let killed = Instant::now();
    until("it is over", async || sql(&url, SLEEPS).await.is_empty()).await;
    assert!(killed.elapsed() < Duration::from_secs(15), "{:?}", killed.elapsed());
    assert!(!is_held(&url).await, "nobody is there who holds it");
}
