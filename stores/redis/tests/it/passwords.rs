//! Passwords that rotate: read anew at each login, and by nobody else.

use std::{fs, os::unix::fs::PermissionsExt, sync::Arc, time::Duration};

use tenure_core::{AcquireError, FaultKind, Tenure};
use tenure_redis::{Password, RedisOptions, RedisStore, Sentinels};
use tenure_servers::{RedisServer, SentinelService, redis::Reply};
use tenure_testkit::{Vault, rotation};

use crate::support::{cluster, hold, name, until};

const FIRST: &str = "s3ntinel-first";
const SECOND: &str = "s3ntinel-second";

fn ok(server: &RedisServer, words: &[&str]) {
    assert_eq!(server.command(words), Reply::Text("OK".to_owned()), "{words:?}");
}

/// From now on the user has this password alone.
fn set_password(server: &RedisServer, password: &str) {
    let password = format!(">{password}");
    let words = ["ACL", "SETUSER", "locks", "on", "resetpass", &password, "~*", "&*", "+@all"];
    ok(server, &words);
}

fn cut(server: &RedisServer) {
    server.command(&["CLIENT", "KILL", "USER", "locks"]);
}

/// What a future and what a function that may block are told by the vault.
fn told(vault: &Vault) -> [Password; 2] {
    let (one, other) = (vault.clone(), vault.clone());
    let awaited = Password::from_async(move || one.clone().ask());
    [awaited, Password::from_blocking(move || other.ask_blocking())]
}

fn options(server: &RedisServer) -> RedisOptions {
    let address = server.address();
    RedisOptions::new((address.ip().to_string(), address.port())).user("locks")
}

fn tenure(options: &RedisOptions) -> Tenure {
    Tenure::new(Arc::new(RedisStore::new(options.clone()).unwrap()))
}

/// Holds a lock, and has somebody wait for it, while the password changes and all connections are cut.
async fn rotates(options: RedisOptions, change: impl FnOnce()) {
    rotation::outlasts(tenure(&options), tenure(&options), async || change()).await;
}

#[tokio::test]
async fn a_lock_outlasts_a_change_of_the_password_that_a_function_gives() {
    let vault = Vault::with(FIRST);
    for password in told(&vault) {
        vault.set(FIRST);
        let server = RedisServer::start();
        set_password(&server, FIRST);
        rotates(options(&server).password(password), || {
            set_password(&server, SECOND);
            vault.set(SECOND);
            cut(&server);
        })
        .await;
    }
}

#[tokio::test]
async fn a_lock_in_a_cluster_outlasts_a_change_of_the_password() {
    let (vault, server) = (Vault::with(FIRST), cluster().await);
    set_password(&server, FIRST);
    let address = server.address();
    let seeds = [(address.ip().to_string(), address.port())];
    let options =
        RedisOptions::in_cluster(seeds).unwrap().user("locks").password(told(&vault)[0].clone());
    rotates(options, || {
        set_password(&server, SECOND);
        vault.set(SECOND);
        cut(&server);
    })
    .await;
}

