//! Over TLS, with an authority of our own.

use std::{sync::Arc, time::Duration};

use tenure_core::{AcquireError, FaultKind, Tenure};
use tenure_redis::{RedisOptions, RedisStore};
use tenure_servers::{Certificates, RedisCluster, RedisServer};

use crate::support::{hold, lock_keys, tenure, until, waiting};

const TTL: Duration = Duration::from_millis(1_500);
/// Longer than a failover takes.
const LONG: Duration = Duration::from_secs(20);

/// A server over TLS, and its URL.
fn server(certificates: &Certificates, of_clients: bool) -> (RedisServer, String) {
    let server = RedisServer::with_tls(certificates, of_clients);
    let url = server.tls_url().unwrap();
    (server, url)
}

fn with_file(url: &str, setting: &str, certificates: &Certificates, file: &str) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{setting}={}", certificates.file(file).display())
}

/// Why a URL is refused, after having seen that no lock is granted by it either.
async fn refused(url: &str) -> String {
    let fault = RedisStore::open(url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    let error = tenure(url).mutex("lock").lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Misconfigured { .. }), "{error:?}");
    format!("{fault:#}")
}

#[tokio::test]
async fn a_lock_over_tls_is_taken_renewed_handed_on_and_released() {
    let certificates = Certificates::new();
    let (server, url) = server(&certificates, false);
    let url = with_file(&url, "ca", &certificates, "ca.pem");
    let (one, other) = (tenure(&url), tenure(&url));
    let held = hold(&one, "lock", TTL).await;
    let token = held.token();
    let waits = tokio::spawn(async move { hold(&other, "lock", TTL).await.token() });
    until("it waits", async || waiting(&one, "lock").await == 1).await;
    tokio::time::sleep(TTL * 2).await;
    held.check().unwrap();
    held.release().await.unwrap();
    assert!(waits.await.unwrap() > token);
    until("nothing is left", async || lock_keys(&server).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn holds_in_a_cluster_over_tls_ride_out_a_fail_over() {
    let certificates = Certificates::new();
    let mut cluster = RedisCluster::with_tls(&certificates);
    let url = cluster.tls_url().unwrap();
    let said = refused(&url).await;
    assert!(said.contains("not trusted") && said.contains("ca="), "{said}");
    let tenure = tenure(&with_file(&url, "ca", &certificates, "ca.pem"));
    let mut held = Vec::new();
    for number in 0..16 {
        held.push(hold(&tenure, &format!("lock-{number}"), LONG).await);
    }
    for primary in cluster.servers.iter().take(3) {
        assert!(!lock_keys(primary).is_empty(), "a primary has no lock");
    }
    let slot = cluster.slot(&lock_keys(&cluster.servers[0])[0]);
    until("the replica has the locks", async || {
        lock_keys(&cluster.servers[3]).len() == lock_keys(&cluster.servers[0]).len()
    })
    .await;
    cluster.servers[0].kill();
    cluster.another_than(0, slot);
    let before: Vec<_> = held.iter().map(tenure_core::Guard::deadline).collect();
    until("all are renewed", async || {
        held.iter().zip(&before).all(|(guard, before)| guard.deadline() > *before)
    })
    .await;
    for guard in held {
        guard.release().await.unwrap();
    }
    until("nothing is left", async || cluster.running().all(|server| lock_keys(server).is_empty()))
        .await;
}

#[tokio::test]
async fn a_server_whose_authority_is_not_trusted_is_refused() {
    let certificates = Certificates::new();
    let (_server, url) = server(&certificates, false);
    let said = refused(&url).await;
    assert!(said.contains("not trusted") && said.contains("ca="), "{said}");
    // Nor does an authority help that has not signed this one.
    let stranger = Certificates::new();
    let said = refused(&with_file(&url, "ca", &stranger, "ca.pem")).await;
    assert!(said.contains("not trusted"), "{said}");
}

#[tokio::test]
async fn a_server_that_has_another_name_than_its_certificate_is_refused() {
    let certificates = Certificates::new();
    let (_server, url) = server(&certificates, false);
    let url = with_file(&url, "ca", &certificates, "ca.pem").replace("localhost", "127.0.0.1");
    let said = refused(&url).await;
    assert!(said.contains("not trusted") && said.contains("127.0.0.1"), "{said}");
}

#[tokio::test]
async fn a_server_that_wants_a_clients_certificate_gets_it() {
    let certificates = Certificates::new();
    let (_server, url) = server(&certificates, true);
    let url = with_file(&url, "ca", &certificates, "ca.pem");
    let said = refused(&url).await;
    assert!(said.contains("client's certificate") && said.contains("cert="), "{said}");
    let url = with_file(&url, "cert", &certificates, "client.pem");
    let fault = RedisOptions::from_url(&url).unwrap_err();
    assert!(format!("{fault:#}").contains("only one"), "{fault:#}");
    let url = with_file(&url, "key", &certificates, "client.key");
    hold(&tenure(&url), "lock", TTL).await.release().await.unwrap();
    let options = RedisOptions::from_url(&url).unwrap();
    let key = std::fs::read_to_string(certificates.file("client.key")).unwrap();
    let secret = key.lines().nth(1).unwrap();
    assert!(!format!("{options:?} {}", options.location()).contains(secret), "{options:?}");
}

#[test]
fn a_file_that_cannot_be_read_or_holds_no_certificate_is_named() {
    let certificates = Certificates::new();
    for (file, why) in [("nowhere.pem", "cannot read"), ("client.key", "no CERTIFICATE")] {
        let url = with_file("rediss://localhost", "ca", &certificates, file);
        let fault = RedisOptions::from_url(&url).unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured);
        assert!(
            format!("{fault:#}").contains(why) && format!("{fault:#}").contains(file),
            "{fault:#}"
        );
    }
    let fault = RedisOptions::from_url("redis://localhost?ca=/etc/ca.pem").unwrap_err();
    assert!(format!("{fault:#}").contains("ca is for TLS"), "{fault:#}");
}

/// What goes out over TLS is written by another task than that of the call.
#[tokio::test]
async fn replicas_confirm_what_is_acquired_over_tls() {
    let certificates = Certificates::new();
    let (server, url) = server(&certificates, false);
    let port = server.address().port().to_string();
    server.command(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"]);
    let replica = RedisServer::with(&["--save", "", "--replicaof", "127.0.0.1", &port]);
    until("it follows", async || crate::replicas::follows(&replica)).await;
    let url = with_file(&url, "ca", &certificates, "ca.pem");
    let url = format!("{url}&replicas=1");
    let tenure = tenure(&url);
    for _ in 0..3 {
        hold(&tenure, "lock", TTL).await.release().await.unwrap();
    }
    let held = hold(&tenure, "lock", TTL).await;
    assert_eq!(lock_keys(&replica).len(), 1);
    tokio::time::sleep(TTL * 2).await;
    held.check().unwrap();
}

#[tokio::test]
async fn a_server_that_speaks_no_safe_version_is_said_to_do_so() {
    let certificates = Certificates::new();
    let (server, url) = server(&certificates, false);
    let url = with_file(&url, "ca", &certificates, "ca.pem");
    server.command(&["CONFIG", "SET", "tls-protocols", "TLSv1.1"]);
    let said = refused(&url).await;
    assert!(said.contains("TLS 1.2 or 1.3") && !said.contains("firewall"), "{said}");
}

#[tokio::test]
async fn authorities_and_a_clients_certificate_are_given_by_code() {
    let certificates = Certificates::new();
    let (server, url) = server(&certificates, true);
    let port = url.split([':', '/']).nth(4).unwrap().parse().unwrap();
    let plain = || RedisOptions::new(("localhost", port)).tls(true);
    assert_eq!(plain().location(), format!("rediss://localhost:{port}/0"));
    let read = |file: &str| std::fs::read(certificates.file(file)).unwrap();
    let path = |file: &str| certificates.file(file).display().to_string();
    let texts = plain().root_certificates(&read("ca.pem"));
    let fault = RedisStore::open_with(texts.clone()).await.unwrap_err();
    assert!(format!("{fault:#}").contains("client's certificate"), "{fault:#}");
    let texts = texts.client_certificate(&read("client.pem"), &read("client.key"));
    let files = plain().root_certificates_file(&path("ca.pem")).unwrap();
    let files = files.client_certificate_files(&path("client.pem"), &path("client.key")).unwrap();
    for options in [texts, files] {
        let tenure = Tenure::new(Arc::new(RedisStore::open_with(options).await.unwrap()));
        hold(&tenure, "lock", TTL).await.release().await.unwrap();
    }
    let stranger = Certificates::new();
    let others = std::fs::read(stranger.file("ca.pem")).unwrap();
    let fault = RedisStore::open_with(plain().root_certificates(&others)).await.unwrap_err();
    assert!(format!("{fault:#}").contains("not trusted"), "{fault:#}");
    let nowhere = plain().root_certificates_file("/nowhere.pem").unwrap_err();
    assert!(nowhere.message().contains("/nowhere.pem"), "{nowhere:#}");
    drop(server);
}
