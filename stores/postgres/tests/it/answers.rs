//! Behind a pooler that brings a client the answer to what another one asked.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use tenure_core::Store;
use tenure_servers::PgBouncer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};
use tokio_postgres::NoTls;

use crate::support::{
    PATIENCE, fresh_database, hold, name, quiet_server, sql, store, tenure, tries, until,
};

const LONG: Duration = Duration::from_secs(3_600);

/// Asks two questions at once and is gone after the first answer.
async fn leaves_in_the_middle(url: &str, second: &str) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let kept = tokio::spawn(connection);
    let slow = format!("{second} from pg_sleep(0.5)");
    let asked = async {
        let first = client.query_typed("select 1", &[]);
        let both = futures_util::future::join(first, client.query_typed(&slow, &[]));
        both.await.1
    };
    let seen = async {
        // Sent behind the other two, and with an answer of its own none of these is waited for to its end.
        tokio::time::timeout(Duration::from_millis(200), asked).await
    };
    assert!(seen.await.is_err(), "the second answer is late");
    kept.abort();
    let _ = kept.await;
}

/// What would be read as a grant, as that the row was written, and as a renewal.
const ANSWERS: [&str; 3] = [
    "select 4611686018427387904::bigint, false",
    "select 1::bigint, 0::bigint",
    "select 1::bigint, 3600000000::bigint, false",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_is_held_is_granted_to_nobody_by_an_answer_to_another_client() {
    for mode in ["transaction", "statement"] {
        let line = format!("pool_mode = {mode}");
        let pooler = PgBouncer::start(quiet_server(), 1, &[&line]);
        for answer in ANSWERS {
            let direct = fresh_database().await;
            let holder = tenure(&direct);
            let held = hold(&holder, "lock", LONG).await;
            let url = pooler.url_of(direct.rsplit('/').next().unwrap());
            let asks = store(&format!("{url}?listen=no&connections=1"));
            asks.inspect(&name("lock")).await.unwrap();
            leaves_in_the_middle(&url, answer).await;
            for _ in 0..3 {
                let answered = asks.acquire(&name("lock"), &tries(1)).await;
                assert!(
                    !matches!(answered, Ok(tenure_core::proto::queue::Answer::Granted { .. })),
                    "{mode}: {answered:?} by {answer}"
                );
            }
            held.release().await.unwrap();
            until("it gets its own answers again", async || {
                asks.acquire(&name("lock"), &tries(1)).await.is_ok()
            })
            .await;
            let seen = asks.inspect(&name("lock")).await.unwrap();
            assert_eq!(seen.holders.len(), 1, "{mode}: {answer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_that_is_gone_is_not_renewed_by_an_answer_to_another_client() {
    let pooler = PgBouncer::start(quiet_server(), 1, &[]);
    let direct = fresh_database().await;
    let url = pooler.url_of(direct.rsplit('/').next().unwrap());
    let holds = store(&format!("{url}?listen=no&connections=1"));
    let lock = name("lock");
    holds.acquire(&lock, &tries(1)).await.unwrap();
    store(&direct).evict(&lock).await.unwrap();
    leaves_in_the_middle(&url, ANSWERS[2]).await;
    let renewal = tenure_core::store::Renewal {
        name: lock.clone(),
        owner: tries(1).owner,
        ttl: Duration::from_secs(60),
    };
    let renewed = holds.renew(std::slice::from_ref(&renewal)).await.pop().unwrap();
    assert!(
        !matches!(renewed, Ok(tenure_core::proto::Renewed::Renewed { .. })),
        "it was evicted: {renewed:?}"
    );
}

/// Lets an error through, and the end of that answer later.
#[derive(Default)]
struct Relay {
    is_open: AtomicBool,
    errors: AtomicUsize,
    has_gone_ahead: AtomicBool,
}

impl Relay {
    async fn start(to: String) -> (u16, Arc<Self>) {
        let (relay, listener) =
            (Arc::new(Self::default()), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let (port, all) = (listener.local_addr().unwrap().port(), relay.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&to).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let of = Arc::new(Self::default());
                tokio::spawn(of.clone().forward(all.clone(), from_client, to_server));
                tokio::spawn(of.back(all.clone(), from_server, to_client));
            }
        });
        (port, relay)
    }

    async fn forward(
        self: Arc<Self>,
        all: Arc<Self>,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
    ) {
        let mut bytes = [0; 4_096];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            if self.is_open.load(SeqCst) {
                all.has_gone_ahead.store(true, SeqCst);
            }
            if to.write_all(&bytes[..count]).await.is_err() {
                break;
            }
        }
    }

    async fn back(
        self: Arc<Self>,
        all: Arc<Self>,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
    ) {
        let mut head = [0; 5];
        while from.read_exact(&mut head).await.is_ok() {
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; usize::try_from(length).unwrap() - 4];
            if from.read_exact(&mut body).await.is_err() {
                break;
            }
            if head[0] == b'Z' && self.is_open.load(SeqCst) {
                tokio::time::sleep(Duration::from_millis(200)).await;
                self.is_open.store(false, SeqCst);
            }
            if head[0] == b'E' {
                self.is_open.store(true, SeqCst);
                all.errors.fetch_add(1, SeqCst);
            }
            if to.write_all(&[&head[..], &body].concat()).await.is_err() {
                break;
            }
        }
    }
}

