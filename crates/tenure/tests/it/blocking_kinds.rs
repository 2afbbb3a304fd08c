//! Each kind of lock, for callers without `async`.

use std::{sync::mpsc, thread, time::Duration};

use tenure::{
    AcquireError, InspectError,
    blocking::{Tenure, reentrant::scope},
};

use crate::{blocking::assert_all_released, child::PATIENCE};

#[test]
fn a_semaphore_hands_out_as_many_permits_as_it_has() {
    let tenure = Tenure::open("memory:").unwrap();
    let permits = tenure.semaphore("printers", 3).wait(PATIENCE);
    let two = permits.acquire_many(2).unwrap();
    let one = permits.acquire().unwrap();
    assert!(permits.try_acquire().unwrap().is_none());
    two.release().unwrap();
    permits.try_acquire_many(2).unwrap().expect("two were given back").release().unwrap();
    one.release().unwrap();
    assert_all_released(&tenure);
}

#[test]
fn a_thread_that_waits_at_a_latch_goes_on_when_all_have_arrived() {
    let tenure = Tenure::open("memory:").unwrap();
    let latch = tenure.latch("ready", 2);
    assert_eq!(latch.arrive("one").unwrap(), 1);
    assert!(latch.wait_within(Duration::from_millis(20)).is_err());
    thread::scope(|scope| {
        let waiter = scope.spawn(|| latch.wait_within(PATIENCE));
        assert_eq!(latch.arrive("other").unwrap(), 0);
        waiter.join().unwrap().unwrap();
    });
    assert_eq!(latch.arrived().unwrap().len(), 2);
    latch.reset().unwrap();
    assert_eq!(latch.remaining().unwrap(), 2);
}

#[test]
fn a_leader_leads_until_it_resigns() {
    let tenure = Tenure::open("memory:").unwrap();
    let office = tenure.election("scheduler").wait(PATIENCE);
    let first = office.campaign().unwrap();
    assert!(office.try_campaign().unwrap().is_none());
    assert_eq!(office.leader().unwrap().unwrap().term, first.term());
    let term = first.term();
    first.resign().unwrap();
    let second = office.campaign().unwrap();
    assert!(second.term() > term);
    second.resign().unwrap();
    assert!(office.leader().unwrap().is_none());
    assert_all_released(&tenure);
}

#[test]
fn several_locks_are_held_together_also_from_opposite_sides() {
    let tenure = Tenure::open("memory:").unwrap();
    thread::scope(|scope| {
        for names in [["a", "b"], ["b", "a"]] {
            let tenure = &tenure;
            scope.spawn(move || {
                for _ in 0..50 {
                    let both = tenure.all(names).wait(PATIENCE).lock().unwrap();
                    both.check().unwrap();
                    both.release().unwrap();
                }
            });
        }
    });
    let a = tenure.mutex("a").lock().unwrap();
    assert!(tenure.all_of([tenure.mutex("b"), tenure.mutex("a")]).try_lock().unwrap().is_none());
    a.release().unwrap();
    assert_all_released(&tenure);
}

#[test]
fn a_scope_enters_its_lock_again_also_after_waiting_for_it() {
    let tenure = Tenure::open("memory:").unwrap();
    let ledger = tenure.mutex("ledger").wait(PATIENCE).reentrant();
    assert!(matches!(ledger.lock(), Err(AcquireError::NoScope { .. })));
    let other = tenure.mutex("ledger").lock().unwrap();
    let (asked, told) = mpsc::channel();
    let waiting = thread::spawn(move || {
        scope(|| {
            assert!(ledger.try_lock().unwrap().is_none(), "two hold it");
            asked.send(()).unwrap();
            let outer = ledger.lock().unwrap();
            let inner = ledger.try_lock().unwrap().expect("the scope holds it");
            assert_eq!((inner.token(), inner.depth()), (outer.check().unwrap(), 2));
            outer.release().unwrap();
            assert_eq!(inner.check().unwrap(), inner.token());
            inner.release().unwrap();
        });
    });
    told.recv().unwrap();
    other.release().unwrap();
    waiting.join().unwrap();
    assert_all_released(&tenure);
}

#[test]
fn a_look_shows_who_holds_and_what_is_left() {
    let tenure = Tenure::open("memory:").unwrap();
    let printers = tenure.semaphore("printers", 3);
    let two = printers.acquire_many(2).unwrap();
    assert_eq!(printers.available().unwrap(), 1);
    assert_eq!(printers.inspect().unwrap().holders[0].token, Some(two.token()));
    two.release().unwrap();
    let (mutex, settings) = (tenure.mutex("job"), tenure.rwlock("settings"));
    let (ledger, office) = (tenure.mutex("ledger").reentrant(), tenure.election("office"));
    assert!(!mutex.inspect().unwrap().is_held());
    let held = mutex.lock().unwrap();
    let reader = settings.read().unwrap();
    let lead = office.campaign().unwrap();
    scope(|| {
        let guard = ledger.lock().unwrap();
        assert!(ledger.inspect().unwrap().is_held());
        guard.release().unwrap();
    });
    for seen in [mutex.inspect(), settings.inspect(), office.inspect()] {
        assert_eq!(seen.unwrap().holders.len(), 1);
    }
    assert!(matches!(tenure.mutex("").inspect(), Err(InspectError::Name(_))));
    drop((held, reader, lead));
    assert_all_released(&tenure);
}
