//! Commits that wait for a replica, and somebody who ends that wait.

use std::time::Duration;

use tenure_core::{
    AcquireError, FaultKind, LostReason, Store,
    proto::{
        Renewed,
        queue::{Ask, Kind, Mode},
    },
    store::{Renewal, Severity},
};
use tenure_servers::{PgBouncer, PostgresServer};

use crate::support::{hold, lost, name, sql, store, tenure, tries, until};

/// Whether the commits of this server wait for a replica, which there is none of.
async fn wait_for_replicas(server: &PostgresServer, wait: bool) {
    let names = if wait { "'a_replica'" } else { "''" };
    sql(&server.url(), &format!("alter system set synchronous_standby_names = {names}")).await;
    sql(&server.url(), "select pg_reload_conf()").await;
    let now = if wait { "a_replica" } else { "" };
    until("it is set", async || {
        sql(&server.url(), "show synchronous_standby_names").await == [now]
    })
    .await;
}

/// Ends such a wait of a session of tenure.
async fn end_wait(server: &PostgresServer) {
    let end = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'";
    until("somebody waits", async || !sql(&server.url(), end).await.is_empty()).await;
}

fn server() -> PostgresServer {
    PostgresServer::with(&["shared_buffers=16MB"])
}

#[tokio::test]
async fn a_grant_whose_wait_for_a_replica_is_ended_is_in_doubt() {
    let server = server();
    let pooler = PgBouncer::start(&server, 2, &[]);
    for url in [server.url(), format!("{}?listen=no", pooler.url_of("tenure"))] {
        let tenure = tenure(&url);
        hold(&tenure, "lock", Duration::from_secs(60)).await.release().await.unwrap();
        wait_for_replicas(&server, true).await;
        let asks = tenure.mutex("lock").ttl(Duration::from_secs(60)).try_lock();
        let asks = tokio::spawn(async move { asks.await.map(|guard| guard.is_some()) });
        end_wait(&server).await;
        let doubt = asks.await.unwrap().unwrap_err();
        assert!(matches!(doubt, AcquireError::InDoubt { .. }), "{doubt}");
        assert!(format!("{doubt:#}").contains("replica"), "{doubt}");
        wait_for_replicas(&server, false).await;
        // It is taken back.
        hold(&tenure, "lock", Duration::from_secs(5)).await.release().await.unwrap();
    }
}

