//! Processes that hold, and are killed or stand still.

use crate::{
    child::Process,
    fenced::Fenced,
    support::{PATIENCE, hold, nodes_under, path, quiet_server, tenure, until, waiting},
};

/// A URL on the server that nobody hurts, and its path.
fn quiet() -> (String, String) {
    let path = path();
    (format!("{}{path}?session=2s&tick=500ms", quiet_server().url()), path)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_holder_frees_the_lock_when_its_session_ends() {
    let (url, path) = quiet();
    let mut holder = Process::start(&["hold", &url]);
    let token = holder.says_held();
    let tenure = tenure(&url);
    let waits = tokio::spawn({
        let tenure = tenure.clone();
        async move { hold(&tenure, "lock").await }
    });
    until("it waits", async || waiting(&tenure, "lock").await == 1).await;
    holder.kill();
    assert_eq!(nodes_under(quiet_server(), &path).len(), 2, "its session has not ended yet");
    let next = waits.await.unwrap();
    assert!(next.token().get() > token);
    assert_eq!(nodes_under(quiet_server(), &path).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_frozen_for_longer_than_its_session_finds_its_hold_lost_and_its_late_write_refused()
 {
    let (url, _) = quiet();
    let mut holder = Process::start(&["hold", &url]);
    let token = holder.says_held();
    let resource = Fenced::create(&quiet_server().folder().join("counter"));
    let seen = resource.open(token).unwrap();
    let tenure = tenure(&url);
    holder.signal("-STOP");
    let next = hold(&tenure, "lock").await;
    assert!(next.token().get() > token);
    resource.open(next.token().get()).unwrap();
    holder.signal("-CONT");
    let said = holder.asked("check");
    assert!(said.starts_with("lost"), "{said}");
    assert!(!resource.write(token, seen + 1), "what the frozen one wrote late was taken");
    // Nothing that it does now touches the next holder.
    holder.asked("lost");
    crate::support::renewed(&next).await;
    crate::support::renewed(&next).await;
    assert!(resource.write(next.token().get(), seen + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_frozen_for_less_than_its_validity_keeps_its_lock() {
    let path = path();
    let url = format!("{}{path}?session=10s&tick=500ms", quiet_server().url());
    let mut holder = Process::start(&["hold", &url]);
    let token = holder.says_held();
    holder.signal("-STOP");
    tokio::time::sleep(PATIENCE / 40).await;
    holder.signal("-CONT");
    holder.asked("renewed");
    assert_eq!(holder.asked("check"), token.to_string());
    assert!(tenure(&url).mutex("lock").try_lock().await.unwrap().is_none());
}