#[tokio::test]
async fn a_lock_outlasts_a_change_of_the_password_in_a_file() {
    let (folder, server) = (tempfile::tempdir().unwrap(), RedisServer::start());
    let file = folder.path().join("password");
    let write = |password: &str| {
        fs::write(&file, format!("{password}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    };
    write(FIRST);
    set_password(&server, FIRST);
    let url = format!("redis://{}?user=locks&password_file={}", server.address(), file.display());
    let options = RedisOptions::from_url(&url).unwrap();
    rotates(options, || {
        set_password(&server, SECOND);
        write(SECOND);
        cut(&server);
    })
    .await;
}

#[tokio::test]
async fn with_the_old_password_it_is_refused_for_a_while_and_a_lock_is_not_lost_before_its_time() {
    let (vault, server) = (Vault::with(FIRST), RedisServer::start());
    set_password(&server, FIRST);
    let [was_in, never_in] = told(&vault).map(|told| options(&server).password(told));
    let changes = async || {
        set_password(&server, SECOND);
        cut(&server);
        tenure(&never_in)
    };
    let clients = (tenure(&was_in), tenure(&was_in));
    rotation::refusals_pass(clients, (&vault, SECOND), "refuses this user and password", changes)
        .await;
}

#[tokio::test]
async fn a_function_that_hangs_fails_a_login_and_no_renewal_of_what_is_held() {
    for blocks in [false, true] {
        let (vault, server) = (Vault::with(FIRST), RedisServer::start());
        set_password(&server, FIRST);
        let [awaited, blocking] = told(&vault);
        let password = if blocks { blocking } else { awaited };
        let limit = Duration::from_millis(300);
        let options = options(&server).password(password).connect_timeout(limit).unwrap();
        let locks = tenure(&options);
        let held = hold(&locks, "lock", Duration::from_secs(3)).await;
        vault.hang(true);
        for _ in 0..8 {
            let fault = RedisStore::open_with(options.clone()).await.unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Unreachable);
            let said = format!("{fault:#}");
            assert!(said.contains("no password for redis://"), "{said}");
            assert!(said.contains("gave none within 225ms"), "{said}");
        }
        for _ in 0..3 {
            let before = held.deadline();
            until("it is renewed", async || held.deadline() > before).await;
        }
        held.release().await.unwrap();
        vault.hang(false);
    }
}

#[tokio::test]
async fn a_function_that_fails_is_what_a_lock_fails_by() {
    let server = RedisServer::start();
    let sealed = || Err::<&str, _>("the vault is sealed");
    let options = options(&server).password(Password::from_blocking(sealed));
    let error = tenure(&options).mutex("lock").try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unreachable { .. }), "{error:?}");
    let said = format!("{error:#}");
    assert!(said.contains("the vault is sealed") && said.contains("lock"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_password_of_the_sentinels_is_read_anew_too() {
    let (vault, service) = (Vault::with(FIRST), SentinelService::start());
    for sentinel in &service.sentinels {
        set_password(sentinel, FIRST);
    }
    let seeds = service.sentinels.iter().map(|sentinel| {
        let address = sentinel.address();
        (address.ip().to_string(), address.port())
    });
    let sentinels = Sentinels::new(seeds, "mymaster").unwrap();
    let sentinels = sentinels.user("locks").password(told(&vault)[1].clone());
    let locks = tenure(&RedisOptions::found_by(sentinels));
    let held = hold(&locks, "lock", Duration::from_secs(30)).await;
    until("the replicas have it", async || {
        service
            .servers
            .iter()
            .all(|server| server.keys().iter().any(|key| key.contains(name("lock").as_str())))
    })
    .await;
    vault.set(SECOND);
    for sentinel in &service.sentinels {
        set_password(sentinel, SECOND);
        cut(sentinel);
    }
    service.fail_over();
    let before = held.deadline();
    until("it is renewed", async || held.deadline() > before).await;
    held.release().await.unwrap();
}

#[test]
fn options_show_no_secret() {
    let sentinels = Sentinels::new([("a", 1)], "s").unwrap().user("me").password("s3ntinel");
    let function = || Ok::<_, AcquireError>("s3ntinel");
    for options in [
        RedisOptions::found_by(sentinels).password("s3ntinel"),
        RedisOptions::new(("a", 1)).password(Password::from_blocking(function)),
        RedisOptions::new(("a", 1)).tls(true).client_certificate(b"own", b"s3ntinel"),
        RedisOptions::from_url("redis://me:s3ntinel@a").unwrap(),
    ] {
        let shown = format!("{options:?} {options:#?} {}", options.location());
        assert!(!shown.contains("s3ntinel"), "{shown}");
    }
}

#[test]
fn a_password_has_one_home_and_a_user_has_one() {
    let refused = |url: &str| {
        let fault = RedisOptions::from_url(url).unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured);
        let said = format!("{fault:#}");
        assert!(!said.contains("s3ntinel"), "{said}");
        said
    };
    let both = refused("redis://:s3ntinel@a?password_file=/nowhere/password");
    assert!(both.contains("leave one of them out"), "{both}");
    let none = refused("redis://a?user=me&password_file=/nowhere/password");
    assert!(none.contains("/nowhere/password cannot be read"), "{none}");
    let of_sentinels = refused(
        "redis-sentinel://a?service=s&sentinel_password=s3ntinel&sentinel_password_file=/nowhere",
    );
    assert!(of_sentinels.contains("sentinel_password_file"), "{of_sentinels}");
    let alone = RedisStore::new(RedisOptions::new(("a", 1)).user("me")).unwrap_err();
    assert!(alone.message().contains("without a password"), "{alone:#}");
}
