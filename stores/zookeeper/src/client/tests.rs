#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

fn frame(body: &[u8]) -> Vec<u8> {
    [&u32::try_from(body.len()).unwrap().to_be_bytes(), body].concat()
}

fn welcome(id: i64, length: i32) -> Vec<u8> {
    let mut body = Writer::default();
    body.int(0);
    body.int(length);
    body.long(id);
    body.bytes(&[1; 16]);
    body.flag(false);
    frame(&body.0)
}

async fn request(stream: &mut TcpStream) -> Vec<u8> {
    let length = stream.read_u32().await.unwrap();
    let mut body = vec![0; length.try_into().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    body
}

/// Answers what is first asked on a connection: who is there, and a ping.
async fn begin(stream: &mut TcpStream, id: i64, length: i32) {
    request(stream).await;
    stream.write_all(&welcome(id, length)).await.unwrap();
    assert_eq!(request(stream).await[..8], [-2_i32, op::PING].map(i32::to_be_bytes).concat());
    pong(stream).await;
}

async fn pong(stream: &mut TcpStream) {
    let header = [&(-2_i32).to_be_bytes()[..], &[0; 12]].concat();
    stream.write_all(&frame(&header)).await.unwrap();
}

#[tokio::test]
async fn a_server_that_never_answers_a_call_is_called_again_long_before_the_session_runs_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serves = tokio::spawn(async move {
        begin(&mut listener.accept().await.unwrap().0, 7, 60_000).await;
        // As one does that has just started.
        let (mut silent, _) = listener.accept().await.unwrap();
        request(&mut silent).await;
        let (mut stream, _) = listener.accept().await.unwrap();
        begin(&mut stream, 7, 60_000).await;
        (silent, stream)
    });
    let client = Client::connector().connect(&[("127.0.0.1".to_owned(), port)]).await.unwrap();
    let _streams = timeout(PATIENCE, serves).await.unwrap().unwrap();
    assert!(!client.state().is_terminated());
}

/// Answers each call, but late, and hangs up on the first.
async fn serves_late(listener: TcpListener, called: Arc<AtomicUsize>) {
    let mut kept = Vec::new();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let is_first = called.fetch_add(1, Ordering::Relaxed) == 0;
        kept.push(tokio::spawn(async move {
            request(&mut stream).await;
            tokio::time::sleep(Duration::from_millis(1_200)).await;
            stream.write_all(&welcome(7, 4_000)).await.unwrap();
            request(&mut stream).await;
            pong(&mut stream).await;
            if !is_first {
                std::future::pending::<()>().await;
            }
        }));
    }
}

#[tokio::test]
async fn a_session_goes_on_where_all_servers_are_as_slow_as_when_it_began() {
    let (mut servers, called) = (Vec::new(), Arc::new(AtomicUsize::new(0)));
    let mut serve = Vec::new();
    for _ in 0..3 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        servers.push(("127.0.0.1".to_owned(), listener.local_addr().unwrap().port()));
        serve.push(tokio::spawn(serves_late(listener, called.clone())));
    }
    let client = Client::connector().connect(&servers).await.unwrap();
    let mut states = client.state_watcher();
    loop {
        match timeout(PATIENCE, states.changed()).await.unwrap() {
            SessionState::Disconnected => {}
            state => {
                assert_eq!(state, SessionState::SyncConnected);
                break;
            }
        }
    }
    // Each call in vain would cost a part of the session.
    assert_eq!(called.load(Ordering::Relaxed), 2);
    serve.iter().for_each(tokio::task::JoinHandle::abort);
}

/// How a session stands that another server goes on with in this way.
async fn goes_on_as(id: i64, length: i32) -> SessionState {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serves = tokio::spawn(async move {
        begin(&mut listener.accept().await.unwrap().0, 7, 4_000).await;
        let (mut stream, _) = listener.accept().await.unwrap();
        let asked = request(&mut stream).await;
        assert_eq!(asked[16..24], 7_i64.to_be_bytes());
        stream.write_all(&welcome(id, length)).await.unwrap();
        if stream.read_u32().await.is_ok() {
            pong(&mut stream).await;
        }
        std::future::pending::<()>().await;
    });
    let client = Client::connector().connect(&[("127.0.0.1".to_owned(), port)]).await.unwrap();
    let mut states = client.state_watcher();
    let settles = async {
        loop {
            match states.changed().await {
                SessionState::Disconnected => {}
                other => return other,
            }
        }
    };
    let state = timeout(PATIENCE, settles).await.unwrap();
    serves.abort();
    state
}

#[tokio::test]
async fn a_session_that_goes_on_as_another_one_or_for_less_is_over() {
    assert_eq!(goes_on_as(7, 4_000).await, SessionState::SyncConnected);
    assert_eq!(goes_on_as(7, 60_000).await, SessionState::SyncConnected);
    for (id, length) in [(8, 4_000), (7, 3_999), (0, 4_000), (7, 0)] {
        assert_eq!(goes_on_as(id, length).await, SessionState::Expired, "{id} {length}");
    }
}

#[cfg(feature = "sasl")]
mod proof {
    use super::{
        super::sasl::{DigestResponse, value},
        *,
    };

    const CHALLENGE: &str =
        "realm=\"zk-sasl-md5\",nonce=\"OA6MG9tEQGm2hh\",qop=\"auth\",algorithm=md5-sess";

    /// Asks for a proof of the password, and gives one in return by this password.
    async fn asks(stream: &mut TcpStream, password: &str) {
        request(stream).await;
        stream.write_all(&welcome(7, 4_000)).await.unwrap();
        request(stream).await;
        said(stream, CHALLENGE).await;
        let proof = request(stream).await;
        let text = std::str::from_utf8(&proof[12..]).unwrap();
        let expected = DigestResponse::of(
            CHALLENGE.as_bytes(),
            "me",
            password,
            value(text, "cnonce").unwrap(),
        );
        said(stream, &format!("rspauth={}", expected.unwrap().expects)).await;
    }

    async fn said(stream: &mut TcpStream, text: &str) {
        let mut body = Writer::default();
        body.int(0);
        body.long(0);
        body.int(0);
        body.bytes(text.as_bytes());
        stream.write_all(&frame(&body.0)).await.unwrap();
    }

    #[tokio::test]
    async fn a_session_ends_where_a_server_goes_on_with_it_that_does_not_know_the_password() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serves = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            asks(&mut stream, "right").await;
            request(&mut stream).await;
            pong(&mut stream).await;
            drop(stream);
            asks(&mut listener.accept().await.unwrap().0, "guessed").await;
            // It gets no other proof.
            listener.accept().await.is_ok()
        });
        let connector = Client::connector().with_sasl("me", "right".into());
        let client = connector.connect(&[("127.0.0.1".to_owned(), port)]).await.unwrap();
        let mut states = client.state_watcher();
        let ends = async {
            while client.state() != SessionState::Unproven {
                assert!(!client.state().is_terminated());
                states.changed().await;
            }
        };
        timeout(PATIENCE, ends).await.unwrap();
        assert_eq!(client.check_stat("/").await, Err(Error::Unproven));
        assert!(!serves.is_finished());
        serves.abort();
    }
}
