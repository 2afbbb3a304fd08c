//! A server that answers, but with LOADING or BUSY.

use std::{sync::Arc, thread, time::Duration};

use tenure_core::{AcquireError, LostReason};
use tenure_testkit::server::{RedisServer, redis::Reply};

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
    falls_sick: impl FnOnce(),
    gets_well: impl FnOnce(),
) {
    let (one, other) = (tenure(&server.url()), tenure(&server.url()));
    let kept = hold(&one, "kept", LONG).await;
    let short = hold(&one, "short", SHORT).await;
    let waits = tokio::spawn(async move { hold(&other, "kept", LONG).await.token() });
    until("it waits", async || waiting(&one, "kept").await == 1).await;

    falls_sick();
    until("it is sick", async || answers_with(server, code)).await;
    let error = one.mutex("other").try_lock().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unreachable { .. }), "{error:?}");
    let said = error.to_string();
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

#[tokio::test]
async fn a_server_that_loads_its_data_is_ridden_out() {
    let server = RedisServer::start();
    server.command(&["DEBUG", "POPULATE", "2000"]);
    for (setting, value) in
        [("key-load-delay", "1000"), ("loading-process-events-interval-bytes", "1024")]
    {
        let set = server.command(&["CONFIG", "SET", setting, value]);
        assert_eq!(set, Reply::Text("OK".to_owned()));
    }
    let server = Arc::new(server);
    let loads = server.clone();
    let advice = ["still loading its data", "wait until it has started"];
    is_ridden_out(
        &server,
        "LOADING",
        advice,
        || {
            thread::spawn(move || loads.command(&["DEBUG", "RELOAD"]));
        },
        || {},
    )
    .await;
}

#[tokio::test]
async fn a_server_busy_with_a_slow_script_is_ridden_out() {
    let server = Arc::new(RedisServer::start());
    server.command(&["CONFIG", "SET", "busy-reply-threshold", "20"]);
    let loops = server.clone();
    let advice = ["busy with somebody's slow script", "SCRIPT KILL"];
    is_ridden_out(
        &server,
        "BUSY",
        advice,
        || {
            thread::spawn(move || loops.command(&["EVAL", "while true do end", "0"]));
        },
        || assert_eq!(server.command(&["SCRIPT", "KILL"]), Reply::Text("OK".to_owned())),
    )
    .await;
}
