//! What this test binary does when it runs again as a process of its own.

use std::time::Duration;

use tenure_core::{Guard, Timestamp};
pub(crate) use tenure_testkit::child::Process;
use tenure_testkit::child::{order, role, say};

use crate::support::{hold, tenure};

/// Not a test by itself: what a child does.
#[test]
fn plays_its_role() {
    let Some(role) = role() else { return };
    let words: Vec<_> = role.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match words.as_slice() {
        ["hold", url] => runtime.block_on(hold_on(url)),
        other => panic!("no such role: {other:?}"),
    }
}

async fn hold_on(url: &str) {
    let tenure = tenure(url);
    let guard = hold(&tenure, "lock").await;
    say(format_args!("held {}", guard.token()));
    loop {
        let order = tokio::task::spawn_blocking(order).await.unwrap();
        match order.as_str() {
            "check" => match guard.check() {
                Ok(token) => say(token),
                Err(lost) => say(format_args!("lost: {lost:#}")),
            },
            "deadline" => say(guard.deadline().as_nanos()),
            "renewed" => {
                renewed(&guard).await;
                say(guard.deadline().as_nanos());
            }
            "lost" => {
                guard.lost().await;
                say(guard.deadline().as_nanos());
            }
            other => panic!("no such order: {other:?}"),
        }
    }
}

/// Waits for the next renewal, or until it is lost.
async fn renewed(guard: &Guard) {
    let before = guard.deadline();
    while guard.deadline() == before && guard.check().is_ok() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A deadline that a child has told; its clock is ours.
pub(crate) fn deadline(told: &str) -> Timestamp {
    Timestamp::from_nanos(told.parse().unwrap())
}
