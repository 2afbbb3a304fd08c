//! A hold that changes hands: what it costs, and what is left of it on the server.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    FaultKind, Store, Token,
    proto::{
        Renewed,
        queue::{Answer, Grant, Intent, Kind, Mode, Raised, Released, TakeOver, TakenOver},
    },
    store::Renewal,
};
use tenure_servers::redis::Reply;

use crate::{
    scenes::{Lock, ME, ME_NEXT, OTHER, TTL, WAIT, ask, owner, taking_over},
    support::{PATIENCE, lock_keys, store},
    together::scripts,
};

impl Lock {
    async fn is_held_by(&self, numbers: &[u8], mode: Mode) {
        for number in numbers {
            self.store.acquire(&self.name, &ask(*number, mode, WAIT)).await.unwrap();
        }
    }

    async fn takes_over(&self, over: &TakeOver) -> Grant {
        match self.store.take_over(&self.name, over).await.unwrap() {
            TakenOver::Granted(grant) => grant,
            TakenOver::NotHeld => panic!("it is held"),
        }
    }

    /// How long the lock's own key lasts.
    fn lasts(&self) -> Duration {
        let Reply::Text(left) = self.server.command(&["PTTL", &self.stage().key("lock:")]) else {
            panic!("no number")
        };
        Duration::from_millis(left.parse().unwrap())
    }
}

const ALONE: &[u8] = &[ME];
const AMONG_OTHERS: &[u8] = &[ME, OTHER];

#[tokio::test]
async fn it_takes_one_script_and_so_does_the_release_also_for_the_engine() {
    for all in [ALONE, AMONG_OTHERS] {
        let lock = Lock::new();
        lock.is_held_by(all, Mode::Exclusive).await;
        let engine: Arc<dyn Store> = lock.store.for_engine();
        let scripts_of = async |store: &dyn Store, from, to| {
            lock.server.command(&["CONFIG", "RESETSTAT"]);
            let over = taking_over(from, to, Mode::Exclusive);
            let taken = store.take_over(&lock.name, &over).await.unwrap();
            assert!(matches!(taken, TakenOver::Granted(_)), "{taken:?}");
            scripts(&lock.server)
        };
        // The server gets to know the scripts.
        engine.inspect(&lock.name).await.unwrap();
        scripts_of(&lock.store, ME, ME_NEXT).await;
        assert_eq!(scripts_of(&*engine, ME_NEXT, ME).await, 1, "{all:?}");
        assert_eq!(scripts_of(&lock.store, ME, ME_NEXT).await, 1, "{all:?}");
        let releases = async |number| {
            let owner = owner(number);
            lock.store.release(&lock.name, &owner, Duration::ZERO).await.unwrap()
        };
        assert_eq!(releases(ME).await, Released::NotHeld);
        let held = lock.store.inspect(&lock.name).await.unwrap().holders;
        assert_eq!(held.len(), 1);
        lock.server.command(&["CONFIG", "RESETSTAT"]);
        assert_eq!(releases(ME_NEXT).await, Released::Released);
        assert_eq!(scripts(&lock.server), 1, "{all:?}");
    }
}

#[tokio::test]
async fn it_is_shown_as_what_its_new_owner_says() {
    for all in [ALONE, AMONG_OTHERS] {
        for mode in [Mode::Exclusive, Mode::Shared] {
            for kind in Kind::ALL {
                let lock = Lock::new();
                lock.is_held_by(all, mode).await;
                let label = "two words".to_owned();
                let over = TakeOver {
                    kind,
                    label: label.as_str().into(),
                    ..taking_over(ME, ME_NEXT, mode)
                };
                let grant = lock.takes_over(&over).await;
                let seen = lock.store.inspect(&lock.name).await.unwrap().holders;
                let one = seen.iter().find(|one| one.label == over.label).unwrap();
                assert_eq!((one.kind, one.mode, one.token), (Some(kind), mode, Some(grant.token)));
            }
        }
    }
}

#[tokio::test]
async fn a_shorter_lease_ends_its_keys_earlier_and_a_longer_one_later() {
    for all in [ALONE, AMONG_OTHERS] {
        let lock = Lock::new();
        lock.is_held_by(all, Mode::Shared).await;
        for (from, to, ttl) in [(ME, ME_NEXT, TTL / 10), (ME_NEXT, ME, TTL * 2)] {
            // What the others have counts for the keys, and nothing else does.
            if all.len() > 1 {
                let (from, to) = (OTHER + from, OTHER + to);
                let over = taking_over(from, to, Mode::Shared);
                lock.takes_over(&TakeOver { ttl, ..over }).await;
            }
            let over = TakeOver { ttl, ..taking_over(from, to, Mode::Shared) };
            assert_eq!(lock.takes_over(&over).await.left, ttl);
            // Keys may last for a minute more than what is in them.
            let (lasts, most) = (lock.lasts(), ttl + Duration::from_secs(60));
            assert!(lasts > ttl / 2 && lasts <= most, "{lasts:?} for {ttl:?}");
        }
    }
}

