//! Blocking guards: who is told of a loss, and what becomes of a hold.

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use tenure::{
    LockName, LostReason, ReleaseError,
    blocking::{DowngradeError, Guard, Tenure, reentrant::scope},
    clock::SystemClock,
    store::{MemoryStore, Store},
};
use tenure_testkit::{
    Random,
    fault::{Faults, Tally, Unreliable},
};

use crate::{blocking::assert_all_released, child::PATIENCE};

/// Takes the lock away from its holder, as an operator would.
fn take_away(store: &dyn Store, name: &LockName) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(store.evict(name)).unwrap();
}

#[test]
fn a_blocking_holder_is_told_of_its_loss() {
    let tenure = Tenure::open("memory:").unwrap();
    let guard = tenure.mutex("job").ttl(Duration::from_millis(300)).lock().unwrap();
    assert!(guard.wait_lost(Duration::ZERO).is_none());
    let (tell, told) = mpsc::channel();
    guard.on_lost(move |lost| tell.send(lost.reason).unwrap());
    take_away(&**tenure.as_async().store(), guard.name());
    assert_eq!(guard.wait_lost(PATIENCE).unwrap().reason, LostReason::Taken);
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), LostReason::Taken);
    assert!(guard.check().is_err());
    assert!(matches!(guard.release(), Err(ReleaseError::Lost(_))));
}

#[test]
fn a_holder_that_released_is_told_of_no_loss() {
    let tenure = Tenure::open("memory:").unwrap();
    let guard = tenure.mutex("job").lock().unwrap();
    let (tell, told) = mpsc::channel::<LostReason>();
    guard.on_lost(move |lost| tell.send(lost.reason).unwrap());
    guard.release().unwrap();
    // Its sender is gone: nobody is left who could call.
    assert_eq!(told.recv_timeout(PATIENCE), Err(mpsc::RecvTimeoutError::Disconnected));
    assert_all_released(&tenure);
}

#[test]
fn readers_share_and_a_writer_becomes_one_of_them() {
    let tenure = Tenure::open("memory:").unwrap();
    let lock = tenure.rwlock("settings").ttl(Duration::from_millis(300)).wait(PATIENCE);
    let writer = lock.write().unwrap();
    assert!(lock.try_read().unwrap().is_none(), "somebody reads beside a writer");
    let (tell, told) = mpsc::channel();
    writer.on_lost(move |lost| tell.send(lost.reason).unwrap());
    let token = writer.token();
    let reader = writer.downgrade().unwrap();
    assert_eq!(reader.token(), token);
    let other = lock.read().unwrap();
    assert!(lock.try_write().unwrap().is_none(), "somebody writes beside readers");
    // Who wanted to be told of a loss still is.
    take_away(&**tenure.as_async().store(), reader.name());
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), LostReason::Taken);
    drop((reader, other));
    lock.write().unwrap().release().unwrap();
    assert_all_released(&tenure);
}

/// Nothing goes wrong.
pub(crate) const GOOD: Faults = Faults {
    refused: 0,
    request_lost: 0,
    reply_lost: 0,
    repeated: 0,
    request_late: 0,
    reply_late: 0,
    hints_lost: 0,
    delay: Duration::ZERO,
    patience: Duration::from_secs(1),
};

/// A store whose answers can be made to stay away, and the same without that.
pub(crate) fn unreliable() -> (Tenure, Unreliable, MemoryStore) {
    let memory = MemoryStore::new();
    let store = Unreliable::new(
        Arc::new(memory.clone()),
        Arc::new(SystemClock),
        GOOD,
        Random::new(7),
        Arc::new(Tally::default()),
    );
    (Tenure::with_store(Arc::new(store.clone())).unwrap(), store, memory)
}

