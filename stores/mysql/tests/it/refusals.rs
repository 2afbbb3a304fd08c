//! What is refused says why, and what a user may do that has no more than it needs.

use std::time::Duration;

use mysql_async::prelude::Queryable;
use tenure_core::{
    FaultKind, Store,
    history::Retention,
    store::{HistoryWrite, Severity, SlotsWrite, SlotsWritten},
};
use tenure_mysql::{MysqlStore, names_in_use, schema};
use tenure_servers::MariadbServer;

use crate::support::{LONG, ask, name, outside, owner, run, store, take};
use tenure_core::proto::queue::Intent;

async fn user(server: &MariadbServer, grants: &[&str]) -> String {
    let mut conn = outside(server).await;
    run(&mut conn, "create user locks identified by 's3ntinel'").await;
    for grant in grants {
        run(&mut conn, &format!("grant {grant} to locks")).await;
    }
    format!("{}?get_server_public_key=yes", server.url().replace("root@", "locks:s3ntinel@"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_writes_is_named_as_the_reason() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let store = store(&user(&server, &["all on tenure.*"]).await);
    take(&store, "lock", owner(1)).await;
    run(&mut conn, "set global read_only = 1").await;
    let fault = store.acquire(&name("other"), &ask(owner(2), Intent::Try, LONG)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    assert!(fault.message().contains("takes no writes"), "{fault:#}");
    let found = store.health().await.unwrap();
    assert!(
        found
            .iter()
            .any(|diagnostic| diagnostic.what == "primary" && diagnostic.severity == Severity::Bad)
    );
    // Of several servers the first that takes writes is used.
    let primary = MariadbServer::start();
    user(&primary, &["all on tenure.*"]).await;
    let hosts = |server: &MariadbServer| server.url().split(['@', '/']).nth(3).unwrap().to_owned();
    let url = format!(
        "mariadb://locks:s3ntinel@{},{}/tenure?get_server_public_key=yes",
        hosts(&server),
        hosts(&primary)
    );
    let of_both = crate::support::store(&url);
    take(&of_both, "other", owner(2)).await;
    run(&mut conn, "set global read_only = 0").await;
    // One that becomes a replica is left, as is the connection to it.
    run(&mut outside(&primary).await, "set global read_only = 1").await;
    let third = ask(owner(3), Intent::Try, LONG);
    let taken = async || of_both.acquire(&name("third"), &third).await.is_ok();
    crate::support::until("the other server is used", taken).await;
    take(&store, "other", owner(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_without_the_password() {
    let server = MariadbServer::start();
    let url = user(&server, &["select on tenure.*"]).await;
    let mut cases = vec![
        (url.clone(), "cannot create the tables"),
        (format!("{url}&create=no"), "tables of tenure do not exist"),
        (url.replace("s3ntinel", "s3ntinel2"), "user and the password"),
        (url.replace("/tenure", "/nowhere"), "nowhere"),
        (format!("{url}&tables=Bad-Name"), "cannot be a prefix"),
    ];
    if cfg!(not(feature = "tls")) {
        cases.push((format!("{url}&tls=yes"), "no TLS"));
    }
    for (url, says) in cases {
        let fault = MysqlStore::open(&url).await.unwrap_err();
        let text = format!("{fault:#} {} {:?}", fault.message_and_cause(), fault);
        assert!(text.contains(says), "{text}");
        assert!(!text.contains("s3ntinel"), "{text}");
        let misused = [FaultKind::Misconfigured, FaultKind::Unsupported].contains(&fault.kind());
        assert!(misused, "{text}");
    }
}

/// Passwords whose time is over, and servers that nobody may reach in clear.
#[tokio::test(flavor = "multi_thread")]
async fn why_a_server_lets_nobody_in_is_said() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let url = user(&server, &["all on tenure.*"]).await;
    run(&mut conn, "alter user locks password expire").await;
    let expired = MysqlStore::open(&url).await.unwrap_err();
    assert_eq!(expired.kind(), FaultKind::Misconfigured, "{expired}");
    assert!(format!("{expired:#}").contains("new password"), "{expired}");
    run(&mut conn, "set global require_secure_transport = on").await;
    let in_clear = MysqlStore::open(&url).await.unwrap_err();
    assert_eq!(in_clear.kind(), FaultKind::Misconfigured, "{in_clear}");
    assert!(format!("{in_clear:#}").contains("tls=yes"), "{in_clear}");
}

/// What the server remembers of a password needs none of it; once it forgot, it wants it whole.
#[tokio::test(flavor = "multi_thread")]
async fn no_password_is_encrypted_by_a_key_that_nobody_checks_unless_it_is_asked_for() {
    let server = MariadbServer::start();
    if !server.is_mysql() {
        // MariaDB has no such plugin; what stands in the place of a server is in the tests of `tenure`.
        return;
    }
    let mut conn = outside(&server).await;
    let url = user(&server, &["all on tenure.*"]).await;
    let plain = url.replace("?get_server_public_key=yes", "");
    let refused = MysqlStore::open(&plain).await.unwrap_err();
    assert_eq!(refused.kind(), FaultKind::Misconfigured, "{refused:#}");
    let text = format!("{refused:#}");
    assert!(text.contains("tls=yes") && text.contains("get_server_public_key=yes"), "{text}");
    MysqlStore::open(&url).await.unwrap();
    MysqlStore::open(&plain).await.unwrap();
    run(&mut conn, "flush privileges").await;
    MysqlStore::open(&plain).await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_another_make_are_refused() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    MysqlStore::open(&server.url()).await.unwrap();
    run(&mut conn, "alter table tenure_locks engine = MyISAM").await;
    let fault = MysqlStore::open(&server.url()).await.unwrap_err();
    assert!(fault.message().contains("uses the engine MyISAM"), "{fault:#}");
    run(&mut conn, "alter table tenure_locks engine = InnoDB").await;
    run(&mut conn, "alter table tenure_meta engine = MyISAM").await;
    let fault = MysqlStore::open(&server.url()).await.unwrap_err();
    assert!(fault.message().contains("tenure_meta uses the engine MyISAM"), "{fault:#}");
    run(&mut conn, "alter table tenure_meta engine = InnoDB").await;
    // Else what is too long would be cut to what is right.
    run(&mut conn, "set global group_concat_max_len = 4").await;
    let names = "convert to character set utf8mb4 collate utf8mb4_general_ci";
    for (change, back, says) in [
        ("drop primary key", "add primary key (name)", "primary key"),
        (
            "drop primary key, add key (name)",
            "drop key name, add primary key (name)",
            "primary key",
        ),
        (
            "drop primary key, add primary key (name(9))",
            "drop primary key, add primary key (name)",
            "primary key",
        ),
        (
            "drop primary key, add primary key (name, version)",
            "drop primary key, add primary key (name)",
            "primary key",
        ),
        (
            &format!("modify name varchar(512) not null, {names}"),
            "modify name varbinary(512) not null",
            "by their bytes",
        ),
        (
            "modify name binary(99) not null",
            "modify name varbinary(512) not null",
            "by their bytes",
        ),
    ] {
        run(&mut conn, &format!("alter table tenure_locks {change}")).await;
        let fault = MysqlStore::open(&server.url()).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
        assert!(
            fault.message().contains(says) && fault.message().contains("tenure_locks"),
            "{fault:#}"
        );
        run(&mut conn, &format!("alter table tenure_locks {back}")).await;
        MysqlStore::open(&server.url()).await.unwrap();
    }
    run(&mut conn, "update tenure_meta set format = 2").await;
    let fault = MysqlStore::open(&server.url()).await.unwrap_err();
    assert!(fault.message().contains("format 2"), "{fault:#}");
}

/// The rights that the printed statements name.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_with_no_more_than_the_printed_rights_can_do_everything() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    run(&mut conn, &schema("tenure").unwrap()).await;
    run(&mut conn, "create user app identified by 'secret'").await;
    let printed = schema("tenure").unwrap();
    let grants: Vec<_> = printed.lines().filter_map(|line| line.strip_prefix("-- grant")).collect();
    assert_eq!(grants.len(), 4);
    for grant in grants {
        run(&mut conn, &format!("grant{}", grant.trim_end_matches(';'))).await;
    }
    let url = server.url().replace("root@", "app:secret@");
    let store = store(&format!("{url}?get_server_public_key=yes"));
    let found = store.health().await.unwrap();
    // The server's own default for transactions of others is none of the user's rights.
    let replicas = found.iter().find(|diagnostic| diagnostic.what == "replicas").unwrap();
    assert_eq!(replicas.severity, Severity::Warning, "{replicas:?}");
    assert!(replicas.found.contains("not checked"), "{replicas:?}");
    let server_s = ["transactions", "replicas"];
    let mut of_user =
        found.iter().filter(|diagnostic| !server_s.contains(&diagnostic.what.as_ref()));
    assert!(of_user.all(|diagnostic| diagnostic.severity == Severity::Good), "{found:#?}");
    take(&store, "lock", owner(1)).await;
    let written = store
        .write_slots(
            &name("lock"),
            &owner(1),
            &SlotsWrite { before: None, text: "text".to_owned(), keep: LONG },
        )
        .await;
    assert_eq!(written.unwrap(), SlotsWritten::Written);
    assert!(store.read_slots(&name("lock")).await.unwrap().text.is_some());
    let events = vec![("event".to_owned(), Duration::ZERO)];
    let write = HistoryWrite { events, retention: Retention::entries(1).unwrap() };
    store.add_history(&name("lock"), &write).await.unwrap();
    assert!(!store.read_history(&name("lock")).await.unwrap().events.is_empty());
    store.incarnation().await.unwrap();
    assert!(store.server().await.unwrap().is_some());
    store.evict(&name("lock")).await.unwrap();
    store.sweep(Duration::ZERO).await.unwrap();
    let shown: Vec<(String, Option<String>)> =
        conn.query("select name, label from tenure_holders").await.unwrap();
    assert!(shown.is_empty());
    take(&store, "lock", owner(2)).await;
    let shown: Vec<(String, Option<String>)> =
        conn.query("select name, label from tenure_holders").await.unwrap();
    assert_eq!(shown, [("lock".to_owned(), Some(crate::support::label(owner(2))))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_from_outside_makes_nothing() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    assert!(names_in_use(&server.url(), "").await.unwrap().is_empty());
    let tables: Vec<String> = conn.query("show tables").await.unwrap();
    assert!(tables.is_empty(), "{tables:?}");
    let store = store(&server.url());
    for text in ["order:1", "order:2", "other"] {
        take(&store, text, owner(1)).await;
    }
    store.release(&name("order:2"), &owner(1), Duration::ZERO).await.unwrap();
    let names = names_in_use(&server.url(), "order:").await.unwrap();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), [name("order:1")]);
}
