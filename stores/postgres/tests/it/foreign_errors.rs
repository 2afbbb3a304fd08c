//! Behind a pooler that brings a client the error of what another one asked, before its own answer.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use tenure_core::{
    FaultKind, Store,
    proto::queue::{Answer, Released},
};
use tenure_servers::PgBouncer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

use crate::support::{fresh_database, hold, name, quiet_server, store, tenure, tries};

/// What other programs' mistakes come to, what a pooler's clients prepare twice or nowhere, and what may pass.
const CODES: [&str; 8] = ["42501", "42P01", "42601", "26000", "42P05", "40001", "53100", "25006"];

/// What is to be answered by an error first.
#[derive(Clone)]
struct ForeignError {
    /// A part of what is asked.
    of: &'static str,
    code: &'static str,
    /// Whether the answer that it is for comes behind it, or to somebody else.
    is_followed: bool,
}

/// A pooler's client, as the relay sees it.
#[derive(Default)]
struct Session {
    next: Mutex<Option<ForeignError>>,
    is_in_doubt: AtomicBool,
}

/// Stands before a pooler.
#[derive(Default)]
struct Relay {
    errors: Mutex<Vec<ForeignError>>,
    /// Whether something was asked over a session in which another answer may come.
    was_asked_in_doubt: AtomicBool,
}

impl Relay {
    /// Before this pooler, and the URL by which it is reached.
    async fn start(url: &str) -> (String, Arc<Self>) {
        let to = url.split(['@', '/']).nth(3).unwrap().to_owned();
        let (relay, listener) =
            (Arc::new(Self::default()), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let at = listener.local_addr().unwrap().to_string();
        let (url, all) = (url.replace(&to, &at), relay.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = TcpStream::connect(&to).await.unwrap().into_split();
                let session = Arc::new(Session::default());
                tokio::spawn(all.clone().forward(session.clone(), from_client, to_server));
                tokio::spawn(session.back(from_server, to_client));
            }
        });
        (url, relay)
    }

    fn answer_by(&self, of: &'static str, code: &'static str, is_followed: bool) {
        self.errors.lock().unwrap().push(ForeignError { of, code, is_followed });
    }

    fn error_for(&self, asked: &[u8]) -> Option<ForeignError> {
        let text = String::from_utf8_lossy(asked);
        let mut errors = self.errors.lock().unwrap();
        let at = errors.iter().position(|error| text.contains(error.of))?;
        Some(errors.remove(at))
    }

    fn has_sent_all(&self) -> bool {
        self.errors.lock().unwrap().is_empty()
    }

    async fn forward(
        self: Arc<Self>,
        session: Arc<Session>,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
    ) {
        let mut bytes = [0; 16_384];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            let asked = &bytes[..count];
            if asked[0] != b'X' && session.is_in_doubt.load(SeqCst) {
                self.was_asked_in_doubt.store(true, SeqCst);
            }
            if let Some(error) = self.error_for(asked) {
                *session.next.lock().unwrap() = Some(error);
            }
            if to.write_all(asked).await.is_err() {
                break;
            }
        }
    }
}

impl Session {
    async fn back(self: Arc<Self>, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let (mut head, mut is_lost) = ([0; 5], false);
        while from.read_exact(&mut head).await.is_ok() {
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; usize::try_from(length).unwrap() - 4];
            if from.read_exact(&mut body).await.is_err() {
                break;
            }
            let mut all = [&head[..], &body].concat();
            if let Some(error) = self.next.lock().unwrap().take() {
                self.is_in_doubt.store(true, SeqCst);
                is_lost = !error.is_followed;
                let said =
                    format!("SERROR\0VERROR\0C{}\0Mwhat another client asked\0\0", error.code);
                let behind = if is_lost { Vec::new() } else { all };
                all = [message(b'E', said.as_bytes()), message(b'Z', b"I"), behind].concat();
            } else if is_lost {
                is_lost = head[0] != b'Z';
                continue;
            }
            if to.write_all(&all).await.is_err() {
                break;
            }
        }
    }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag], &length.to_be_bytes()[..], body].concat()
}

/// A pooler, a URL of a database with tables behind it and behind the relay, and the relay.
async fn behind_relay() -> (PgBouncer, String, Arc<Relay>) {
    let direct = fresh_database().await;
    hold(&tenure(&direct), "made", Duration::from_secs(5)).await.release().await.unwrap();
    let pooler = PgBouncer::start(quiet_server(), 2, &[]);
    let (url, relay) = Relay::start(&pooler.url_of(direct.rsplit('/').next().unwrap())).await;
    (pooler, format!("{url}?listen=no&connections=1"), relay)
}

