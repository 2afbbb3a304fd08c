//! What each mode of TLS does and does not, and logins over it.

use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use tenure_core::{FaultKind, Store};
use tenure_postgres::{PostgresOptions, PostgresStore};
use tenure_servers::{Certificates, PostgresServer};
use tenure_sql::{TlsMode, TlsOptions, encryption};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::{
    support::{name, session, sql, told, tries, until},
    tls::server,
};

/// How our sessions are encrypted.
const OURS: &str = "select ssl::text from pg_stat_ssl join pg_stat_activity using (pid) \
                    where application_name = 'tenure' limit 1";

async fn opened(url: &str) -> PostgresStore {
    let store = PostgresStore::open(url).await;
    let store = store.unwrap_or_else(|fault| panic!("{url}: {fault:#}"));
    store.acquire(&name("lock"), &tries(1)).await.unwrap();
    store
}

async fn refused(url: &str) -> String {
    let fault = PostgresStore::open(url).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{url}: {fault:#}");
    let text = format!("{fault:#} {fault:?}");
    assert!(!text.contains("s3ntinel"), "{text}");
    text
}

#[tokio::test]
async fn each_mode_takes_the_servers_that_it_should() {
    let certificates = Certificates::new();
    let server = server(&certificates).await;
    let stranger = Certificates::new();
    let [ours, other] =
        [&certificates, &stranger].map(|by| by.file("ca.pem").display().to_string());
    // The certificate is for `localhost` alone.
    let numbered = server.url();
    let named = numbered.replace("127.0.0.1", "localhost");
    for (url, encrypted) in [
        (format!("{numbered}?sslmode=disable"), "false"),
        (format!("{numbered}?sslmode=allow"), "true"),
        (format!("{numbered}?sslmode=prefer"), "true"),
        (format!("{numbered}?sslmode=require"), "true"),
        (format!("{numbered}?sslmode=require&sslrootcert={ours}"), "true"),
        (format!("{numbered}?sslmode=verify-ca&sslrootcert={ours}"), "true"),
        (format!("{named}?sslmode=verify-full&sslrootcert={ours}"), "true"),
        (format!("{named}?sslrootcert={ours}"), "true"),
    ] {
        let store = opened(&url).await;
        assert_eq!(sql(&numbered, OURS).await, [encrypted], "{url}");
        drop(store);
        let gone = "select count(*) from pg_stat_activity where application_name = 'tenure'";
        until("it is gone", async || sql(&numbered, gone).await == ["0"]).await;
    }
    for (url, says) in [
        (format!("{numbered}?sslmode=verify-full&sslrootcert={ours}"), "certificate"),
        (format!("{named}?sslmode=verify-full"), "certificate"),
        (format!("{named}?sslmode=verify-full&sslrootcert=system"), "certificate"),
        (format!("{named}?sslrootcert=system"), "certificate"),
        (format!("{named}?sslmode=verify-ca&sslrootcert={other}"), "certificate"),
        (format!("{named}?sslmode=require&sslrootcert={other}"), "certificate"),
        (format!("{named}?sslmode=prefer&sslrootcert={other}"), "certificate"),
        (format!("{named}?sslmode=verify-ca"), "verify the name"),
        (format!("{named}?sslmode=require&sslrootcert=system"), "verify-full"),
        (format!("{named}?sslmode=disable&sslrootcert={ours}"), "need TLS"),
        (format!("{named}?sslmode=require&tls=yes"), "contradicts"),
        (format!("{named}?sslmode=verify"), "verify-ca or verify-full"),
    ] {
        let why = refused(&url).await;
        assert!(why.contains(says), "{url}: {why}");
    }
}

#[tokio::test]
async fn without_tls_at_the_server_prefer_goes_on_in_the_clear_and_require_does_not() {
    let server = PostgresServer::start();
    let _store = opened(&format!("{}?sslmode=prefer", server.url())).await;
    assert_eq!(sql(&server.url(), OURS).await, ["false"]);
    let why = refused(&format!("{}?sslmode=require", server.url())).await;
    assert!(why.contains("does not support TLS"), "{why}");
}

/// A server with TLS that asks one user each for the password in another way.
async fn asking(certificates: &Certificates) -> PostgresServer {
    let server = server(certificates).await;
    let hba = server.folder().join("data/pg_hba.conf");
    let old = fs::read_to_string(&hba).unwrap();
    let mut lines = String::new();
    let client = session(&server.url()).await.unwrap();
    for (user, method, kept) in [
        ("scram", "scram-sha-256", "scram-sha-256"),
        ("clear", "password", "scram-sha-256"),
        ("sum", "md5", "md5"),
        ("shown", "cert", "scram-sha-256"),
    ] {
        let made = format!(
            "set password_encryption = '{kept}'; create role {user} superuser login password 's3ntinel'"
        );
        told(&client, &made).await.unwrap();
        let map = if method == "cert" { " map=ours" } else { "" };
        let host = if method == "cert" { "hostssl" } else { "host" };
        lines += &format!("{host} all {user} 127.0.0.1/32 {method}{map}\n");
    }
    fs::write(&hba, lines + &old).unwrap();
    let ident = server.folder().join("data/pg_ident.conf");
    fs::write(ident, "ours \"client of a test\" shown\n").unwrap();
    let authority = server.folder().join("data/root.crt");
    fs::copy(certificates.file("ca.pem"), &authority).unwrap();
    crate::tls::hand_over(&server, &authority);
    sql(&server.url(), "alter system set ssl_ca_file = 'root.crt'").await;
    sql(&server.url(), "select pg_reload_conf()").await;
    let wrong = server.url().replace("postgres@", "scram:wrong@");
    until("it has read them", async || PostgresStore::open(&wrong).await.is_err()).await;
    server
}

#[tokio::test]
async fn a_password_is_not_given_to_whoever_answers() {
    let certificates = Certificates::new();
    let server = asking(&certificates).await;
    let ca = certificates.file("ca.pem").display().to_string();
    let url = |user: &str, settings: &str| {
        let url = server.url().replace("127.0.0.1", "localhost");
        format!("{}?{settings}", url.replace("postgres@", &format!("{user}:s3ntinel@")))
    };
    for mode in ["prefer", "require"] {
        opened(&url("scram", &format!("sslmode={mode}"))).await;
        for (user, method) in [("clear", "password"), ("sum", "md5")] {
            let why = refused(&url(user, &format!("sslmode={mode}"))).await;
            assert!(why.contains("verify-full") && why.contains(&format!("={method}")), "{why}");
            opened(&url(user, &format!("sslmode={mode}&require_auth={method}"))).await;
        }
    }
    for user in ["scram", "clear", "sum"] {
        opened(&url(user, &format!("sslmode=verify-full&sslrootcert={ca}"))).await;
        opened(&url(user, &format!("sslmode=verify-ca&sslrootcert={ca}"))).await;
    }
}

#[tokio::test]
async fn a_login_that_has_to_be_bound_to_the_encryption_is() {
    let certificates = Certificates::new();
    let server = asking(&certificates).await;
    let url = |user: &str, settings: &str| {
        let url = server.url().replace("postgres@", &format!("{user}:s3ntinel@"));
        format!("{url}?channel_binding=require&{settings}")
    };
    opened(&url("scram", "sslmode=require")).await;
    let why = refused(&url("sum", "sslmode=require&require_auth=md5")).await;
    assert!(why.contains("channel binding"), "{why}");
    let why = refused(&url("scram", "sslmode=disable")).await;
    assert!(why.contains("channel_binding=require"), "{why}");
    let why = refused(&format!("{}?channel_binding=yes", server.url())).await;
    assert!(why.contains("prefer or require"), "{why}");
    // What would be bound to nothing is not said.
    sql(&server.url(), "alter system set ssl = off").await;
    sql(&server.url(), "select pg_reload_conf()").await;
    until("it has none", async || sql(&server.url(), "show ssl").await == ["off"]).await;
    let why = refused(&url("scram", "sslmode=prefer")).await;
    assert!(why.contains("channel binding"), "{why}");
}

/// Passes for the server, with a certificate of its own, and hands on what is said.
async fn in_between(server: u16, by: &Certificates) -> u16 {
    let [chain, key] = ["server.pem", "server.key"].map(|file| fs::read(by.file(file)).unwrap());
    let chain = CertificateDer::pem_slice_iter(&chain).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(&key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let any = TlsOptions { mode: TlsMode::Require, ..TlsOptions::default() };
    let connector = TlsConnector::from(encryption(&any).unwrap());
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let (acceptor, connector) = (acceptor.clone(), connector.clone());
            tokio::spawn(async move {
                let mut asks_for_tls = [0; 8];
                client.read_exact(&mut asks_for_tls).await?;
                client.write_all(b"S").await?;
                let mut client = acceptor.accept(client).await?;
                let mut server = TcpStream::connect(("127.0.0.1", server)).await?;
                server.write_all(&asks_for_tls).await?;
                server.read_u8().await?;
                let name = ServerName::try_from("localhost").unwrap();
                let mut server = connector.connect(name, server).await?;
                copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    port
}

#[tokio::test]
async fn whoever_passes_for_the_server_is_noticed_where_the_login_is_bound() {
    let (certificates, strangers) = (Certificates::new(), Certificates::new());
    let server = asking(&certificates).await;
    let port = in_between(server.port(), &strangers).await;
    let url = |settings: &str| {
        format!("postgres://scram:s3ntinel@localhost:{port}/tenure?sslmode=require&{settings}")
    };
    // As the page says: nothing else notices it.
    opened(&url("channel_binding=disable")).await;
    for settings in ["channel_binding=require", "channel_binding=prefer", ""] {
        let why = refused(&url(settings)).await;
        assert!(why.contains("is in between"), "{settings}: {why}");
    }
}

#[tokio::test]
async fn a_certificate_of_ours_is_shown() {
    let certificates = Certificates::new();
    let server = asking(&certificates).await;
    let [ca, certificate, key] = ["ca.pem", "client.pem", "client.key"]
        .map(|file| certificates.file(file).display().to_string());
    let url = server.url().replace("postgres@127.0.0.1", "shown@localhost");
    let url = format!("{url}?sslmode=verify-full&sslrootcert={ca}");
    opened(&format!("{url}&sslcert={certificate}&sslkey={key}")).await;
    let missing = refused(&url).await;
    assert!(missing.contains("name a certificate and its key"), "{missing}");
    let stranger = Certificates::new();
    let [other, its_key] = ["client.pem", "client.key"].map(|file| stranger.file(file));
    let other = format!("sslcert={}&sslkey={}", other.display(), its_key.display());
    let foreign = refused(&format!("{url}&{other}")).await;
    assert!(foreign.contains("does not accept the client's certificate"), "{foreign}");
    let alone = refused(&format!("{url}&sslcert={certificate}")).await;
    assert!(alone.contains("sslrootcert="), "{alone}");
    let wrong = refused(&format!("{url}&sslcert={certificate}&sslkey={ca}")).await;
    assert!(wrong.contains("chmod 600") && wrong.contains(&ca), "{wrong}");
}

#[tokio::test]
async fn authorities_and_a_certificate_of_ours_are_given_by_code() {
    let certificates = Certificates::new();
    let server = asking(&certificates).await;
    let plain = || {
        let servers = [("localhost", server.port())];
        PostgresOptions::new(servers, "tenure").unwrap().user("shown")
    };
    let read = |file: &str| fs::read(certificates.file(file)).unwrap();
    let path = |file: &str| certificates.file(file).display().to_string();
    let texts = plain().root_certificates(&read("ca.pem"));
    let fault = PostgresStore::open_with(texts.clone()).await.unwrap_err();
    assert!(format!("{fault:#}").contains("certificate"), "{fault:#}");
    let texts = texts.client_certificate(&read("client.pem"), &read("client.key"));
    let files = plain().root_certificates_file(&path("ca.pem")).unwrap();
    let files = files.client_certificate_files(&path("client.pem"), &path("client.key")).unwrap();
    for options in [texts, files] {
        let store = PostgresStore::open_with(options).await.unwrap();
        assert_eq!(sql(&server.url(), OURS).await, ["true"]);
        drop(store);
    }
    let stranger = Certificates::new();
    let others = plain().root_certificates(&fs::read(stranger.file("ca.pem")).unwrap());
    let fault = PostgresStore::open_with(others).await.unwrap_err();
    assert!(format!("{fault:#}").contains("certificate"), "{fault:#}");
    let open = fs::Permissions::from_mode(0o644);
    fs::set_permissions(certificates.file("client.key"), open).unwrap();
    let fault = plain().client_certificate_files(&path("client.pem"), &path("client.key"));
    assert!(fault.unwrap_err().help().contains("chmod 600"));
}
