//! A lock that is lost midway.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tenure::{Error, Tenure, locked};
use tokio::sync::oneshot;

use crate::scene::{Done, name, open};

struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[locked(name = "long", ttl = "300ms", store = tenure)]
async fn long(tenure: &Tenure, started: oneshot::Sender<()>, work: Dropped) -> Done {
    let _work = work;
    started.send(()).unwrap();
    std::future::pending().await
}

#[tokio::test]
async fn a_body_is_dropped_when_its_lock_is_lost() {
    let tenure = open().await;
    let dropped = Arc::new(AtomicBool::new(false));
    let (started, is_started) = oneshot::channel();
    let evict = async {
        is_started.await.unwrap();
        tenure.store().evict(&name("long")).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(long(&tenure, started, Dropped(dropped.clone())), evict);
    assert!(matches!(outcome, Err(Error::Lost(_))), "{outcome:?}");
    assert!(dropped.load(Ordering::SeqCst));
}

#[locked(name = "capped", max_hold = "50ms", store = tenure)]
async fn capped(tenure: &Tenure) -> Done<&'static str> {
    // It does not give way, as a body that computes.
    while locked::current().is_some_and(|hold| hold.check().is_ok()) {}
    Ok("done")
}

#[tokio::test]
async fn a_body_that_ends_too_late_has_failed() {
    let outcome = capped(&open().await).await;
    assert!(matches!(outcome, Err(Error::Lost(_))), "{outcome:?}");
}
