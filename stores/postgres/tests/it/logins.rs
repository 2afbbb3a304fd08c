//! In which ways a server gets a password.

use std::fs;

use tenure_core::FaultKind;
use tenure_postgres::PostgresStore;
use tenure_testkit::server::PostgresServer;

use crate::support::{sql, until};

/// A server that asks one user each for the password in another way.
async fn server() -> PostgresServer {
    let server = PostgresServer::start();
    let made = |user, kept| {
        let text = format!(
            "set password_encryption = '{kept}'; create role {user} superuser login password 's3ntinel'"
        );
        let url = server.url();
        async move { sql(&url, &text).await }
    };
    made("scram", "scram-sha-256").await;
    made("clear", "scram-sha-256").await;
    made("sum", "md5").await;
    let hba = server.folder().join("data/pg_hba.conf");
    let old = fs::read_to_string(&hba).unwrap();
    let line = |user, method| format!("host all {user} 127.0.0.1/32 {method}\n");
    let ours = [("scram", "scram-sha-256"), ("clear", "password"), ("sum", "md5")]
        .map(|(user, method)| line(user, method));
    fs::write(&hba, ours.concat() + &old).unwrap();
    sql(&server.url(), "select pg_reload_conf()").await;
    let (user, asks) =
        (server.url().replace("postgres@", "clear:wrong@"), "?require_auth=password");
    until("it has read them", async || {
        PostgresStore::open(&format!("{user}{asks}")).await.is_err()
    })
    .await;
    server
}

#[tokio::test]
async fn a_password_is_given_in_the_clear_or_as_a_sum_where_the_url_says_so_alone() {
    let server = server().await;
    let url = |user: &str| server.url().replace("postgres@", &format!("{user}:s3ntinel@"));
    let refused = async |url: String| {
        let fault = PostgresStore::open(&url).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault}");
        let text = format!("{fault} {fault:?}");
        assert!(!text.contains("s3ntinel"), "{text}");
        text
    };
    PostgresStore::open(&url("scram")).await.unwrap();
    for (user, method) in [("clear", "password"), ("sum", "md5")] {
        let why = refused(url(user)).await;
        assert!(why.contains("tls=yes") && why.contains(&format!("={method}")), "{why}");
        let others = refused(format!("{}?require_auth=scram-sha-256", url(user))).await;
        assert!(others.contains("require_auth"), "{others}");
        PostgresStore::open(&format!("{}?require_auth={method}", url(user))).await.unwrap();
    }
    // Who wants a proof of the server does not take one that asks for none.
    let trusts = refused(format!("{}?require_auth=scram-sha-256", server.url())).await;
    assert!(trusts.contains("no proof"), "{trusts}");
    PostgresStore::open(&server.url()).await.unwrap();
    let unknown = refused(format!("{}?require_auth=gss", server.url())).await;
    assert!(unknown.contains("scram-sha-256"), "{unknown}");
}