/// What was granted so is there on this server, and may be nowhere else.
#[tokio::test]
async fn who_asks_again_after_such_a_grant_is_not_told_that_it_holds_by_a_look() {
    let server = server();
    let store = store(&format!("{}?response_timeout=30s", server.url()));
    let reader = |owner| Ask { mode: Mode::Shared, kind: Kind::ReadWrite, ..tries(owner) };
    for asks in
        [vec![(name("read"), reader(1))], ["a", "b"].map(|lock| (name(lock), tries(2))).into()]
    {
        store.inspect(&name("read")).await.unwrap();
        wait_for_replicas(&server, true).await;
        let ask = || {
            let (store, asks) = (store.clone(), asks.clone());
            tokio::spawn(async move {
                match &asks[..] {
                    [(name, ask)] => store.acquire(name, ask).await.map(drop),
                    asks => store.acquire_together(asks).await.map(drop),
                }
            })
        };
        let first = ask();
        end_wait(&server).await;
        assert_eq!(first.await.unwrap().unwrap_err().kind(), FaultKind::InDoubt);
        let again = ask();
        let waits = "select pid from pg_stat_activity where wait_event = 'SyncRep'";
        until("that waits, too", async || {
            assert!(!again.is_finished(), "it was told so by a look");
            !sql(&server.url(), waits).await.is_empty()
        })
        .await;
        wait_for_replicas(&server, false).await;
        again.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_renewal_and_a_release_whose_waits_for_a_replica_are_ended_are_in_doubt() {
    let server = server();
    let store = store(&format!("{}?response_timeout=30s", server.url()));
    store.acquire(&name("lock"), &tries(1)).await.unwrap();
    wait_for_replicas(&server, true).await;
    let ttl = Duration::from_secs(60);
    let renewal = Renewal { name: name("lock"), owner: tries(1).owner, ttl };
    // On a busy machine the session of the store hears late that it is to wait, and renews without it until then.
    until("a renewal waits, and is in doubt", async || {
        let (renews, holds) = (store.clone(), [renewal.clone()]);
        let renewed = tokio::spawn(async move { renews.renew(&holds).await.remove(0) });
        // Each way that it takes.
        until("it is told", async || {
            end_wait_if_any(&server).await;
            renewed.is_finished()
        })
        .await;
        match renewed.await.unwrap() {
            Ok(Renewed::Renewed { .. }) => false,
            renewed => renewed.unwrap_err().kind() == FaultKind::InDoubt,
        }
    })
    .await;
    let releases = store.clone();
    let released = tokio::spawn(async move {
        releases.release(&name("lock"), &tries(1).owner, Duration::ZERO).await
    });
    end_wait(&server).await;
    assert_eq!(released.await.unwrap().unwrap_err().kind(), FaultKind::InDoubt);
}

async fn end_wait_if_any(server: &PostgresServer) {
    let end = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'";
    sql(&server.url(), end).await;
}

#[tokio::test]
async fn a_hold_whose_renewals_reach_no_replica_ends_at_its_deadline() {
    let server = server();
    let holder = tenure(&server.url());
    let guard = hold(&holder, "lock", Duration::from_secs(2)).await;
    wait_for_replicas(&server, true).await;
    let ends = async {
        loop {
            end_wait_if_any(&server).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let reason = tokio::select! {
        reason = lost(&guard) => reason,
        () = ends => unreachable!(),
    };
    assert_eq!(reason, LostReason::Deadline);
    wait_for_replicas(&server, false).await;
}

#[tokio::test]
async fn the_doctor_says_whether_a_replica_answers_that_commits_wait_for() {
    let server = server();
    let store = store(&server.url());
    store.inspect(&name("lock")).await.unwrap();
    wait_for_replicas(&server, true).await;
    let found = store.health().await.unwrap();
    let found = found.iter().find(|diagnostic| diagnostic.what == "replicas").unwrap();
    assert_eq!(found.severity, Severity::Warning, "{found:?}");
    let replica = server.replica();
    sql(&server.url(), "alter system set synchronous_standby_names = '*'").await;
    sql(&server.url(), "select pg_reload_conf()").await;
    until("it answers", async || {
        let found = store.health().await.unwrap();
        found.iter().any(|diagnostic| {
            diagnostic.what == "replicas" && diagnostic.severity == Severity::Good
        })
    })
    .await;
    let replicas = async || {
        let found = store.health().await.unwrap();
        found.into_iter().find(|diagnostic| diagnostic.what == "replicas").unwrap()
    };
    // Commits wait for one of them.
    let second = server.replica();
    until("the second one is seen", async || replicas().await.severity == Severity::Warning).await;
    assert!(replicas().await.found.contains("for 1 of them"), "{:?}", replicas().await);
    drop(second);
    until("it is gone", async || replicas().await.severity == Severity::Good).await;
    drop(replica);
}

#[tokio::test]
async fn a_replica_that_is_away_is_not_taken_for_none() {
    let server = server();
    let store = store(&server.url());
    let replicas = async || {
        let found = store.health().await.unwrap();
        found.into_iter().find(|diagnostic| diagnostic.what == "replicas").unwrap()
    };
    assert_eq!(replicas().await.severity, Severity::Good);
    sql(&server.url(), "select pg_create_physical_replication_slot('away')").await;
    let away = replicas().await;
    assert_eq!((away.severity, away.promise), (Severity::Warning, Some("S1")), "{away:?}");
}
