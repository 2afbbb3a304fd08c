//! Something stands in between that gives a session to others, and back without what it was told.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{
    FaultKind, Store,
    proto::queue::{Answer, Intent},
};
use tenure_mysql::MysqlStore;
use tenure_servers::MariadbServer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::support::{LONG, ask, name, outside, owner, run, sessions, take};

/// What resets a session: a packet of one byte.
const RESET: [u8; 5] = [1, 0, 0, 0, 0x1f];

/// It passes on what comes, and resets a session once more for each that it is told to.
struct Between {
    url: String,
    resets: Arc<AtomicU64>,
}

impl Between {
    async fn start(server: &MariadbServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = server.url();
        let behind = url.split(['@', '/']).nth(3).unwrap().to_owned();
        let in_front = url.replace(&behind, &format!("127.0.0.1:{port}"));
        let resets = Arc::new(AtomicU64::new(0));
        let told = resets.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&behind).await.unwrap();
                tokio::spawn(pass(client, server, told.clone()));
            }
        });
        Self { url: in_front, resets }
    }

    /// All sessions that are there are reset before what they are told next.
    fn reset(&self) {
        self.resets.fetch_add(1, Ordering::SeqCst);
    }
}

async fn pass(mut client: TcpStream, mut server: TcpStream, told: Arc<AtomicU64>) {
    let mut done = told.load(Ordering::SeqCst);
    let (mut asked, mut answered) = ([0; 65_536], [0; 65_536]);
    loop {
        tokio::select! {
            Ok(length) = client.read(&mut asked) => {
                let tell = told.load(Ordering::SeqCst);
                if length == 0 {
                    return;
                }
                if tell > done {
                    done = tell;
                    server.write_all(&RESET).await.unwrap();
                    let mut head = [0; 4];
                    server.read_exact(&mut head).await.unwrap();
                    let mut said = vec![0; usize::from(head[0])];
                    server.read_exact(&mut said).await.unwrap();
                    assert_eq!(said[0], 0, "it is reset");
                }
                if server.write_all(&asked[..length]).await.is_err() {
                    return;
                }
            }
            Ok(length) = server.read(&mut answered) => {
                if length == 0 || client.write_all(&answered[..length]).await.is_err() {
                    return;
                }
            }
            else => return,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_session_did_not_commit_is_not_believed() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let between = Between::start(&server).await;
    let store = MysqlStore::open(&between.url).await.unwrap();
    take(&store, "before", owner(1)).await;
    run(&mut conn, "set global autocommit = 0").await;
    let fresh = MysqlStore::open(&between.url).await.unwrap();
    between.reset();
    // At once, while nobody asks whether the session is still as it was.
    let granted = fresh.acquire(&name("lock"), &ask(owner(1), Intent::Try, LONG)).await;
    let fault = granted.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::InDoubt, "{fault:#}");
    assert!(format!("{fault:#}").contains("did not commit"), "{fault:#}");
    // The session is given up, and with it what it has not committed.
    take(&fresh, "lock", owner(2)).await;
    let asked = store.acquire(&name("lock"), &ask(owner(3), Intent::Try, LONG)).await;
    assert!(!matches!(asked, Ok(Answer::Granted { .. })), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_not_as_it_was_told_to_be_is_not_used_again() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let between = Between::start(&server).await;
    let store = MysqlStore::open(&between.url).await.unwrap();
    take(&store, "lock", owner(1)).await;
    let before = sessions(&mut conn).await;
    between.reset();
    // Long enough for a connection to be asked whether it is there.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let renewal = tenure_core::store::Renewal { name: name("lock"), owner: owner(1), ttl: LONG };
    let renewed = format!("{:?}", store.renew(&[renewal]).await);
    assert!(renewed.contains("Renewed"), "{renewed}");
    let after = sessions(&mut conn).await;
    assert!(after.iter().any(|session| !before.contains(session)), "{before:?} {after:?}");
}
