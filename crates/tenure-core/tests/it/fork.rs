//! After a fork: what the copy of a process may not do.

use std::time::{Duration, Instant};

use fork::{Fork, waitpid, waitpid_nohang};
use futures_executor::block_on;
use futures_util::FutureExt;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tenure_core::{
    AcquireError, DowngradeError, Entropy, Fault, FaultKind, HandleError, InspectError, LostReason,
    OsEntropy, ReleaseError, Store, proto::queue::Mode, within_runtime,
};
use tokio::time::sleep;

use crate::on_manual_clock;

/// What a forked child found, a bit for each answer that is right. It must not panic: who prints that
/// may wait for a thread that is not there.
fn of_a_child(find: impl FnOnce() -> u8) -> u8 {
    let mut find = Some(find);
    // A thread of another test may hold a lock of the process as the copy is made, which nobody in
    // the copy releases. What this test itself makes a copy wait for, all of them wait for.
    for _ in 0..3 {
        let child = match fork::fork().unwrap() {
            Fork::Child => std::process::exit(find.take().map_or(0, |find| find()).into()),
            Fork::Parent(child) => child,
        };
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Some(status) = waitpid_nohang(child).unwrap() {
                assert_eq!(status & 0xff, 0, "a signal ended the child");
                return u8::try_from(status >> 8).unwrap();
            }
            std::thread::yield_now();
        }
        kill(Pid::from_raw(child), Signal::SIGKILL).unwrap();
        waitpid(child).unwrap();
    }
    panic!("the child does not end")
}

fn bits(right: &[bool]) -> u8 {
    right.iter().rev().fold(0, |bits, right| bits << 1 | u8::from(*right))
}

#[test]
fn a_forked_child_has_no_hold_and_acquires_none() {
    let (tenure, _engine, store, _) = on_manual_clock();
    let now = |name| tenure.mutex(name).lock().into_future().now_or_never().unwrap().unwrap();
    let (guard, other) = (now("a"), now("b"));
    let name = guard.name().clone();
    let taken = |held: Option<_>| held == Some(LostReason::Taken);
    let found = of_a_child(|| {
        let checked = guard.check().err().map(|lost| lost.reason);
        let asked = tenure.mutex("c").try_lock().into_future().now_or_never();
        let released = match guard.release().now_or_never() {
            Some(Err(ReleaseError::Lost(lost))) => Some(lost.reason),
            _ => None,
        };
        let left = store.inspect(&name).now_or_never();
        bits(&[
            taken(checked),
            matches!(asked, Some(Err(AcquireError::ShutDown { .. }))),
            taken(released),
            matches!(left, Some(Ok(left)) if left.holders.len() == 1),
            other.leave_to_expire().is_zero(),
        ])
    });
    assert_eq!(found, 0b1_1111, "{found:#b}");
}

#[test]
fn a_forked_child_has_a_thread_of_its_own_for_callers_without_a_runtime() {
    let waits = || block_on(within_runtime(async { sleep(Duration::from_millis(1)).await }));
    waits();
    let found = of_a_child(|| {
        waits();
        1
    });
    assert_eq!(found, 1);
}

#[test]
fn a_forked_child_looks_at_nothing_by_the_connections_of_its_parent() {
    let (tenure, _engine, _store, _) = on_manual_clock();
    let look = || tenure.mutex("a").inspect().now_or_never();
    assert!(matches!(look(), Some(Ok(_))));
    let found = of_a_child(|| {
        let unsupported = |error: &InspectError| {
            error.fault().is_some_and(|fault| fault.kind() == FaultKind::Unsupported)
        };
        bits(&[look().and_then(Result::err).as_ref().is_some_and(unsupported)])
    });
    assert_eq!(found, 1);
}

#[test]
fn a_forked_child_does_not_let_readers_in_beside_its_parent() {
    let (tenure, _engine, store, _) = on_manual_clock();
    let writer = tenure.rwlock("a").write().into_future().now_or_never().unwrap().unwrap();
    let name = writer.name().clone();
    let found = of_a_child(|| {
        let downgraded = writer.downgrade().now_or_never();
        let lost = matches!(downgraded, Some(Err(DowngradeError::Lost(_))));
        let left = store.inspect(&name).now_or_never();
        let alone = |holders: &[_]| matches!(holders, [holder] if is_alone(holder));
        bits(&[lost, matches!(left, Some(Ok(left)) if alone(&left.holders))])
    });
    assert_eq!(found, 0b11, "{found:#b}");
}

fn is_alone(holder: &tenure_core::proto::queue::Contender) -> bool {
    holder.mode == Mode::Exclusive
}

#[test]
fn a_forked_child_spreads_its_pauses_in_another_way() {
    let drawn = OsEntropy::default().jitter();
    let found = of_a_child(|| bits(&[OsEntropy::default().jitter() != drawn]));
    assert_eq!(found, 0b1);
}

#[test]
fn a_forked_child_has_no_part_in_what_is_detached() {
    let (tenure, _engine, store, _) = on_manual_clock();
    let guard = tenure.mutex("a").lock().into_future().now_or_never().unwrap().unwrap();
    let handle = guard.detach().into_future().now_or_never().unwrap().unwrap().handle;
    let found = of_a_child(|| {
        let refused = |error: Option<HandleError>| matches!(error, Some(HandleError::NoRoom(_)));
        let attached = tenure.attach(&handle).into_future().now_or_never();
        let lease = Duration::from_secs(1);
        let renewed = tenure.renew_detached(&handle, lease).now_or_never();
        let released = tenure.release_detached(&handle).now_or_never();
        let left = store.inspect(handle.name()).now_or_never();
        bits(&[
            refused(attached.and_then(Result::err)),
            refused(renewed.and_then(Result::err)),
            refused(released.and_then(Result::err)),
            matches!(left, Some(Ok(left)) if left.holders.len() == 1),
        ])
    });
    assert_eq!(found, 0b1111, "{found:#b}");
}

#[test]
fn a_forked_child_oversees_nothing_by_the_connections_of_its_parent() {
    let (tenure, _engine, store, _) = on_manual_clock();
    let guard = tenure.mutex("a").lock().into_future().now_or_never().unwrap().unwrap();
    let seen = tenure.inspect("a").now_or_never().unwrap().unwrap();
    let mut watcher = tenure.watch("a");
    assert!(matches!(watcher.next().now_or_never(), Some(Some(Ok(_)))));
    let found = of_a_child(|| {
        let refused = |fault: Option<&Fault>| {
            fault.is_some_and(|fault| fault.kind() == FaultKind::Unsupported)
        };
        let inspected = tenure.inspect("a").now_or_never().and_then(Result::err);
        let listed = tenure.list("").into_future().now_or_never().and_then(Result::err);
        let evicted = tenure.evict_seen("a", &seen).now_or_never().and_then(Result::err);
        let health = tenure.health().now_or_never().and_then(Result::err);
        let watched = watcher.next().now_or_never().flatten().and_then(Result::err);
        let is_over = matches!(watcher.next().now_or_never(), Some(None));
        bits(&[
            refused(inspected.as_ref().and_then(InspectError::fault)),
            refused(listed.as_ref().map(|error| &error.fault)),
            refused(evicted.as_ref().and_then(InspectError::fault)),
            refused(health.as_ref().map(|error| &error.fault)),
            refused(watched.as_ref().and_then(InspectError::fault)),
            is_over,
        ])
    });
    assert_eq!(found, 0b11_1111, "{found:#b}");
    assert!(store.inspect(guard.name()).now_or_never().unwrap().unwrap().is_held());
}