#[test]
fn a_writer_that_is_refused_goes_on_writing_and_can_try_again() {
    let (tenure, store, memory) = unreliable();
    let lock = tenure.rwlock("settings").ttl(Duration::from_secs(6));
    let writer = lock.write().unwrap();
    let (tell, told) = mpsc::channel();
    writer.on_lost(move |lost| tell.send(lost.reason).unwrap());
    store.set_faults(Faults { refused: 1000, ..GOOD });
    let error = writer.downgrade().unwrap_err();
    let DowngradeError::StillWriting { guard, .. } = error else { panic!("{error:?}") };
    store.set_faults(GOOD);
    assert!(lock.try_read().unwrap().is_none(), "somebody reads beside a writer");
    let reader = guard.downgrade().unwrap();
    lock.try_read().unwrap().expect("readers share").release().unwrap();
    // Who wanted to be told of a loss still is.
    take_away(&memory, reader.name());
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), LostReason::Taken);
}

#[test]
fn a_writer_that_hears_no_answer_has_a_guard_to_read_with() {
    let (tenure, store, _) = unreliable();
    let lock = tenure.rwlock("settings").ttl(Duration::from_secs(6));
    let writer = lock.write().unwrap();
    let token = writer.token();
    let patience = Duration::from_millis(20);
    store.set_faults(Faults { reply_lost: 1000, patience, ..GOOD });
    let error = writer.downgrade().unwrap_err();
    let DowngradeError::InDoubt { guard, .. } = error else { panic!("{error:?}") };
    store.set_faults(GOOD);
    assert_eq!(guard.check().unwrap(), token);
    guard.release().unwrap();
    assert_all_released(&tenure);
}

#[test]
fn a_holder_of_several_locks_is_told_of_the_first_that_is_lost() {
    let tenure = Tenure::open("memory:").unwrap();
    let both = tenure.all(["a", "b"]).ttl(Duration::from_millis(300)).lock().unwrap();
    assert!(both.wait_lost(Duration::ZERO).is_none());
    let (tell, told) = mpsc::channel();
    both.on_lost(move |lost| tell.send(lost.lock.name).unwrap());
    let name = LockName::new("b").unwrap();
    take_away(&**tenure.as_async().store(), &name);
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), name);
    assert_eq!(both.wait_lost(PATIENCE).unwrap().lock.name, name);
    let [a, b]: [Guard; 2] = both.into_parts().try_into().unwrap();
    a.release().unwrap();
    assert!(matches!(b.release(), Err(ReleaseError::Lost(_))));
}

#[test]
fn several_locks_are_left_to_expire_together() {
    let tenure = Tenure::open("memory:").unwrap();
    let both = tenure.all(["a", "b"]).ttl(Duration::from_millis(300)).lock().unwrap();
    assert!(both.leave_to_expire() <= Duration::from_millis(300));
    tenure.all(["a", "b"]).wait(PATIENCE).lock().unwrap().release().unwrap();
    assert_all_released(&tenure);
}

#[test]
fn an_inner_guard_of_a_scope_is_told_of_a_loss_as_long_as_it_is_there() {
    let tenure = Tenure::open("memory:").unwrap();
    let ledger = tenure.mutex("ledger").ttl(Duration::from_millis(300)).reentrant();
    scope(|| {
        let (outer, inner) = (ledger.lock().unwrap(), ledger.lock().unwrap());
        let (early, late) = (mpsc::channel(), mpsc::channel());
        inner.on_lost(move |lost| early.0.send(lost.reason).unwrap());
        outer.on_lost(move |lost| late.0.send(lost.reason).unwrap());
        inner.release().unwrap();
        take_away(&**tenure.as_async().store(), outer.name());
        assert_eq!(late.1.recv_timeout(PATIENCE).unwrap(), LostReason::Taken);
        assert_eq!(early.1.recv_timeout(PATIENCE), Err(mpsc::RecvTimeoutError::Disconnected));
        assert_eq!(outer.wait_lost(PATIENCE).unwrap().reason, LostReason::Taken);
    });
}

#[test]
fn a_leader_and_a_writer_can_be_left_to_expire_as_guards() {
    let tenure = Tenure::open("memory:").unwrap();
    let ttl = Duration::from_millis(300);
    let leading: Guard = tenure.election("office").ttl(ttl).campaign().unwrap().into();
    let writing: Guard = tenure.rwlock("prices").ttl(ttl).write().unwrap().into();
    for guard in [leading, writing] {
        assert!(guard.leave_to_expire() <= ttl);
    }
    assert_all_released(&tenure);
}