/// The effect is there, and whoever repeats the release finds nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_worked_is_not_told_as_a_loss() {
    let (_pooler, url, relay) = behind_relay().await;
    let tenure = tenure(&url);
    for code in CODES {
        for is_followed in [true, false] {
            let held = hold(&tenure, "lock", Duration::from_secs(60)).await;
            relay.answer_by("owner = null, client = null", code, is_followed);
            let released = held.release().await;
            assert!(released.is_ok(), "{code}: {released:?}");
            assert!(relay.has_sent_all(), "{code}");
        }
    }
    assert!(!relay.was_asked_in_doubt.load(SeqCst));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_and_an_eviction_are_in_doubt_if_another_clients_error_comes_first() {
    let (_pooler, url, relay) = behind_relay().await;
    let asks = store(&url);
    for (number, code) in CODES.into_iter().enumerate() {
        for is_followed in [true, false] {
            let lock = name(&format!("lock {number} {is_followed}"));
            relay.answer_by("insert into", code, is_followed);
            let asked = asks.acquire(&lock, &tries(1)).await;
            let kind = asked.as_ref().map_err(tenure_core::Fault::kind);
            assert!(matches!(kind, Err(FaultKind::InDoubt)), "{code}: {asked:?}");
            let released = asks.release(&lock, &tries(1).owner, Duration::ZERO).await;
            assert_eq!(released.unwrap(), Released::Released, "{code}: it had its effect");

            assert!(asks.acquire(&lock, &tries(2)).await.is_ok());
            relay.answer_by("for update skip locked", code, is_followed);
            let evicted = asks.evict(&lock).await;
            let kind = evicted.as_ref().map_err(tenure_core::Fault::kind);
            assert!(matches!(kind, Err(FaultKind::InDoubt)), "{code}: {evicted:?}");
            assert!(asks.inspect(&lock).await.unwrap().holders.is_empty(), "{code}");
            assert!(relay.has_sent_all(), "{code}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_that_comes_twice_is_believed() {
    let (_pooler, url, relay) = behind_relay().await;
    let asks = store(&url);
    relay.answer_by("insert into", "42501", true);
    relay.answer_by("insert into", "42501", true);
    let refused = asks.acquire(&name("lock"), &tries(1)).await.unwrap_err();
    assert_eq!(refused.kind(), FaultKind::Misconfigured, "{refused:#}");
    assert!(relay.has_sent_all());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_is_made_again_after_another_clients_error_and_nobody_gets_its_late_answer() {
    let (_pooler, url, relay) = behind_relay().await;
    let asks = store(&url);
    let lock = name("lock");
    asks.acquire(&lock, &tries(1)).await.unwrap();
    for code in CODES {
        for is_followed in [true, false] {
            relay.answer_by("left join", code, is_followed);
            let mut reads = tokio::task::JoinSet::new();
            for _ in 0..8 {
                let (asks, lock) = (asks.clone(), lock.clone());
                reads.spawn(async move { asks.inspect(&lock).await });
            }
            while let Some(read) = reads.join_next().await {
                assert_eq!(read.unwrap().unwrap().holders.len(), 1, "{code}");
            }
            assert!(relay.has_sent_all(), "{code}");
            let other = name(&format!("other {code} {is_followed}"));
            let granted = asks.acquire(&other, &tries(1)).await;
            assert!(matches!(granted, Ok(Answer::Granted { .. })), "{code}: {granted:?}");
        }
    }
    assert!(!relay.was_asked_in_doubt.load(SeqCst), "a late answer was for the next one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_connection_believes_no_error_of_another_client() {
    let (_pooler, url, relay) = behind_relay().await;
    for code in CODES {
        for is_followed in [true, false] {
            for asked in ["from pg_settings", "from tenure.meta", "from pg_catalog.pg_class"] {
                relay.answer_by(asked, code, is_followed);
                let looked = store(&format!("{url}&create=no")).inspect(&name("lock")).await;
                assert!(looked.is_ok(), "{code} to {asked}: {looked:?}");
                assert!(relay.has_sent_all(), "{code} to {asked}");
            }
        }
    }
}
