//! Over TLS, with an authority of our own.

use std::time::Duration;

use tenure_core::{FaultKind, Store};
use tenure_mysql::MysqlStore;
use tenure_servers::{Certificates, MariadbServer};

use crate::{
    places,
    support::{hold, name, outside, process, run, store, until},
};

/// A server whose certificate is for `localhost` alone, and its URL for a user who may come over TLS alone.
pub(crate) async fn server(certificates: &Certificates) -> (MariadbServer, String) {
    let options = [("ca", "ca.pem"), ("cert", "server.pem"), ("key", "server.key")];
    let options = options
        .map(|(option, file)| format!("--ssl-{option}={}", certificates.file(file).display()));
    let server = MariadbServer::start_with(&options.each_ref().map(String::as_str));
    let mut conn = outside(&server).await;
    run(&mut conn, "create user locks identified by 's3ntinel' require ssl").await;
    run(&mut conn, "grant all on tenure.* to locks").await;
    let url = server.url().replace("root@127.0.0.1", "locks:s3ntinel@localhost");
    (server, url)
}

/// A server that offers no TLS. Newer ones make certificates of their own unless they are told to do without.
pub(crate) fn without_tls() -> MariadbServer {
    let option = if places::server().is_mysql() { "--tls-version=" } else { "--skip-ssl" };
    MariadbServer::start_with(&[option])
}

pub(crate) fn ca(certificates: &Certificates) -> String {
    certificates.file("ca.pem").display().to_string()
}

pub(crate) async fn refused(url: &str) -> String {
    let fault = MysqlStore::open(url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    let text = format!("{fault:#} {fault:?}");
    assert!(!text.contains("s3ntinel"), "{text}");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_over_tls_to_mysql_is_taken_renewed_handed_on_and_released() {
    let certificates = Certificates::new();
    let (_server, url) = server(&certificates).await;
    let in_clear = refused(&url).await;
    assert!(in_clear.contains("tls=yes"), "{in_clear}");
    let url = format!("{url}?tls=yes&ca={}", ca(&certificates));
    let (one, other) = (process(&url), process(&url));
    let held = one.mutex("lock").ttl(Duration::from_millis(1_500)).lock().await.unwrap();
    let token = held.token();
    let waits = tokio::spawn(async move { hold(&other, "lock").await.token() });
    let looks = store(&url);
    let waiting = async || looks.inspect(&name("lock")).await.unwrap().waiters.len();
    until("it waits", async || waiting().await == 1).await;
    let first = held.deadline();
    until("it is renewed", async || held.deadline() > first).await;
    held.release().await.unwrap();
    assert!(waits.await.unwrap() > token);
    let found = looks.health().await.unwrap();
    assert!(found.iter().any(|diagnostic| diagnostic.found.contains("over TLS")), "{found:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_meant_is_refused_over_tls_to_mysql() {
    let certificates = Certificates::new();
    let (_server, local) = server(&certificates).await;
    let ours = ca(&certificates);
    // The system does not know the authority, and nor does who trusts another one.
    let other = Certificates::new();
    for url in [format!("{local}?tls=yes"), format!("{local}?tls=yes&ca={}", ca(&other))] {
        let unknown = refused(&url).await;
        assert!(unknown.contains("certificate") && unknown.contains("ca="), "{unknown}");
    }
    let by_number = local.replace("localhost", "127.0.0.1");
    let other_name = refused(&format!("{by_number}?tls=yes&ca={ours}")).await;
    assert!(other_name.contains("certificate"), "{other_name}");
    let nowhere = refused(&format!("{local}?tls=yes&ca=/no/such/file")).await;
    assert!(nowhere.contains("/no/such/file"), "{nowhere}");
}

/// Never in clear where TLS was asked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_it_is_refused_over_tls_to_mysql() {
    let certificates = Certificates::new();
    let server = without_tls();
    store(&server.url()).inspect(&name("lock")).await.unwrap();
    let url = server.url().replace("127.0.0.1", "localhost");
    let without = refused(&format!("{url}?tls=yes&ca={}", ca(&certificates))).await;
    assert!(without.contains("does not support TLS"), "{without}");
}
