//! Over TLS, with an authority of our own.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::Path,
    time::Duration,
};

use tenure_core::FaultKind;
use tenure_postgres::PostgresStore;
use tenure_servers::{Certificates, PostgresServer};

use crate::support::{hold, sql, tenure, until, waiting};

const TTL: Duration = Duration::from_millis(1_500);

/// A server that takes connections over TLS, too. Its certificate is for `localhost` alone.
pub(crate) async fn server(certificates: &Certificates) -> PostgresServer {
    let server = PostgresServer::start();
    for (from, to) in [("server.pem", "server.crt"), ("server.key", "server.key")] {
        let file = server.folder().join("data").join(to);
        fs::copy(certificates.file(from), &file).unwrap();
        hand_over(&server, &file);
    }
    sql(&server.url(), "alter system set ssl = on").await;
    sql(&server.url(), "select pg_reload_conf()").await;
    until("it has TLS", async || sql(&server.url(), "show ssl").await == ["on"]).await;
    server
}

/// Lets the server alone read it.
pub(crate) fn hand_over(server: &PostgresServer, file: &Path) {
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    let owner = fs::metadata(server.folder().join("data")).unwrap();
    chown(file, Some(owner.uid()), Some(owner.gid())).unwrap();
}

async fn refused(url: &str) -> String {
    let fault = PostgresStore::open(url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    format!("{fault:#}")
}

#[tokio::test]
async fn a_lock_over_tls_is_taken_renewed_handed_on_and_released() {
    let certificates = Certificates::new();
    let server = server(&certificates).await;
    let url = server.url().replace("127.0.0.1", "localhost");
    let ca = certificates.file("ca.pem").display().to_string();
    let url = format!("{url}?sslmode=verify-full&ca={ca}");
    let (one, other) = (tenure(&url), tenure(&url));
    let held = hold(&one, "lock", TTL).await;
    let token = held.token();
    let waits = tokio::spawn(async move { hold(&other, "lock", TTL).await.token() });
    until("it waits", async || waiting(&one, "lock").await == 1).await;
    let first = held.deadline();
    until("it is renewed", async || held.deadline() > first).await;
    held.release().await.unwrap();
    assert!(waits.await.unwrap() > token);
    let ours = "select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) \
                where application_name = 'tenure'";
    assert_eq!(sql(&server.url(), ours).await, ["t"]);
}

#[tokio::test]
async fn who_is_not_the_server_that_was_meant_is_refused() {
    let certificates = Certificates::new();
    let server = server(&certificates).await;
    let local = server.url().replace("127.0.0.1", "localhost");
    let unknown = refused(&format!("{local}?tls=yes")).await;
    assert!(unknown.contains("certificate") && unknown.contains("sslrootcert="), "{unknown}");
    let ca = certificates.file("ca.pem").display().to_string();
    let other_name = refused(&format!("{}?tls=yes&ca={ca}", server.url())).await;
    assert!(other_name.contains("certificate"), "{other_name}");
    sql(&server.url(), "alter system set ssl = off").await;
    sql(&server.url(), "select pg_reload_conf()").await;
    until("it has none", async || sql(&server.url(), "show ssl").await == ["off"]).await;
    let without = refused(&format!("{local}?tls=yes&ca={ca}")).await;
    assert!(without.contains("TLS"), "{without}");
}
