//! What each mode of TLS does and does not, and logins over it.

use tenure_core::{FaultKind, Store};
use tenure_mysql::{MysqlOptions, MysqlStore, TlsMode};
use tenure_servers::Certificates;

use crate::{
    support::{name, outside, owner, run, store, take},
    tls::{ca, refused, server, without_tls},
};

async fn opened(url: &str) -> MysqlStore {
    let store = MysqlStore::open(url).await;
    store.unwrap_or_else(|fault| panic!("{url}: {fault:#}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mode_takes_the_servers_that_it_should() {
    let certificates = Certificates::new();
    let stranger = Certificates::new();
    // Its user may come over TLS alone, and its certificate is for `localhost` alone.
    let (_server, named) = server(&certificates).await;
    let numbered = named.replace("localhost", "127.0.0.1");
    let (ours, other) = (ca(&certificates), ca(&stranger));
    for url in [
        format!("{numbered}?ssl-mode=PREFERRED"),
        format!("{numbered}?ssl-mode=REQUIRED"),
        format!("{numbered}?ssl-mode=REQUIRED&ssl-ca={ours}"),
        format!("{numbered}?ssl-mode=VERIFY_CA&ssl-ca={ours}"),
        format!("{named}?ssl-mode=VERIFY_IDENTITY&ssl-ca={ours}"),
        format!("{named}?ssl-ca={ours}"),
    ] {
        take(&opened(&url).await, &url.replace('/', "-"), owner(1)).await;
    }
    for (url, says) in [
        (format!("{numbered}?ssl-mode=DISABLED"), "tls=yes"),
        (format!("{numbered}?ssl-mode=VERIFY_IDENTITY&ssl-ca={ours}"), "certificate"),
        (format!("{numbered}?ssl-ca={ours}"), "certificate"),
        (format!("{named}?ssl-mode=VERIFY_IDENTITY"), "certificate"),
        (format!("{named}?ssl-mode=VERIFY_CA&ssl-ca={other}"), "certificate"),
        (format!("{named}?ssl-mode=REQUIRED&ssl-ca={other}"), "certificate"),
        (format!("{named}?ssl-mode=PREFERRED&ssl-ca={other}"), "certificate"),
        (format!("{named}?ssl-mode=VERIFY_CA"), "verify the name"),
        (format!("{named}?ssl-mode=DISABLED&ssl-ca={ours}"), "need TLS"),
        (format!("{named}?ssl-mode=REQUIRED&tls=yes"), "contradicts"),
        (format!("{named}?ssl-mode=yes"), "VERIFY_CA or VERIFY_IDENTITY"),
    ] {
        let why = refused(&url).await;
        assert!(why.contains(says), "{url}: {why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_tls_at_the_server_preferred_goes_on_in_the_clear_and_required_does_not() {
    let server = without_tls();
    let url = server.url();
    take(&opened(&format!("{url}?ssl-mode=PREFERRED")).await, "lock", owner(1)).await;
    let why = refused(&format!("{url}?ssl-mode=REQUIRED")).await;
    assert!(why.contains("does not support TLS"), "{why}");
}

/// MariaDB asks for a sum of the password alone. What stands in the place of a server is in the tests of `tenure`.
#[tokio::test(flavor = "multi_thread")]
async fn the_password_itself_is_given_over_tls_alone() {
    let server = without_tls();
    let mut conn = outside(&server).await;
    run(&mut conn, "create user locks identified by 's3ntinel'").await;
    run(&mut conn, "grant all on tenure.* to locks").await;
    let url = server.url().replace("root@", "locks:s3ntinel@");
    let preferred = MysqlStore::open(&format!("{url}?ssl-mode=PREFERRED")).await;
    assert_eq!(preferred.is_err(), server.is_mysql(), "{preferred:?}");
    if let Err(fault) = preferred {
        let text = format!("{fault:#}");
        assert!(text.contains("get_server_public_key=yes") && !text.contains("s3ntinel"), "{text}");
    }
    let certificates = Certificates::new();
    let (_server, url) = crate::tls::server(&certificates).await;
    opened(&format!("{url}?ssl-mode=REQUIRED")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_ours_is_shown_to_mysql() {
    let certificates = Certificates::new();
    let (server, url) = server(&certificates).await;
    let mut conn = outside(&server).await;
    run(&mut conn, "create user shown identified by 's3ntinel' require x509").await;
    run(&mut conn, "grant all on tenure.* to shown").await;
    let url = format!("{}?ssl-ca={}", url.replace("locks:", "shown:"), ca(&certificates));
    let [certificate, key] =
        ["client.pem", "client.key"].map(|file| certificates.file(file).display().to_string());
    take(&opened(&format!("{url}&ssl-cert={certificate}&ssl-key={key}")).await, "a", owner(1))
        .await;
    let missing = refused(&url).await;
    assert!(missing.contains("REQUIRE X509"), "{missing}");
    let stranger = Certificates::new();
    let [other, its_key] = ["client.pem", "client.key"].map(|file| stranger.file(file));
    let other = format!("ssl-cert={}&ssl-key={}", other.display(), its_key.display());
    let foreign = refused(&format!("{url}&{other}")).await;
    assert!(foreign.contains("does not accept the client's certificate"), "{foreign}");
    let alone = refused(&format!("{url}&ssl-cert={certificate}")).await;
    assert!(alone.contains("ssl-ca="), "{alone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_chooses_the_mode_of_tls_too() {
    let certificates = Certificates::new();
    let (_server, url) = server(&certificates).await;
    let options = MysqlOptions::from_url(&url).unwrap();
    let store = MysqlStore::new(options.clone().tls_mode(TlsMode::Require)).unwrap();
    store.inspect(&name("lock")).await.unwrap();
    let fault = MysqlStore::new(options.tls_mode(TlsMode::VerifyCa)).unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured);
}

#[tokio::test(flavor = "multi_thread")]
async fn authorities_and_a_certificate_of_ours_are_given_by_code() {
    let certificates = Certificates::new();
    let (server, url) = server(&certificates).await;
    run(&mut outside(&server).await, "alter user locks require x509").await;
    let port = url.split([':', '/']).nth(5).unwrap().parse().unwrap();
    let plain = || {
        let options = MysqlOptions::new([("localhost", port)], "tenure").unwrap();
        options.user("locks").password("s3ntinel")
    };
    let read = |file: &str| std::fs::read(certificates.file(file)).unwrap();
    let path = |file: &str| certificates.file(file).display().to_string();
    let texts = plain().root_certificates(&read("ca.pem"));
    MysqlStore::open_with(texts.clone()).await.unwrap_err();
    let texts = texts.client_certificate(&read("client.pem"), &read("client.key"));
    let files = plain().root_certificates_file(&path("ca.pem")).unwrap();
    let files = files.client_certificate_files(&path("client.pem"), &path("client.key")).unwrap();
    for options in [texts, files] {
        MysqlStore::open_with(options).await.unwrap();
    }
    let stranger = Certificates::new();
    let others = plain().root_certificates(&std::fs::read(stranger.file("ca.pem")).unwrap());
    let fault = MysqlStore::open_with(others).await.unwrap_err();
    assert!(format!("{fault:#}").contains("certificate"), "{fault:#}");
}

#[test]
fn settings_of_other_libraries_say_what_tls_is_to_be() {
    let url = |settings: &str| format!("mysql://me:s3ntinel@db.example/shop?{settings}");
    for settings in [
        "useSSL=false",
        "useSSL=true",
        "useSSL=true&requireSSL=true",
        "useSSL=true&requireSSL=true&verifyServerCertificate=false",
        "sslMode=trust",
        "ssl_mode=required&pool=5",
        "sslaccept=accept_invalid_certs",
        "sslaccept=strict",
        "ssl={\"rejectUnauthorized\":true}",
        "ssl=true",
        "connectTimeout=5000",
        "connect_timeout=10",
        "allowPublicKeyRetrieval=true&useSSL=false",
    ] {
        store(&url(settings));
    }
    for (settings, says) in [
        ("useSSL=true&verifyServerCertificate=true", "verify the name"),
        ("socket=/run/mysqld/mysqld.sock", "host and port"),
        ("unix_socket=/run/mysqld/mysqld.sock", "host and port"),
        ("sessionVariables=autocommit%3D0", "leave them out"),
        ("init_command=x", "leave it out"),
        ("trustCertificateKeyStoreUrl=file:x", "ssl-ca="),
        ("sslcert=/x", "ssl-ca="),
        ("ssl-mod=REQUIRED", "ssl-mode"),
        ("tabels=x", "tables"),
    ] {
        let fault = MysqlOptions::from_url(&url(settings)).unwrap_err();
        let text = format!("{fault:#}");
        assert!(text.contains(says) && !text.contains("s3ntinel"), "{settings}: {text}");
        assert!(!text.contains('\n'), "{text}");
    }
}
