//! What the thread of a store's own does for calls whose callers leave.

use std::{
    future::{Future as _, poll_fn},
    mem::replace,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread,
    time::Duration,
};

use tenure_core::threads::StoreThread;
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot::{self, error::RecvError},
    time::{sleep, timeout},
};

/// Of a caller: it has no timers of its own.
fn caller() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// What is told in time.
fn heard<T>(told: oneshot::Receiver<T>) -> Result<T, RecvError> {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { timeout(Duration::from_secs(20), told).await }).unwrap()
}

/// Is done when it is looked at for the second time. It wakes nobody.
async fn not_at_once() {
    let mut was_seen = false;
    poll_fn(|_| if replace(&mut was_seen, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

#[test]
fn what_is_begun_outlives_the_runtime_in_which_it_was_begun() {
    let thread = StoreThread::start("test", Duration::ZERO).unwrap();
    let ((begins, mut begun), (tells, told)) = (oneshot::channel(), oneshot::channel());
    let task = thread.carry_on(async move {
        let _ = begins.send(());
        sleep(Duration::from_millis(20)).await;
        let _ = tells.send(7);
    });
    let runtime = caller();
    let waits = runtime.spawn(task);
    runtime.block_on(async { (&mut begun).await.unwrap() });
    drop(runtime);
    drop(waits);
    assert_eq!(heard(told), Ok(7));
}

#[test]
fn who_waits_gets_what_it_comes_to() {
    let thread = StoreThread::start("test", Duration::ZERO).unwrap();
    let task = thread.carry_on(async {
        sleep(Duration::from_millis(20)).await;
        7
    });
    assert_eq!(caller().block_on(task), Some(7));
}

#[test]
fn what_lasts_is_taken_over_and_who_waits_is_told() {
    let thread = StoreThread::start("test", Duration::ZERO).unwrap();
    let task = thread.carry_on(async {
        let here = thread::current().id();
        while thread::current().id() == here {
            sleep(Duration::from_millis(1)).await;
        }
        7
    });
    assert_eq!(caller().block_on(task), Some(7));
}

#[test]
fn what_its_caller_looks_away_from_is_carried_on() {
    let thread = StoreThread::start("test", Duration::ZERO).unwrap();
    let (tells, told) = oneshot::channel();
    let mut task = pin!(thread.carry_on(async move {
        sleep(Duration::from_millis(1)).await;
        tells.send(7)
    }));
    let mut context = Context::from_waker(Waker::noop());
    assert!(task.as_mut().poll(&mut context).is_pending());
    assert_eq!(heard(told), Ok(7));
    assert_eq!(caller().block_on(task), Some(Ok(())));
}

#[test]
fn a_waker_that_panics_keeps_no_other_from_being_taken_over() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a bad waker");
        }
    }
    let thread = StoreThread::start("test", Duration::ZERO).unwrap();
    let bad = Waker::from(Arc::new(Panics));
    for waker in [&bad, Waker::noop()] {
        let (tells, told) = oneshot::channel();
        let mut task = pin!(thread.carry_on(async move {
            not_at_once().await;
            tells.send(())
        }));
        assert!(task.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
        assert_eq!(heard(told), Ok(()));
    }
}

#[test]
fn what_panics_comes_to_nothing() {
    let thread = StoreThread::start("test", Duration::ZERO).unwrap();
    let (tells, told) = oneshot::channel::<()>();
    let mut task = pin!(thread.carry_on(async move {
        not_at_once().await;
        drop(tells);
        panic!("on purpose");
    }));
    assert!(task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    heard(told).unwrap_err();
    assert_eq!(caller().block_on(task), None::<()>);
}
