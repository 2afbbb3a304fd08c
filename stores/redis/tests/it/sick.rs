//! A server that answers, but with LOADING or BUSY.

use std::{io::Write, net::TcpStream, time::Duration};

use tenure_core::{AcquireError, FaultKind, LostReason};
use tenure_redis::RedisStore;
use tenure_servers::{RedisServer, redis::Reply};

use crate::support::{PATIENCE, hold, lost, tenure, until, waiting};

/// Longer than any sickness here.
const LONG: Duration = Duration::from_secs(30);
/// Shorter than any.
const SHORT: Duration = Duration::from_millis(600);

/// Whether the server refuses commands with this code.
fn answers_with(server: &RedisServer, code: &str) -> bool {
    matches!(server.command(&["GET", "x"]), Reply::Error(error) if error.starts_with(code))
}

/// What must hold while the server refuses everything with `code`, and afterwards.
async fn is_ridden_out(
    server: &RedisServer,
    code: &str,
    advice: [&str; 2],
    cause: &str,
    gets_well: impl FnOnce() + Send,
) {
    let (one, other) = (tenure(&server.url()), tenure(&server.url()));
    let kept = hold(&one, "kept", LONG).await;
    let short = hold(&one, "short", SHORT).await;
    let waits = tokio::spawn(async move { hold(&other, "kept", LONG).await.token() });
    until("it waits", async || waiting(&one, "kept").await == 1).await;

    let _cause = sent(server, cause);
    until("it is sick", async || answers_with(server, code)).await;
    let error = one.mutex("other").try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unreachable { .. }), "{error:?}");
    let said = format!("{error:#}");
    assert!(advice.iter().all(|advice| said.contains(advice)), "{said}");
    // What cannot be renewed is lost by its own clock, and what has time left is not.
    assert_eq!(lost(&short).await, LostReason::Deadline);
    assert!(answers_with(server, code), "the sickness was over before the lease");
    kept.check().unwrap();
    assert!(!waits.is_finished());

    gets_well();
    until("it is well", async || !answers_with(server, code)).await;
    assert!(hold(&one, "short", SHORT).await.token() > short.token());
    let token = kept.token();
    kept.release().await.unwrap();
    assert!(tokio::time::timeout(PATIENCE, waits).await.unwrap().unwrap() > token);
}

/// Sends a command that takes long, and waits for no answer. A thread that did would keep the server
/// running when the test fails.
fn sent(server: &RedisServer, command: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
    stream
}

#[tokio::test]
async fn a_server_that_loads_its_data_is_ridden_out() {
    let server = RedisServer::start();
    server.command(&["DEBUG", "POPULATE", "3000"]);
    for (setting, value) in
        [("key-load-delay", "1000"), ("loading-process-events-interval-bytes", "1024")]
    {
        let set = server.command(&["CONFIG", "SET", setting, value]);
        assert_eq!(set, Reply::Text("OK".to_owned()));
    }
    let advice = ["still loading its data", "wait until it has started"];
    is_ridden_out(&server, "LOADING", advice, "DEBUG RELOAD", || {}).await;
}

#[tokio::test]
async fn a_server_busy_with_a_slow_script_is_ridden_out() {
    let server = RedisServer::start();
    server.command(&["CONFIG", "SET", "busy-reply-threshold", "20"]);
    let advice = ["busy with a slow script", "SCRIPT KILL"];
    is_ridden_out(&server, "BUSY", advice, "EVAL \"while true do end\" 0", || {
        assert_eq!(server.command(&["SCRIPT", "KILL"]), Reply::Text("OK".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn a_server_that_cannot_tell_its_format_now_is_not_used_before_it_has() {
    let server = RedisServer::start();
    server.command(&["CONFIG", "SET", "busy-reply-threshold", "20"]);
    server.command(&["SET", "tenure:format", "3"]);
    let _cause = sent(&server, "EVAL \"while true do end\" 0");
    until("it is sick", async || answers_with(&server, "BUSY")).await;
    let fault = RedisStore::open(&server.url()).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    assert_eq!(server.command(&["SCRIPT", "KILL"]), Reply::Text("OK".to_owned()));
    until("it is well", async || !answers_with(&server, "BUSY")).await;
    let fault = RedisStore::open(&server.url()).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
}
