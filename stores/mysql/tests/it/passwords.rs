//! Passwords that rotate: read anew at each login, and by nobody else.

use std::{fs, os::unix::fs::PermissionsExt, sync::Arc, time::Duration};

use mysql_async::{Row, prelude::Queryable};
use tenure_core::{AcquireError, FaultKind, Guard, Tenure};
use tenure_mysql::{MysqlOptions, MysqlStore, Password, TlsMode};
use tenure_servers::MariadbServer;
use tenure_testkit::{Vault, rotation};

use crate::support::{PATIENCE, outside, run, until};

const FIRST: &str = "s3ntinel-first";
const SECOND: &str = "s3ntinel-second";

/// A server that asks the user `locks` for its password.
async fn server() -> MariadbServer {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    run(&mut conn, &format!("create user locks identified by '{FIRST}'")).await;
    run(&mut conn, "grant all on tenure.* to locks").await;
    server
}

fn options(server: &MariadbServer) -> MysqlOptions {
    let port = server.url().split([':', '/']).nth(4).unwrap().parse().unwrap();
    // MySQL wants the password itself from whom it does not remember.
    let options = MysqlOptions::new([("127.0.0.1", port)], "tenure").unwrap();
    options.user("locks").get_server_public_key(true)
}

fn tenure(options: &MysqlOptions) -> Tenure {
    Tenure::new(Arc::new(MysqlStore::new(options.clone()).unwrap()))
}

async fn hold(tenure: &Tenure, lock: &str, ttl: Duration) -> Guard {
    tenure.mutex(lock).lock().ttl(ttl).wait(PATIENCE).await.unwrap()
}

/// What a future and what a function that may block are told by the vault.
fn told(vault: &Vault) -> [Password; 2] {
    let (one, other) = (vault.clone(), vault.clone());
    let awaited = Password::from_async(move || one.clone().ask());
    [awaited, Password::from_blocking(move || other.ask_blocking())]
}

/// From now on the user has this password alone, and none of the connections that it had.
async fn change(server: &MariadbServer, password: &str) {
    let mut conn = outside(server).await;
    run(&mut conn, &format!("alter user locks identified by '{password}'")).await;
    let all: Vec<Row> = conn.query("show processlist").await.unwrap();
    for row in all.iter().filter(|row| row.get::<String, _>(1).unwrap() == "locks") {
        let id: u64 = row.get(0).unwrap();
        // It may have gone.
        drop(conn.query_drop(format!("kill {id}")).await);
    }
}

/// Holds a lock, and has somebody wait for it, while the password changes and all connections are cut.
async fn rotates(server: &MariadbServer, options: MysqlOptions, tell: impl FnOnce()) {
    let changes = async || {
        tell();
        change(server, SECOND).await;
    };
    rotation::outlasts(tenure(&options), tenure(&options), changes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_outlasts_a_change_of_the_password_that_a_function_gives() {
    let server = server().await;
    let vault = Vault::with(FIRST);
    for password in told(&vault) {
        vault.set(FIRST);
        change(&server, FIRST).await;
        rotates(&server, options(&server).password(password), || vault.set(SECOND)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_outlasts_a_change_of_the_password_in_a_file() {
    let (folder, server) = (tempfile::tempdir().unwrap(), server().await);
    let file = folder.path().join("password");
    let write = |password: &str| {
        fs::write(&file, format!("{password}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    };
    write(FIRST);
    let url = server.url().replace("root@", "locks@");
    let url = format!("{url}?get_server_public_key=yes&password_file={}", file.display());
    let options = MysqlOptions::from_url(&url).unwrap();
    rotates(&server, options, || write(SECOND)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_old_password_it_is_refused_for_a_while_and_a_lock_is_not_lost_before_its_time() {
    let (vault, server) = (Vault::with(FIRST), server().await);
    let [was_in, never_in] = told(&vault).map(|told| options(&server).password(told));
    let changes = async || {
        change(&server, SECOND).await;
        tenure(&never_in)
    };
    let clients = (tenure(&was_in), tenure(&was_in));
    rotation::refusals_pass(clients, (&vault, SECOND), "Access denied", changes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_hangs_fails_a_login_and_no_renewal_of_what_is_held() {
    let server = server().await;
    for blocks in [false, true] {
        let vault = Vault::with(FIRST);
        let [awaited, blocking] = told(&vault);
        let password = if blocks { blocking } else { awaited };
        let limit = Duration::from_millis(800);
        let options = options(&server).password(password).connect_timeout(limit).unwrap();
        let locks = tenure(&options);
        let held = hold(&locks, "lock", Duration::from_secs(9)).await;
        vault.hang(true);
        for _ in 0..8 {
            let fault = MysqlStore::open_with(options.clone()).await.unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Unreachable);
            let said = format!("{fault:#}");
            assert!(said.contains("no password for mysql://"), "{said}");
            assert!(said.contains("gave none within 600ms"), "{said}");
        }
        for _ in 0..3 {
            let before = held.deadline();
            until("it is renewed", async || held.deadline() > before).await;
        }
        held.release().await.unwrap();
        vault.hang(false);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_fails_is_what_a_lock_fails_by() {
    let server = server().await;
    let sealed = || Err::<&str, _>("the vault is sealed");
    let options = options(&server).password(Password::from_blocking(sealed));
    let error = tenure(&options).mutex("lock").try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unreachable { .. }), "{error:?}");
    let said = format!("{error:#}");
    assert!(said.contains("the vault is sealed") && said.contains("lock"), "{said}");
}

#[test]
fn options_show_no_secret() {
    let plain = || MysqlOptions::new([("a", 1)], "shop").unwrap().user("me");
    let function = || Ok::<_, AcquireError>("s3ntinel");
    for options in [
        plain().password("s3ntinel"),
        plain().password(Password::from_blocking(function)),
        plain().client_certificate(b"own", b"s3ntinel"),
        MysqlOptions::from_url("mysql://me:s3ntinel@a/shop").unwrap(),
    ] {
        let shown = format!("{options:?} {options:#?} {}", options.location());
        assert!(!shown.contains("s3ntinel"), "{shown}");
    }
}

#[test]
fn options_that_contradict_themselves_are_refused() {
    let plain = || MysqlOptions::new([("a", 1)], "shop").unwrap();
    let refused = |options: MysqlOptions| {
        let fault = MysqlStore::new(options).unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Misconfigured);
        format!("{fault:#}")
    };
    assert!(refused(plain()).contains("no user"));
    let me = || plain().user("me");
    let in_vain = me().root_certificates(b"any").tls_mode(TlsMode::Disable);
    assert!(refused(in_vain).contains("need TLS"));
    assert!(refused(me().tls_mode(TlsMode::VerifyCa)).contains("verify the name"));
    for (servers, database) in [(vec![], "shop"), (vec![("", 1)], "shop"), (vec![("a", 1)], "")] {
        MysqlOptions::new(servers, database).unwrap_err();
    }
    let both = "mysql://me:s3ntinel@a/shop?password_file=/nowhere/password";
    let both = format!("{:#}", MysqlOptions::from_url(both).unwrap_err());
    assert!(both.contains("leave one of them out") && !both.contains("s3ntinel"), "{both}");
    let none = MysqlOptions::from_url("mysql://me@a/shop?password_file=/nowhere/password");
    let none = format!("{:#}", none.unwrap_err());
    assert!(none.contains("/nowhere/password cannot be read"), "{none}");
}
