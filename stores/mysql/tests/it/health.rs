//! What a look at the server finds.

use tenure_core::{Store, proto::queue::Intent, store::Severity};
use tenure_servers::MariadbServer;

use crate::support::{ask, name, outside, owner, run, store};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_forgets_what_it_committed_is_found() {
    let server = MariadbServer::start_with(&["--log-bin=log", "--sync-binlog=1", "--server-id=1"]);
    let mut conn = outside(&server).await;
    let store = store(&server.url());
    let severity = async || {
        let found = store.health().await.unwrap();
        found.iter().find(|diagnostic| diagnostic.what == "persistence").unwrap().severity
    };
    assert_eq!(severity().await, Severity::Good);
    run(&mut conn, "set global sync_binlog = 0").await;
    assert_eq!(severity().await, Severity::Warning);
    for (flush, expected) in [(2, Severity::Bad), (0, Severity::Bad), (1, Severity::Warning)] {
        run(&mut conn, &format!("set global innodb_flush_log_at_trx_commit = {flush}")).await;
        assert_eq!(severity().await, expected, "{flush}");
    }
}

/// By the second one holds are renewed.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_have_one_connection_alone_is_found() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    run(&mut conn, "create user few identified by 's3ntinel'").await;
    run(&mut conn, "grant all on tenure.* to few").await;
    let url = server.url().replace("root@", "few:s3ntinel@");
    let url = format!("{url}?get_server_public_key=yes");
    let found = async || store(&url).health().await.unwrap().remove(0);
    assert_eq!(found().await.severity, Severity::Good);
    run(&mut conn, "alter user few with max_user_connections 1").await;
    let seen = found().await;
    assert_eq!(seen.severity, Severity::Bad, "{seen:?}");
    assert!(seen.help.as_ref().unwrap().contains("max_user_connections"), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_databases_of_a_server_are_one_server_and_another_server_is_another() {
    let (one, other) = (MariadbServer::start(), MariadbServer::start());
    run(&mut outside(&one).await, "create database second").await;
    let server = async |url: &str| store(url).server().await.unwrap().unwrap();
    let first = server(&one.url()).await;
    let (host, database) =
        one.url().rsplit_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let settings = database.split_once('?').map_or(String::new(), |(_, more)| format!("?{more}"));
    assert_eq!(first, server(&format!("{host}/second{settings}")).await);
    assert_eq!(first, server(&one.url().replace("127.0.0.1", "localhost")).await);
    assert_ne!(first, server(&other.url()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_keeps_what_a_frozen_holder_locked_is_found() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let store = store(&server.url());
    let found = async || {
        let found = store.health().await.unwrap();
        found.into_iter().find(|diagnostic| diagnostic.what == "transactions").unwrap()
    };
    assert_eq!(found().await.severity, Severity::Warning);
    let name = if server.is_mysql() { "wait_timeout" } else { "idle_transaction_timeout" };
    run(&mut conn, &format!("set global {name} = 10")).await;
    let seen = found().await;
    assert_eq!(seen.severity, Severity::Good);
    assert!(seen.found.contains(&format!("{name} is 10")), "{}", seen.found);
    if !server.is_mysql() {
        // For those that have written, or for those that have not.
        for (writes, others) in [(300, 10), (10, 0)] {
            let written = format!("idle_write_transaction_timeout = {writes}");
            run(&mut conn, &format!("set global {written}, global {name} = {others}")).await;
            assert_eq!(found().await.severity, Severity::Warning, "{written}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_wait_for_its_disk_is_found() {
    for (option, severity) in [
        ("--innodb-doublewrite=OFF", Severity::Warning),
        ("--innodb-flush-method=nosync", Severity::Bad),
    ] {
        let server = MariadbServer::start_with(&[option]);
        if server.is_mysql() && option.contains("nosync") {
            continue;
        }
        let found = store(&server.url()).health().await.unwrap();
        let kept = found.iter().find(|diagnostic| diagnostic.what == "persistence").unwrap();
        assert_eq!((kept.severity, kept.promise), (severity, Some("S1")), "{kept:?}");
    }
}

/// Who may not see the sessions of others sees no replica.
#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_a_user_may_not_see_are_said_not_to_be_looked_at() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    run(&mut conn, "create user app identified by 'secret'").await;
    run(&mut conn, "grant all on tenure.* to app").await;
    let replicas = async |url: String| {
        let found = store(&url).health().await.unwrap();
        found.into_iter().find(|diagnostic| diagnostic.what == "replicas").unwrap()
    };
    assert_eq!(replicas(server.url()).await.severity, Severity::Good);
    // MySQL takes a password over a connection in the clear only when it is encrypted with its key.
    let key = if server.is_mysql() { "?get_server_public_key=yes" } else { "" };
    let app = server.url().replace("root@", "app:secret@") + key;
    let blind = replicas(app.clone()).await;
    assert_eq!((blind.severity, blind.promise), (Severity::Warning, Some("S1")), "{blind:?}");
    run(&mut conn, "grant process on *.* to app").await;
    assert_eq!(replicas(app).await.severity, Severity::Good);
}

/// Where the log says which statements were run, such a transaction cannot be written into it.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_statements_is_named_as_the_reason() {
    let server =
        MariadbServer::start_with(&["--log-bin=log", "--server-id=1", "--binlog-format=STATEMENT"]);
    let fault = store(&server.url()).evict(&name("lock")).await;
    let all = format!("{fault:?} {:?}", store(&server.url()).health().await);
    assert!(all.contains("binlog_format"), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_too_little_at_once_is_found() {
    for (size, severity) in [("1M", Some(Severity::Warning)), ("16M", None)] {
        let server = MariadbServer::start_with(&[&format!("--max-allowed-packet={size}")]);
        let found = store(&server.url()).health().await.unwrap();
        let packets = found.iter().find(|diagnostic| diagnostic.what == "packets");
        assert_eq!(packets.map(|diagnostic| diagnostic.severity), severity, "{packets:?}");
    }
}

/// Whoever commits is not told that the wait for a replica was given up.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_gave_up_waiting_for_its_replicas_is_found() {
    let server = MariadbServer::start_with(&["--log-bin=log", "--server-id=1"]);
    let mut conn = outside(&server).await;
    let role = if server.is_mysql() {
        run(&mut conn, "install plugin rpl_semi_sync_source soname 'semisync_source.so'").await;
        "source"
    } else {
        "master"
    };
    let store = store(&server.url());
    run(&mut conn, &format!("set global rpl_semi_sync_{role}_timeout = 10")).await;
    run(&mut conn, &format!("set global rpl_semi_sync_{role}_enabled = on")).await;
    let ask = ask(owner(1), Intent::Try, std::time::Duration::from_secs(60));
    store.acquire(&name("lock"), &ask).await.unwrap();
    let found = store.health().await.unwrap();
    let found = found.into_iter().find(|diagnostic| diagnostic.what == "replicas").unwrap();
    assert_eq!(found.severity, Severity::Warning);
    assert!(found.found.contains("after 10 ms") && found.found.contains("alone"), "{found:?}");
    assert!(found.help.unwrap().contains(&format!("rpl_semi_sync_{role}_timeout")));
}
