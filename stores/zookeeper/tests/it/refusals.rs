//! What is refused, and what is said then: always what to do, never a password.

#![allow(clippy::print_stdout, reason = "a test tells what was said")]

use tenure_core::{AcquireError, Fault, FaultKind};
use tenure_servers::ZookeeperServer;
use tenure_zookeeper::ZookeeperStore;
use zookeeper_client::{Acl, Acls, AuthId, Client, CreateMode, Permission};

use crate::support::{PATIENCE, hold, path, quiet_server, tenure};

const SENTINEL: &str = "s3ntinel";

/// Why a URL is refused, after having seen that no lock is granted by it either.
async fn refused(url: &str) -> (Fault, AcquireError) {
    let fault = match ZookeeperStore::open(url).await {
        Err(fault) => Some(fault),
        Ok(store) => {
            let ask = crate::support::ask(1, tenure_core::proto::queue::Intent::Try);
            let name = crate::support::name("lock");
            tenure_core::Store::acquire(&store, &name, &ask).await.err()
        }
    };
    let fault = fault.expect("it is not refused");
    let error = tenure(url).mutex("lock").try_lock().await.unwrap_err();
    let said = format!("{fault:#} {fault:?} {error:#} {error:?}");
    assert!(!said.contains(SENTINEL), "{said}");
    println!("{fault:#}\n  {error:#}");
    (fault, error)
}

async fn misconfigured(url: &str, says: &str) {
    let (fault, error) = refused(url).await;
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert!(matches!(error, AcquireError::Misconfigured(_)), "{error:?}");
    assert!(format!("{fault:#}").contains(says), "{fault:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_are_not_there_certainly_did_nothing() {
    for hosts in ["127.0.0.1:1", "127.0.0.1:1,127.0.0.1:2", "no-such-host.invalid"] {
        let url = format!("zookeeper://me:{SENTINEL}@{hosts}?response_timeout=500ms");
        let (fault, error) = refused(&url).await;
        assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
        assert!(matches!(error, AcquireError::Unreachable(_)), "{error:?}");
        assert!(format!("{fault:#}").contains("no session begins"), "{fault:#}");
        assert!(format!("{error:#}").contains("reached"), "{error:#}");
    }
}

/// The session would be waited for ten minutes.
#[tokio::test(flavor = "multi_thread")]
async fn servers_that_all_refuse_are_not_tried_for_a_whole_session() {
    for hosts in ["127.0.0.1:1", "127.0.0.1:1,127.0.0.1:2", "no-such-host.invalid"] {
        let url = format!("zookeeper://{hosts}?session=10m");
        let opened = ZookeeperStore::open(&url);
        let fault = tokio::time::timeout(PATIENCE, opened).await.unwrap().unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
        let looked = tenure(&url).store().health().await.unwrap();
        assert!(looked.iter().any(|diagnostic| diagnostic.found.contains("no session begins")));
    }
    // Of which one is there.
    let hosts = format!("127.0.0.1:1,{}", quiet_server().address());
    ZookeeperStore::open(&format!("zookeeper://{hosts}{}?tick=500ms", path())).await.unwrap();
}

/// Something listens there that does not speak ZooKeeper's protocol, or does not speak at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_silent_certainly_did_nothing() {
    let silent = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("zookeeper://{}?response_timeout=500ms", silent.local_addr().unwrap());
    let (fault, error) = refused(&url).await;
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    assert!(matches!(error, AcquireError::Unreachable(_)), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_only_read_is_told_what_is_missing() {
    let path = path();
    let admin = Client::connect(&quiet_server().address().to_string()).await.unwrap();
    admin.auth("digest", b"admin:secret").await.unwrap();
    let acls = [
        Acl::new(Permission::READ, AuthId::anyone()),
        Acl::new(Permission::ALL, AuthId::new("auth", "")),
    ];
    let options = CreateMode::Persistent.with_acls(Acls::from(acls.as_slice()));
    admin.create(&path, b"", &options).await.unwrap();
    let at = quiet_server().address();
    misconfigured(&format!("zookeeper://me:{SENTINEL}@{at}{path}"), "permit").await;
    let admin = tenure(&format!("zookeeper://admin:secret@{at}{path}"));
    hold(&admin, "lock").await.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_of_their_creator_are_refused_to_others() {
    let (at, path) = (quiet_server().address(), path());
    let own = tenure(&format!("zookeeper://me:right@{at}{path}?acl=creator"));
    let held = hold(&own, "lock").await;
    misconfigured(&format!("zookeeper://me:{SENTINEL}@{at}{path}?acl=creator"), "permit").await;
    held.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_too_short_for_the_tick_is_refused() {
    let (at, path) = (quiet_server().address(), path());
    misconfigured(&format!("zookeeper://{at}{path}?session=1s&tick=2s"), "too short").await;
    // The server's own bounds count, not what is asked for.
    misconfigured(&format!("zookeeper://{at}{path}?session=30s&tick=10s"), "too short").await;
}

#[cfg(feature = "sasl")]
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_of_sasl_is_refused() {
    let server = ZookeeperServer::with_sasl(&[("me", "right")], &[]);
    let (at, path) = (server.address(), path());
    let url = |password: &str| {
        format!("zookeeper://me:{password}@{at}{path}?auth=sasl&acl=creator&session=2s&tick=500ms")
    };
    let guard = hold(&tenure(&url("right")), "lock").await;
    misconfigured(&url(SENTINEL), "password").await;
    misconfigured(&url(SENTINEL).replace("//me:", "//stranger:"), "password").await;
    guard.release().await.unwrap();
}

/// A server of anybody's: it asks for a proof of the password, and gives this in return.
#[cfg(feature = "sasl")]
async fn impostor(gives: &'static [u8]) -> std::net::SocketAddr {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    const CHALLENGE: &[u8] = b"realm=\"zk-sasl-md5\",nonce=\"abc\",qop=\"auth\",algorithm=md5-sess";
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    let bytes = |text: &[u8]| {
        let length = |of: usize| u32::try_from(of).unwrap().to_be_bytes();
        [&length(20 + text.len())[..], &[0; 16], &length(text.len()), text].concat()
    };
    let welcome =
        [&[0, 0, 0, 37, 0, 0, 0, 0, 0, 0, 15, 160][..], &[7; 8], &[0, 0, 0, 16], &[1; 16], &[0]];
    let answers = [welcome.concat(), bytes(CHALLENGE), bytes(gives)];
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            for answer in &answers {
                let Ok(length) = stream.read_u32().await else { break };
                let mut asked = vec![0; length.try_into().unwrap()];
                if stream.read_exact(&mut asked).await.is_err()
                    || stream.write_all(answer).await.is_err()
                {
                    break;
                }
            }
            let _ = stream.read_u8().await;
        }
    });
    at
}

#[cfg(feature = "sasl")]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_prove_that_it_knows_the_password_is_refused_at_once() {
    for gives in [&b"rspauth=00000000000000000000000000000000"[..], b"", b"rspauth=", b"\xff"] {
        let url =
            format!("zookeeper://me:{SENTINEL}@{}?auth=sasl&session=10m", impostor(gives).await);
        misconfigured(&url, "did not prove that it knows the password").await;
        let waits = tenure(&url).mutex("lock").lock().wait(PATIENCE * 10).await;
        assert!(matches!(waits, Err(AcquireError::Misconfigured(_))), "{waits:?}");
        let found = tenure(&url).store().health().await.unwrap();
        assert!(
            found.iter().any(|diagnostic| diagnostic.found.contains("did not prove")),
            "{found:?}"
        );
    }
}

