//! Passwords that rotate: read anew at each login, and by nobody else.

use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

use tenure_core::FaultKind;
use tenure_servers::ZookeeperServer;
use tenure_testkit::Vault;
use tenure_zookeeper::{Password, ZookeeperOptions, ZookeeperStore};

const FIRST: &str = "s3ntinel-first";

fn options(place: &str) -> ZookeeperOptions {
    let (host, port) = place.rsplit_once(':').unwrap();
    let options = ZookeeperOptions::new([(host, port.parse().unwrap())]).unwrap();
    options.tick(Duration::from_millis(500)).unwrap()
}

#[cfg(feature = "sasl")]
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_outlasts_a_change_of_the_password_of_sasl() {
    use std::sync::Arc;

    use tenure_core::Tenure;

    use crate::support::until;

    const SECOND: &str = "s3ntinel-second";
    let vault = Vault::with(FIRST);
    let mut server = ZookeeperServer::with_sasl(&[("me", FIRST)], &[]);
    let session = Duration::from_secs(60);
    let told = vault.clone();
    let options = options(&server.address().to_string())
        .session(session)
        .unwrap()
        .user("me")
        .password_from(move || told.clone().ask())
        .sasl(true)
        .creator_only(true);
    let locks = Tenure::new(Arc::new(ZookeeperStore::open_with(options.clone()).await.unwrap()));
    let held = locks.mutex("lock").ttl(session).lock().await.unwrap();
    let asked = vault.asked();
    let file = server.folder().join("jaas.conf");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(FIRST));
    server.kill();
    fs::write(&file, text.replace(FIRST, SECOND)).unwrap();
    server.restart();
    // A login that is refused ends no session.
    until("it tries the old one twice", async || vault.asked() > asked + 1).await;
    vault.set(SECOND);
    let before = held.deadline();
    until("it is renewed", async || held.deadline() > before).await;
    held.release().await.unwrap();
    vault.set(FIRST);
    let never_in = Password::from_blocking(move || vault.ask_blocking());
    for (options, kind) in [
        (options.clone(), FaultKind::Unreachable),
        (options.password(never_in), FaultKind::Misconfigured),
    ] {
        let fault = ZookeeperStore::open_with(options).await.unwrap_err();
        let said = format!("{fault:#} {fault:?}");
        assert_eq!(fault.kind(), kind, "{said}");
        assert!(said.contains("refuses this user and password"), "{said}");
        assert!(!said.contains("s3ntinel"), "{said}");
    }
}

/// Each attempt is heard by the servers as a word of the session, before its login is refused.
#[cfg(feature = "sasl")]
#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_login_is_refused_for_good_frees_its_locks_soon_after_its_length() {
    use std::{sync::Arc, time::Instant};

    use tenure_core::Tenure;

    const OTHER: &str = "s3ntinel-other";
    let session = Duration::from_secs(6);
    // One that is tried again at once, and one that is not.
    for stale in [FIRST.into(), Password::from_blocking(|| Ok::<_, std::io::Error>(FIRST))] {
        let mut server = ZookeeperServer::with_sasl(&[("me", FIRST)], &[]);
        let options = options(&server.address().to_string()).session(session).unwrap();
        let options = options.user("me").sasl(true);
        let one = ZookeeperStore::open_with(options.clone().password(stale)).await.unwrap();
        let one = Tenure::new(Arc::new(one));
        let held = one.mutex("lock").ttl(session).lock().await.unwrap();
        let file = server.folder().join("jaas.conf");
        let text = fs::read_to_string(&file).unwrap();
        server.kill();
        fs::write(&file, text.replace(FIRST, OTHER)).unwrap();
        server.restart();
        let other = ZookeeperStore::open_with(options.password(OTHER)).await.unwrap();
        let began = Instant::now();
        let other = Tenure::new(Arc::new(other));
        let next = other.mutex("lock").lock().wait(Duration::from_secs(60)).await.unwrap();
        assert!(held.check().is_err(), "its holder knew before");
        // Where each attempt lengthens it, it is two and a half of its lengths.
        assert!(began.elapsed() < session * 2, "{:?}", began.elapsed());
        next.release().await.unwrap();
    }
}

