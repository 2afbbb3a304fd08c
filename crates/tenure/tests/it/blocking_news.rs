//! What blocking callers are told while they wait: who is in the way, and who leads.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use tenure::{
    AcquireError, Fault, FaultKind, InspectError,
    blocking::{Guard, Tenure, reentrant::scope},
    inspect::Leader,
    store::{MemoryStore, Store},
};
use tenure_testkit::fault::Faults;

use crate::{
    blocking::assert_all_released,
    blocking_losses::{GOOD, unreliable},
    child::PATIENCE,
};

/// Two clients of one store, of which the first holds `name`.
fn held_by_another(name: &str) -> (Guard, Tenure, MemoryStore) {
    let store = MemoryStore::new();
    let client = || Tenure::with_store(Arc::new(store.clone())).unwrap();
    let held = client().mutex(name).label("holder").lock().unwrap();
    (held, client(), store)
}

/// That whoever waits for `a` is told on its own thread who has it: the telling lets it in.
#[track_caller]
fn is_told(
    take: impl FnOnce(&Tenure, Box<dyn Fn(&tenure::Busy) + Send + Sync>) -> Result<(), AcquireError>,
) {
    let (held, tenure, _store) = held_by_another("a");
    let (held, caller) = (Mutex::new(Some(held)), thread::current().id());
    let tell = move |busy: &tenure::Busy| {
        assert_eq!(busy.holder.as_ref().unwrap().label, "holder");
        assert_eq!(thread::current().id(), caller);
        drop(held.lock().unwrap().take());
    };
    take(&tenure, Box::new(tell)).unwrap();
    assert_all_released(&tenure);
}

#[test]
fn whoever_waits_is_told_who_is_in_the_way_whatever_it_waits_for() {
    is_told(|tenure, tell| tenure.mutex("a").wait(PATIENCE).on_busy(tell).lock().map(drop));
    is_told(|tenure, tell| tenure.rwlock("a").wait(PATIENCE).on_busy(tell).read().map(drop));
    is_told(|tenure, tell| tenure.rwlock("a").wait(PATIENCE).on_busy(tell).write().map(drop));
    is_told(|tenure, tell| {
        tenure.semaphore("a", 2).wait(PATIENCE).on_busy(tell).acquire_many(2).map(drop)
    });
    is_told(|tenure, tell| tenure.election("a").wait(PATIENCE).on_busy(tell).campaign().map(drop));
    is_told(|tenure, tell| tenure.all(["a", "b"]).wait(PATIENCE).on_busy(tell).lock().map(drop));
    is_told(|tenure, tell| {
        let lock = tenure.mutex("a").wait(PATIENCE).on_busy(tell).reentrant();
        scope(|| lock.lock().map(drop))
    });
}

#[test]
fn whoever_waits_is_told_on_its_own_thread_that_the_store_is_away() {
    type Tell = Box<dyn Fn(&Fault) + Send + Sync>;
    let is_told = |take: fn(&Tenure, Tell) -> Result<(), AcquireError>| {
        let (tenure, store, _) = unreliable();
        store.set_faults(Faults { refused: 1000, ..GOOD });
        let caller = thread::current().id();
        let tell = move |fault: &Fault| {
            assert_eq!(fault.kind(), FaultKind::Unreachable);
            assert_eq!(thread::current().id(), caller);
            store.set_faults(GOOD);
        };
        take(&tenure, Box::new(tell)).unwrap();
        assert_all_released(&tenure);
    };
    is_told(|tenure, tell| tenure.mutex("a").wait(PATIENCE).on_unreachable(tell).lock().map(drop));
    is_told(|tenure, tell| {
        tenure.all(["a", "b"]).wait(PATIENCE).on_unreachable(tell).lock().map(drop)
    });
    is_told(|tenure, tell| {
        let lock = tenure.mutex("a").wait(PATIENCE).on_unreachable(tell).reentrant();
        scope(|| lock.lock().map(drop))
    });
}

