//! What the thread of a store's own does for calls whose callers leave.

use std::{
    future::Future as _,
    pin::pin,
    task::{Context, Waker},
    thread,
    time::Duration,
};

use tenure_core::store::Home;
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
    time::{Instant, sleep},
};

/// Of a caller: it has no timers of its own.
fn caller() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

#[test]
fn what_is_begun_outlives_the_runtime_in_which_it_was_begun() {
    let home = Home::start("test", Duration::ZERO).unwrap();
    let ((begins, mut begun), (tells, told)) = (oneshot::channel(), oneshot::channel());
    let task = home.carry_on(soon(), async move {
        let _ = begins.send(());
        sleep(Duration::from_millis(20)).await;
        let _ = tells.send(7);
    });
    let runtime = caller();
    let waits = runtime.spawn(task);
    runtime.block_on(async { (&mut begun).await.unwrap() });
    drop(runtime);
    drop(waits);
    assert_eq!(told.blocking_recv(), Ok(7));
}

#[test]
fn who_waits_gets_what_it_comes_to() {
    let home = Home::start("test", Duration::ZERO).unwrap();
    let task = home.carry_on(soon(), async {
        sleep(Duration::from_millis(20)).await;
        7
    });
    assert_eq!(caller().block_on(task), Some(7));
}

#[test]
fn what_lasts_is_taken_over_and_who_waits_is_told() {
    let home = Home::start("test", Duration::ZERO).unwrap();
    let task = home.carry_on(soon(), async {
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
    let home = Home::start("test", Duration::ZERO).unwrap();
    let (tells, told) = oneshot::channel();
    let mut task = pin!(home.carry_on(soon(), async move {
        sleep(Duration::from_millis(1)).await;
        tells.send(7)
    }));
    let mut context = Context::from_waker(Waker::noop());
    assert!(task.as_mut().poll(&mut context).is_pending());
    assert_eq!(told.blocking_recv(), Ok(7));
    assert_eq!(caller().block_on(task), Some(Ok(())));
}

#[test]
fn what_is_given_up_is_not_carried_on() {
    let home = Home::start("test", Duration::ZERO).unwrap();
    let (tells, told) = oneshot::channel();
    home.carry_on(soon(), async move { tells.send(7) }).give_up();
    assert!(told.blocking_recv().is_err());
}

#[test]
fn what_nobody_waits_for_ends_in_time() {
    let home = Home::start("test", Duration::ZERO).unwrap();
    let (tells, told) = oneshot::channel::<()>();
    let until = Instant::now() + Duration::from_millis(20);
    drop(home.carry_on(until, async move {
        std::future::pending::<()>().await;
        let _ = tells.send(());
    }));
    assert!(told.blocking_recv().is_err());
}
