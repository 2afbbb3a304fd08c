//! A holder that is killed.

use std::{path::Path, time::Duration};

use nix::sys::signal::Signal;
use tempfile::tempdir;

use crate::child::{Player, await_order, open, say};

/// Far longer than the test is ready to wait for the next holder.
const TTL: Duration = Duration::from_secs(600);

/// A child: holds the lock until it is killed.
pub(crate) async fn hold(dir: &Path) {
    let guard = open(dir).await.mutex("job").ttl(TTL).lock().await.unwrap();
    say(guard.token());
    await_order();
}

#[tokio::test]
async fn a_killed_holder_is_noticed_long_before_its_lease_ends() {
    let dir = tempdir().unwrap();
    let holder = Player::start("hold", dir.path());
    let token: u64 = holder.hear().parse().unwrap();
    let mutex = open(dir.path()).await.mutex("job");
    assert!(mutex.try_lock().await.unwrap().is_none(), "the holder did not hold");

    holder.signal(Signal::SIGKILL);
    let next = mutex.lock().wait(Duration::from_secs(20)).await.expect("its lease kept others out");
    assert!(next.token().get() > token);
}

#[tokio::test]
async fn a_waiter_gets_in_when_the_holder_is_killed() {
    let dir = tempdir().unwrap();
    let holder = Player::start("hold", dir.path());
    let token: u64 = holder.hear().parse().unwrap();
    let (waits, waiting) = std::sync::mpsc::channel();
    let lock = open(dir.path()).await.mutex("job").lock().wait(Duration::from_secs(20));
    let waiter =
        tokio::spawn(lock.on_busy(move |_| waits.send(()).unwrap_or_default()).into_future());
    tokio::task::spawn_blocking(move || waiting.recv()).await.unwrap().unwrap();

    holder.signal(Signal::SIGKILL);
    let next = waiter.await.unwrap().expect("the lease of the dead kept a waiter out");
    assert!(next.token().get() > token);
}
