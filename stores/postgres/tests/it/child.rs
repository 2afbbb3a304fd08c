//! What this test binary does when it runs again as a process of its own.

use std::time::Duration;

pub(crate) use tenure_testkit::child::Process;
use tenure_testkit::{
    child::{order, role, say},
    counting,
};

use crate::{
    ledger::Table,
    support::{hold, tenure},
};

/// Not a test by itself: what a child does.
#[test]
fn plays_its_role() {
    let Some(role) = role() else { return };
    let words: Vec<_> = role.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match words.as_slice() {
        ["hold", url, ttl] => runtime.block_on(hold_on(url, ttl.parse().unwrap())),
        ["leave", url] => runtime.block_on(leave(url)),
        ["count", url, process, rounds] => {
            let (process, rounds) = (process.parse().unwrap(), rounds.parse().unwrap());
            say(runtime.block_on(counting::count::<Table>(&tenure(url), url, process, rounds)));
        }
        other => panic!("no such role: {other:?}"),
    }
}

async fn hold_on(url: &str, ttl: u64) {
    let tenure = tenure(url);
    let guard = hold(&tenure, "lock", Duration::from_millis(ttl)).await;
    say(format_args!("held {}", guard.token()));
    loop {
        match tokio::task::spawn_blocking(order).await.unwrap().as_str() {
            "check" => match guard.check() {
                Ok(token) => say(token),
                Err(lost) => say(format_args!("lost: {lost:#}")),
            },
            other => panic!("no such order: {other:?}"),
        }
    }
}

/// Asks for the lock for an hour, gives up soon, and ends in order.
async fn leave(url: &str) {
    let tenure = tenure(url);
    let lock = tenure.mutex("lock").lock().ttl(Duration::from_secs(3_600));
    let asked = tokio::time::timeout(Duration::from_millis(200), async { lock.await }).await;
    assert!(asked.is_err(), "it was to wait");
    tenure.shutdown(Duration::from_secs(20)).await.unwrap();
    say("left");
    std::process::exit(0);
}