/// What was heard of it is told, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_keep_to_the_protocol_is_called_that() {
    use tokio::io::AsyncWriteExt;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(&[0x7f; 64]).await;
        }
    });
    let lock = tenure(&format!("zookeeper://{at}?response_timeout=500ms"));
    let error = lock.mutex("lock").try_lock().await.unwrap_err();
    assert!(format!("{error:?}").contains("too long"), "{error:?}");
}

#[cfg(feature = "tls")]
mod tls {
    use tenure_servers::Certificates;

    use super::*;
    use crate::support::{renewed, until, waiting};

    fn url(server: &ZookeeperServer, more: &str) -> String {
        let place = server.tls_place().unwrap();
        format!("zookeeper://{place}{}?tls=yes&session=2s&tick=500ms{more}", path())
    }

    fn with(certificates: &Certificates, files: &[(&str, &str)]) -> String {
        let of = |(setting, file): &(&str, &str)| {
            format!("&{setting}={}", certificates.file(file).display())
        };
        files.iter().map(of).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_lock_over_tls_is_taken_renewed_and_handed_on() {
        let certificates = Certificates::new();
        let server = ZookeeperServer::with_tls(&certificates, false);
        let url = url(&server, &with(&certificates, &[("ca", "ca.pem")]));
        let (one, other) = (tenure(&url), tenure(&url));
        let held = hold(&one, "lock").await;
        let token = held.token();
        let waits = tokio::spawn(async move { hold(&other, "lock").await.token() });
        until("it waits", async || waiting(&one, "lock").await == 1).await;
        renewed(&held).await;
        held.release().await.unwrap();
        assert!(waits.await.unwrap() > token);
        // A server whose authority is another's is refused.
        let stranger = Certificates::new();
        let url = self::url(&server, &with(&stranger, &[("ca", "ca.pem")]));
        misconfigured(&url, "ca=").await;
        // Nobody waits for what does not pass.
        let waits = tenure(&url).mutex("lock").lock().wait(PATIENCE * 10);
        let waited = tokio::time::timeout(PATIENCE, waits).await.unwrap();
        assert!(matches!(waited, Err(AcquireError::Misconfigured(_))), "{waited:?}");
    }

    async fn untrusted(url: &str) {
        let (fault, error) = refused(url).await;
        assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
        assert!(matches!(error, AcquireError::Unreachable(_)), "{error:?}");
        assert!(format!("{fault:#}").contains("cert="), "{fault:#}");
        assert!(format!("{error:#}").contains("cert="), "{error:#}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_that_wants_a_clients_certificate_gets_it() {
        let certificates = Certificates::new();
        let server = ZookeeperServer::with_tls(&certificates, true);
        let without = url(&server, &with(&certificates, &[("ca", "ca.pem")]));
        untrusted(&without).await;
        let files = [("ca", "ca.pem"), ("cert", "client.pem"), ("key", "client.key")];
        let url = url(&server, &with(&certificates, &files));
        hold(&tenure(&url), "lock").await.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_refused_is_told_how_many_may_wait_however_many_come_at_once() {
    let server = quiet_server();
    let tenure = tenure(&format!("{}{}?max_waiters=2", server.url(), path()));
    let _held = hold(&tenure, "lock").await;
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let lock = tenure.mutex("lock").fair().lock().wait(PATIENCE / 8);
        all.spawn(lock.into_future());
    }
    let mut refused = 0;
    for ended in all.join_all().await {
        match ended {
            Err(AcquireError::Full(failure)) => {
                let said = format!("{:#}", failure.fault);
                assert!(said.starts_with("its queue is full: 2 wait"), "{said}");
                refused += 1;
            }
            Err(AcquireError::TimedOut(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(refused >= 38, "{refused:#} were refused");
}

/// How many transactions a server has committed.
fn committed(server: &ZookeeperServer) -> u64 {
    let told = server.four_letters("srvr");
    let zxid = told.lines().find_map(|line| line.strip_prefix("Zxid: 0x")).unwrap();
    u64::from_str_radix(zxid.trim(), 16).unwrap()
}

/// Each ask of one that is refused made a node, which all servers wrote down, and listed the line.
#[tokio::test(flavor = "multi_thread")]
async fn who_asks_again_while_the_line_is_full_makes_no_node_and_gets_in_once_there_is_room() {
    use tenure_core::{
        Store,
        proto::queue::{Answer, Intent, Kind, Mode},
    };
    let server = ZookeeperServer::start();
    let permit = Mode::Permits { take: 1, of: 1 };
    for (kind, mode) in [
        (Kind::Mutex, Mode::Exclusive),
        (Kind::ReadWrite, Mode::Exclusive),
        (Kind::Semaphore, permit),
    ] {
        let url = format!("{}{}?max_waiters=3&session=30s", server.url(), path());
        let [store, other] = [(); 2].map(|()| crate::support::store(&url));
        let lock = crate::support::name("lock");
        let ask = |owner| {
            let mut ask = crate::support::ask(owner, Intent::Wait { position: None });
            (ask.kind, ask.mode) = (kind, mode);
            ask
        };
        assert!(matches!(store.acquire(&lock, &ask(1)).await.unwrap(), Answer::Granted { .. }));
        for owner in 2..=4 {
            let waits = store.acquire(&lock, &ask(owner)).await.unwrap();
            assert!(matches!(waits, Answer::Busy { .. }), "{waits:?}");
        }
        let refused = async |owner| {
            let fault = store.acquire(&lock, &ask(owner)).await.unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Full, "{fault:#}");
        };
        refused(5).await;
        let before = committed(&server);
        for _ in 0..10 {
            futures_util::future::join_all((5..=24).map(refused)).await;
        }
        let made = committed(&server) - before;
        // What renews the sessions is in it.
        assert!(made < 20, "{made} transactions for 200 who were refused");
        // Whoever has a place keeps it.
        let waits = store.acquire(&lock, &ask(4)).await.unwrap();
        assert!(matches!(waits, Answer::Busy { ahead: 2, .. }), "{waits:?}");
        // Another process is not told what this one saw.
        let fault = other.acquire(&lock, &ask(30)).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Full, "{fault:#}");
        store.release(&lock, &ask(3).owner, std::time::Duration::ZERO).await.unwrap();
        let waits = other.acquire(&lock, &ask(30)).await.unwrap();
        assert!(matches!(waits, Answer::Busy { ahead: 2, .. }), "{waits:?}");
        refused(5).await;
        other.release(&lock, &ask(30).owner, std::time::Duration::ZERO).await.unwrap();
        let waits = store.acquire(&lock, &ask(5)).await.unwrap();
        assert!(matches!(waits, Answer::Busy { ahead: 2, .. }), "{waits:?}");
    }
}