/// PgBouncer before 1.22.1 brings the next client the answer to what was sent meanwhile, once we leave.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_behind_a_pooler_before_an_answer_is_over() {
    let pooler = PgBouncer::start(quiet_server(), 4, &[]);
    let direct = fresh_database().await;
    let url = pooler.url_of(direct.rsplit('/').next().unwrap());
    let to = url.split(['@', '/']).nth(3).unwrap().to_owned();
    let (port, relay) = Relay::start(to.clone()).await;
    let url = url.replace(&to, &format!("127.0.0.1:{port}"));
    // That the tables are not there is an error.
    let asks = tenure(&format!("{url}?listen=no&connections=1"));
    hold(&asks, "lock", LONG).await.release().await.unwrap();
    assert!(relay.errors.load(SeqCst) > 1, "it is told that settings and tables are not there");
    // So is that somebody else has a row locked.
    let before = relay.errors.load(SeqCst);
    let stranger = crate::support::session(&direct).await.unwrap();
    crate::support::told(&stranger, "begin; select 1 from tenure.locks for update").await.unwrap();
    let asked = tokio::spawn(async move { hold(&asks, "lock", LONG).await.release().await });
    until("it waits", async || relay.errors.load(SeqCst) > before + 1).await;
    crate::support::told(&stranger, "rollback").await.unwrap();
    tokio::time::timeout(PATIENCE, asked).await.unwrap().unwrap().unwrap();
    assert!(!relay.has_gone_ahead.load(SeqCst), "something was sent before the end of an answer");
}

/// Asks two questions at once in the simple way, of which the second fails late, and is gone after the first answer.
async fn fails_when_it_has_left(url: &str, code: &str) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let kept = tokio::spawn(connection);
    let late = format!(
        "do $$ begin perform pg_sleep(0.5); raise exception using errcode = '{code}'; end $$"
    );
    let both =
        futures_util::future::join(client.batch_execute("select 1"), client.batch_execute(&late));
    assert!(tokio::time::timeout(Duration::from_millis(200), both).await.is_err());
    kept.abort();
    let _ = kept.await;
}

/// It may have had an effect, whatever the error says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_that_is_refused_by_an_error_of_another_client_is_taken_back() {
    let pooler = PgBouncer::start(quiet_server(), 1, &[]);
    for code in ["40001", "53100", "25006", "42501", "42P01", "26000", "42P05"] {
        let direct = fresh_database().await;
        hold(&tenure(&direct), "lock", LONG).await.release().await.unwrap();
        let url = pooler.url_of(direct.rsplit('/').next().unwrap());
        let asks = tenure(&format!("{url}?listen=no&connections=1&response_timeout=1s"));
        hold(&asks, "other", LONG).await.release().await.unwrap();
        fails_when_it_has_left(&url, code).await;
        let asked = asks.mutex("lock").ttl(Duration::from_secs(60)).try_lock().await;
        if let Ok(held) = asked {
            held.unwrap().release().await.unwrap();
        }
        asks.shutdown(PATIENCE).await.unwrap();
        let held = "select name from tenure.locks where owner is not null";
        until("it is taken back", async || sql(&direct, held).await.is_empty()).await;
    }
}
