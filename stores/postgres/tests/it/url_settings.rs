//! Settings in a URL that are not tenure's own.

use tenure_core::{FaultKind, Store};
use tenure_postgres::{PostgresOptions, PostgresStore};
use tenure_servers::{PgBouncer, PostgresServer};

use crate::{
    inherited::all_works,
    support::{fresh_database, name, quiet_server, sql, tries},
};

fn refused(url: &str) -> String {
    let fault = PostgresOptions::from_url(url).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{url}: {fault:#}");
    let text = format!("{fault:#}");
    assert!(!text.contains('\n') && !text.contains("s3ntinel"), "{text}");
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_the_options_of_a_url_say_of_its_sessions_changes_nothing() {
    for options in [
        "-c synchronous_commit=off",
        "-c statement_timeout=1",
        "-c lock_timeout=1",
        "-c search_path=public",
        "-c default_transaction_isolation=serializable",
        "-c default_transaction_deferrable=on",
        "-c client_min_messages=debug5",
        "-csynchronous_commit=off --statement_timeout=1 -c search_path=",
        "-c TimeZone=Asia/Kathmandu -c DateStyle=German",
        "-c application_name=a\\\\",
    ] {
        let url = fresh_database().await;
        let encoded = options.replace(' ', "%20").replace('=', "%3D").replace('\\', "%5C");
        all_works(&format!("{url}?options={encoded}"), options).await;
    }
}

/// Of the sessions of ours in this database, what the setting is.
#[tokio::test]
async fn what_the_options_of_a_url_say_of_other_settings_holds() {
    let url = fresh_database().await;
    // A database's own settings come before both.
    let database = url.rsplit('/').next().unwrap();
    let all = format!("alter database {database} set synchronous_commit = local");
    sql(&quiet_server().url(), &all).await;
    let options = "options=-c%20synchronous_commit%3Doff%20-c%20application_name%3Dmine";
    let store = PostgresStore::open(&format!("{url}?{options}")).await.unwrap();
    store.acquire(&name("lock"), &tries(1)).await.unwrap();
    let found = store.health().await.unwrap();
    let kept = found.iter().find(|diagnostic| diagnostic.what == "persistence").unwrap();
    assert!(kept.found.ends_with("synchronous_commit is on"), "{kept:?}");
}

#[tokio::test]
async fn the_name_of_our_sessions_can_be_chosen() {
    let url = fresh_database().await;
    for (settings, name) in
        [("", "tenure"), ("?application_name=shop", "shop"), ("?ApplicationName=java", "java")]
    {
        let _store = PostgresStore::open(&format!("{url}{settings}")).await.unwrap();
        let ours = "select count(*) > 0 from pg_stat_activity \
                    where datname = current_database() and application_name = ";
        assert_eq!(sql(&url, &format!("{ours}'{name}'")).await, ["t"], "{name}");
    }
}

#[tokio::test]
async fn the_schema_of_the_application_is_never_that_of_the_locks() {
    let url = fresh_database().await;
    let one = PostgresStore::open(&format!("{url}?schema=public")).await.unwrap();
    one.acquire(&name("lock"), &tries(1)).await.unwrap();
    let tables = "select nspname from pg_class c join pg_namespace n on n.oid = relnamespace \
                  where relname = 'locks'";
    assert_eq!(sql(&url, tables).await, ["tenure"]);
    let why = refused("postgres://me:s3ntinel@h/db?schema=app");
    assert!(why.contains("lock_schema="), "{why}");
    // Both are there: it is known what each means.
    for (settings, location) in [
        ("schema=app&lock_schema=locks", "postgres://h:5432/db?lock_schema=locks"),
        ("schema=app&lock_schema=tenure", "postgres://h:5432/db"),
    ] {
        let options = PostgresOptions::from_url(&format!("postgres://me@h/db?{settings}"));
        assert_eq!(options.unwrap().location(), location);
    }
    // Earlier versions have locks there: who takes other tables is not excluded by them.
    let before = fresh_database().await;
    PostgresStore::open(&format!("{before}?lock_schema=public")).await.unwrap();
    let fault = PostgresStore::open(&format!("{before}?schema=public")).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured);
    assert!(format!("{fault:#}").contains("lock_schema=public"), "{fault:#}");
    PostgresStore::open(&format!("{before}?schema=public&lock_schema=tenure")).await.unwrap();
}

#[test]
fn what_cannot_be_honoured_is_refused_in_one_line() {
    for (settings, says) in [
        ("target_session_attrs=read-only", "a lock is a write"),
        ("target_session_attrs=standby", "a lock is a write"),
        ("target_session_attrs=prefer-standby", "a lock is a write"),
        ("targetServerType=preferSecondary", "a lock is a write"),
        ("gssencmode=require", "gssencmode=disable"),
        ("sslnegotiation=direct", "leave it out"),
        ("sslcrl=/x", "revocation"),
        ("sslpassword=s3ntinel", "passphrase"),
        ("sslidentity=/x.p12", "sslcert="),
        ("ssl_min_protocol_version=TLSv1.3", "1.3"),
        ("sslmode=require&sslcert=/x", "sslrootcert="),
        ("sslfactory=org.example.Mine&ssl=true", "sslmode="),
        ("options=-c%20a%3Db%5C", "backslash"),
        ("options=--", "--"),
        ("replication=database", "cannot take locks"),
        ("passfile=/x", "password"),
        ("connect_timeout=5m", "connect_timeout"),
        ("sslmod=require", "sslmode"),
        ("aplication_name=x", "application_name"),
        ("schema=app", "lock_schema"),
    ] {
        let why = refused(&format!("postgres://me:s3ntinel@h/db?{settings}"));
        assert!(why.contains(says), "{settings}: {why}");
    }
    for settings in [
        "target_session_attrs=any",
        "target_session_attrs=read-write",
        "target_session_attrs=primary",
        "gssencmode=disable",
        "sslnegotiation=postgres",
        "keepalives=1&keepalives_idle=30",
        "connect_timeout=10",
        "connect_timeout=2s",
        "connect_timeout=0",
        "pgbouncer=true&connection_limit=1&pool_timeout=0",
        "pool=5&timeout=5000&encoding=utf8&prepared_statements=false",
    ] {
        PostgresOptions::from_url(&format!("postgres://me:s3ntinel@h/db?{settings}")).unwrap();
    }
}

#[tokio::test]
async fn one_server_that_takes_no_writes_is_refused_where_the_url_asks_for_one_that_does() {
    let url = fresh_database().await;
    let database = url.rsplit('/').next().unwrap();
    let all = format!("alter database {database} set default_transaction_read_only = on");
    sql(&quiet_server().url(), &all).await;
    let fault = PostgresStore::open(&format!("{url}?target_session_attrs=read-write")).await;
    let fault = fault.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable);
    assert!(fault.message_and_cause().contains("does not allow writes"), "{fault:?}");
}

#[tokio::test]
async fn the_socket_of_a_server_may_be_a_setting() {
    let server = PostgresServer::start();
    let folder = server.folder().display();
    for url in [
        format!("postgres:///tenure?host={folder}&port={}&user=postgres", server.port()),
        // Prisma wants a host, and looks at it not.
        format!("postgresql://postgres@localhost/tenure?host={folder}&port={}", server.port()),
        // By a socket the mode of TLS says nothing, as for libpq.
        format!(
            "postgres:///tenure?host={folder}&port={}&user=postgres&sslmode=disable",
            server.port()
        ),
    ] {
        PostgresStore::open(&url).await.unwrap().acquire(&name("a"), &tries(1)).await.unwrap();
    }
}

#[tokio::test]
async fn a_pooler_that_takes_no_options_of_a_url_says_so() {
    let server = PostgresServer::start();
    let pooler = PgBouncer::start(&server, 5, &[]);
    let url = pooler.url_of("tenure");
    PostgresStore::open(&format!("{url}?pgbouncer=true")).await.unwrap();
    let options = "options=-c%20enable_indexscan%3Doff";
    let fault = PostgresStore::open(&format!("{url}?{options}")).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert!(fault.help().contains("options="), "{fault:#}");
}