#[cfg(feature = "sasl")]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_login_by_sasl_is_said_to_have_none_at_once() {
    let server = ZookeeperServer::start();
    let options = options(&server.address().to_string()).user("me").password(FIRST).sasl(true);
    let fault = ZookeeperStore::open_with(options).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert!(fault.message().contains("has no SASL login"), "{fault:#}");
    assert!(fault.help().contains("auth=digest"), "{fault:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_in_a_file_is_read_as_a_session_begins() {
    let (folder, server) = (tempfile::tempdir().unwrap(), ZookeeperServer::start());
    let file = folder.path().join("password");
    let url = server.url().replace("zookeeper://", "zookeeper://me@");
    let url = format!("{url}?acl=creator&password_file={}", file.display());
    let none = ZookeeperOptions::from_url(&url).unwrap_err();
    assert!(none.message().contains("cannot be read"), "{none:#}");
    fs::write(&file, format!("{FIRST}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let options = ZookeeperOptions::from_url(&url).unwrap();
    let store = ZookeeperStore::open_with(options.clone()).await.unwrap();
    drop(store);
    fs::remove_file(&file).unwrap();
    let fault = ZookeeperStore::open_with(options).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable);
    assert!(format!("{fault:#}").contains("no password for zookeeper://"), "{fault:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_hangs_is_said_to_do_so() {
    let (vault, server) = (Vault::with(FIRST), ZookeeperServer::start());
    vault.hang(true);
    let told = vault.clone();
    let password = Password::from_blocking(move || told.ask_blocking());
    let options = options(&server.address().to_string());
    let options = options.user("me").password(password).session(Duration::from_secs(4)).unwrap();
    let fault = ZookeeperStore::open_with(options).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable);
    assert!(fault.message().contains("gave none within 1.5s"), "{fault:#}");
    vault.hang(false);
}

#[cfg(feature = "tls")]
#[tokio::test(flavor = "multi_thread")]
async fn authorities_and_a_certificate_of_ours_are_given_by_code() {
    use tenure_servers::Certificates;

    let certificates = Certificates::new();
    let server = ZookeeperServer::with_tls(&certificates, true);
    let place = server.tls_place().unwrap();
    let plain = || options(&place);
    let read = |file: &str| fs::read(certificates.file(file)).unwrap();
    let path = |file: &str| certificates.file(file).display().to_string();
    let texts = plain().root_certificates(&read("ca.pem"));
    let texts = texts.client_certificate(&read("client.pem"), &read("client.key"));
    let files = plain().root_certificates_file(&path("ca.pem")).unwrap();
    let files = files.client_certificate_files(&path("client.pem"), &path("client.key")).unwrap();
    for options in [texts, files] {
        ZookeeperStore::open_with(options).await.unwrap();
    }
    let stranger = Certificates::new();
    let others = plain().root_certificates(&fs::read(stranger.file("ca.pem")).unwrap());
    let fault = ZookeeperStore::open_with(others).await.unwrap_err();
    assert!(format!("{fault:#}").contains("certificate"), "{fault:#}");
}

#[test]
fn options_show_no_secret_and_contradict_themselves_in_vain() {
    let plain = || options("a:1");
    for options in [
        plain().user("me").password("s3ntinel"),
        plain().client_certificate(b"own", b"s3ntinel"),
        ZookeeperOptions::from_url("zookeeper://me:s3ntinel@a").unwrap(),
    ] {
        let shown = format!("{options:?} {options:#?} {}", options.location());
        assert!(!shown.contains("s3ntinel"), "{shown}");
    }
    for (options, says) in [
        (plain().user("me"), "only one"),
        (plain().creator_only(true), "creator"),
        (plain().client_certificate(b"own", b"key"), "authorities"),
    ] {
        let fault = ZookeeperStore::new(options).unwrap_err();
        assert!(fault.message().contains(says), "{fault:#}");
    }
    let both = ZookeeperOptions::from_url("zookeeper://me:s3ntinel@a?password_file=/nowhere");
    let both = format!("{:#}", both.unwrap_err());
    assert!(both.contains("leave one of them out") && !both.contains("s3ntinel"), "{both}");
}