#[tokio::test]
async fn a_repeat_says_what_is_left() {
    for all in [ALONE, AMONG_OTHERS] {
        let lock = Lock::new();
        lock.is_held_by(all, Mode::Exclusive).await;
        let over = taking_over(ME, ME_NEXT, Mode::Exclusive);
        let first = lock.takes_over(&over).await;
        let again = lock.takes_over(&TakeOver { ttl: TTL * 2, ..over }).await;
        assert_eq!(again.token, first.token);
        assert!(again.left > TTL / 2 && again.left <= TTL, "{again:?} after {first:?}");
        assert_eq!(again.others_waiting, all.len() > 1);
        assert!(lock.lasts() <= TTL + Duration::from_secs(60));
    }
}

/// Clause 17, also for a process that never asked for the name.
#[tokio::test]
async fn who_took_over_hears_that_it_was_evicted() {
    let lock = Lock::new();
    lock.is_held_by(ALONE, Mode::Exclusive).await;
    let heir = store(&lock.server.url());
    let mut evictions = heir.evictions();
    let over = taking_over(ME, ME_NEXT, Mode::Exclusive);
    heir.take_over(&lock.name, &over).await.unwrap();
    lock.store.evict(&lock.name).await.unwrap();
    // The name, or that it may have missed one while it began to listen.
    tokio::time::timeout(PATIENCE, evictions.next()).await.unwrap();
}

/// The second round of a quorum comes after a take-over too.
#[tokio::test]
async fn what_was_taken_over_can_be_raised_and_taken_over_again() {
    for all in [ALONE, AMONG_OTHERS] {
        let lock = Lock::new();
        lock.is_held_by(all, Mode::Exclusive).await;
        let first = lock.takes_over(&taking_over(ME, ME_NEXT, Mode::Exclusive)).await.token;
        let raised = Token::from_raw(first.get() + (3_600_000_000 << 10) + 7).unwrap();
        let raises = async |number| lock.store.raise(&lock.name, &owner(number), raised).await;
        assert_eq!(raises(ME).await.unwrap(), Raised::NotHeld);
        assert_eq!(raises(ME_NEXT).await.unwrap(), Raised::Raised);
        let over = taking_over(ME, ME_NEXT, Mode::Exclusive);
        assert_eq!(lock.takes_over(&over).await.token, raised, "it is asked again");
        let next = lock.takes_over(&taking_over(ME_NEXT, ME, Mode::Exclusive)).await.token;
        assert!(next > raised, "{next:?} after {raised:?}");
    }
}

#[tokio::test]
async fn a_record_of_the_old_owner_that_cannot_be_read_is_left_as_it_is() {
    let lock = Lock::new();
    lock.is_held_by(ALONE, Mode::Exclusive).await;
    let key = lock.stage().key("lock:");
    let record = owner(ME).to_hex();
    lock.server.command(&["SET", &key, &record]);
    for over in [(ME, ME_NEXT), (OTHER, ME)] {
        let over = taking_over(over.0, over.1, Mode::Exclusive);
        let fault = lock.store.take_over(&lock.name, &over).await.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
    }
    assert_eq!(lock.server.command(&["GET", &key]), Reply::Text(record));
}

#[tokio::test]
async fn nothing_is_left_of_the_place_that_the_new_owner_had() {
    let lock = Lock::new();
    lock.is_held_by(&[ME, ME_NEXT], Mode::Exclusive).await;
    let grant = lock.takes_over(&taking_over(ME, ME_NEXT, Mode::Exclusive)).await;
    assert!(!grant.others_waiting);
    assert!(lock.store.inspect(&lock.name).await.unwrap().waiters.is_empty());
    lock.store.release(&lock.name, &owner(ME_NEXT), Duration::ZERO).await.unwrap();
    assert_eq!(lock_keys(&lock.server), [] as [&str; 0]);
}

/// As after a restore without its end: whoever has its owner gives it one.
#[tokio::test]
async fn a_hold_without_an_end_has_one_once_it_is_taken_over() {
    let lock = Lock::new();
    lock.is_held_by(ALONE, Mode::Exclusive).await;
    lock.server.command(&["PERSIST", &lock.stage().key("lock:")]);
    lock.takes_over(&taking_over(ME, ME_NEXT, Mode::Exclusive)).await;
    assert!(lock.lasts() <= TTL);
    let hold = Renewal { name: lock.name.clone(), owner: owner(ME_NEXT), ttl: TTL };
    assert!(matches!(lock.store.renew(&[hold]).await[0], Ok(Renewed::Renewed { .. })));
    let answer = lock.store.acquire(&lock.name, &ask(OTHER, Mode::Exclusive, Intent::Try)).await;
    assert!(matches!(answer, Ok(Answer::Busy { .. })), "{answer:?}");
}