#[test]
fn who_is_slow_to_hear_it_waits_on_all_the_same_and_holds_up_nobody() {
    let (held, tenure, store) = held_by_another("job");
    let (told, go) = (Arc::new(AtomicBool::new(false)), Arc::new(Barrier::new(2)));
    let lock = tenure.mutex("job").label("waiter").wait(PATIENCE).on_busy({
        let (told, go) = (told.clone(), go.clone());
        move |_| {
            if !told.swap(true, Ordering::SeqCst) {
                go.wait();
            }
        }
    });
    let waiter = thread::spawn(move || lock.lock());
    until("somebody is told", || told.load(Ordering::SeqCst));
    held.release().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let name = tenure::LockName::new("job").unwrap();
    until("the waiter has the lock", || {
        let seen = runtime.block_on(store.inspect(&name)).unwrap();
        seen.holders.iter().any(|holder| holder.label == "waiter")
    });
    tenure.mutex("other").lock().unwrap().release().unwrap();
    go.wait();
    waiter.join().unwrap().unwrap().release().unwrap();
    assert_all_released(&tenure);
}

#[test]
fn who_panics_when_it_hears_it_waits_no_more() {
    let (held, tenure, _store) = held_by_another("job");
    let lock = tenure.mutex("job").on_busy(|_| panic!("told"));
    let told = catch_unwind(AssertUnwindSafe(|| lock.lock().map(drop)));
    assert_eq!(told.unwrap_err().downcast_ref(), Some(&"told"));
    // Nobody is left who waits, and nothing of the waiting.
    assert_all_released(&tenure);
    held.release().unwrap();
}

/// The term that the next news is about; nothing if nobody leads.
#[track_caller]
fn term(news: Option<Result<Option<Leader>, InspectError>>) -> Option<tenure::Token> {
    news.expect("there is no news").unwrap().map(|leader| leader.term)
}

#[test]
fn an_observer_sees_each_change_of_who_leads() {
    let tenure = Tenure::open("memory:").unwrap();
    let office = tenure.election("office").label("host-1").wait(PATIENCE);
    let mut leaders = office.leaders();
    assert_eq!(term(leaders.next()), None);
    assert!(leaders.next_within(Duration::from_millis(60)).is_none(), "nothing changed");
    let leadership = office.campaign().unwrap();
    assert_eq!(term(leaders.next_within(PATIENCE)), Some(leadership.term()));
    leadership.resign().unwrap();
    assert_eq!(term(leaders.next()), None);
}

#[test]
fn an_observer_that_waits_is_told_of_a_leader_elected_meanwhile() {
    let tenure = Tenure::open("memory:").unwrap();
    let office = tenure.election("office").label("host-1").wait(PATIENCE);
    let (first, told) = mpsc::channel();
    let mut leaders = office.leaders();
    let observer = thread::spawn(move || {
        leaders.find_map(|news| {
            let leader = news.unwrap();
            first.send(()).unwrap();
            leader
        })
    });
    told.recv().unwrap();
    let leadership = office.campaign().unwrap();
    assert_eq!(observer.join().unwrap().unwrap().term, leadership.term());
}

#[test]
fn no_news_is_lost_between_short_waits() {
    let tenure = Tenure::open("memory:").unwrap();
    let office = tenure.election("office").wait(PATIENCE);
    let mut leaders = office.leaders();
    for _ in 0..5 {
        let leadership = office.campaign().unwrap();
        let mut seen = None;
        until("the leader is seen", || {
            seen = leaders.next_within(Duration::from_millis(1)).map(|news| term(Some(news)));
            seen == Some(Some(leadership.term()))
        });
        leadership.resign().unwrap();
    }
}

#[test]
fn an_observer_of_a_name_that_cannot_be_used_is_told_so() {
    let mut leaders = Tenure::open("memory:").unwrap().election("").leaders();
    assert!(matches!(leaders.next(), Some(Err(InspectError::Name(_)))));
    assert!(matches!(leaders.next(), Some(Err(InspectError::Name(_)))), "an error is no end");
}

/// Waits for `condition`, and fails if it does not come true in time.
#[track_caller]
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "in vain: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}
