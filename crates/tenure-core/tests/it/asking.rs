//! What is asked of the store, and for how long, until it grants or the wait is over.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use tenure_core::{
    AcquireError, Fault, FaultKind, LockName, ManualClock, Store, Tenure,
    proto::queue::{Intent, Label, Position},
};

use crate::{
    STEP, ends_within,
    flawed::{Call, Flaw, Flawed},
    on_manual_clock, settle,
};

const TTL: Duration = Duration::from_secs(30);

/// A process whose calls are written down, and another one.
fn two_processes() -> (Tenure, Flawed, Tenure, ManualClock) {
    let (other, engine, store, clock) = on_manual_clock();
    tokio::spawn(engine);
    let store = Flawed::new(store);
    let builder = Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone()));
    let (tenure, engine) = builder.build_inline();
    tokio::spawn(engine);
    (tenure, store, other, clock)
}

#[tokio::test]
async fn a_waiter_listens_before_it_asks_and_asks_again_with_its_place() {
    let (tenure, store, other, clock) = two_processes();
    let theirs = other.mutex("a").ttl(TTL).lock().await.unwrap();
    let mut waiting = Box::pin(tenure.mutex("a").ttl(TTL).lock().into_future());
    assert!((&mut waiting).now_or_never().is_none());
    let first = Call::Ask(Intent::Wait { position: None });
    assert_eq!(store.diary(), [Call::Listen, first]);
    clock.advance(TTL / 2);
    assert!((&mut waiting).now_or_never().is_none());
    let again = Call::Ask(Intent::Wait { position: Some(Position(0)) });
    assert_eq!(store.diary(), [again]);
    theirs.release().await.unwrap();
    waiting.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn who_only_tries_does_not_listen() {
    let (tenure, store, other, _) = two_processes();
    let _theirs = other.mutex("a").lock().await.unwrap();
    assert!(tenure.mutex("a").try_lock().await.unwrap().is_none());
    assert_eq!(store.diary(), [Call::Ask(Intent::Try)]);
}

#[tokio::test]
async fn a_wait_ends_at_once_where_asking_again_would_not_help() {
    let (tenure, store, _, clock) = two_processes();
    clock.set_wall(u64::MAX / 2);
    let refused = tenure.mutex("a").lock().await.unwrap_err();
    assert!(matches!(refused, AcquireError::Misconfigured(_)), "{refused:#}");
    assert_eq!(store.asks(), [1, 0]);
}

#[tokio::test]
async fn a_try_that_fails_is_not_repeated() {
    let (tenure, store, _, _) = two_processes();
    store.refuse_asks(true);
    let failed = tenure.mutex("a").try_lock().into_future().now_or_never().unwrap().unwrap_err();
    assert!(matches!(failed, AcquireError::Unreachable(_)), "{failed}");
    assert_eq!(store.asks(), [1, 0]);
}

#[tokio::test]
async fn silence_is_doubt_and_what_came_of_it_is_taken_back() {
    let (tenure, store, _, clock) = two_processes();
    store.fall_silent(true);
    let asking = tenure.mutex("a").ttl(STEP * 4).try_lock().into_future();
    let asking = tokio::spawn(async { asking.await.unwrap_err() });
    assert!(!ends_within(STEP * 3, &asking, &clock).await);
    let name = LockName::new("a").unwrap();
    assert_eq!(store.inspect(&name).await.unwrap().holders.len(), 1);
    assert!(ends_within(STEP, &asking, &clock).await);
    assert!(matches!(asking.await.unwrap(), AcquireError::InDoubt(_)));
    settle().await;
    assert!(store.diary().contains(&Call::Release));
}

/// Waits for a lock that another process has, at a store that answers after 50 ms, and hears one hint. Returns when the
/// store was asked, in steps of 10 ms, and how the wait ended.
async fn waits_for(steps: u32, hint: u32) -> (Vec<u32>, AcquireError) {
    let (tenure, store, other, clock) = two_processes();
    let _theirs = other.mutex("a").ttl(Duration::from_secs(2)).lock().await.unwrap();
    store.forge_hints();
    let late = Flaw::Late(clock.clone(), Duration::from_millis(50));
    store.flaws(|flaws| flaws.ask = Some(late));
    let (step, mut asked) = (Duration::from_millis(10), Vec::new());
    let asking = tenure.mutex("a").ttl(TTL).wait(step * steps).lock().into_future();
    let asking = tokio::spawn(async { asking.await.map(drop).unwrap_err() });
    for number in 0..steps {
        if number == hint {
            store.hint(&LockName::new("a").unwrap());
        }
        settle().await;
        assert!(!asking.is_finished(), "it is not over yet");
        if store.asks()[0] > u32::try_from(asked.len()).unwrap() {
            asked.push(number);
        }
        clock.advance(step);
    }
    (asked, asking.await.unwrap())
}

/// The answer would come after the wait: the lock is busy, and nothing is in doubt.
#[tokio::test]
async fn what_cannot_be_answered_before_the_wait_is_over_is_asked_only_after_a_hint() {
    const NEVER: u32 = u32::MAX;
    let (asked, error) = waits_for(500, NEVER).await;
    assert!(asked.len() > 1 && matches!(error, AcquireError::TimedOut(_)), "{asked:?}, {error:#}");
    // The last of these would be cut off.
    let last = *asked.last().unwrap();
    let (sooner, error) = waits_for(last + 4, NEVER).await;
    assert_eq!(sooner, asked[..asked.len() - 1]);
    assert!(matches!(error, AcquireError::TimedOut(_)), "{error:#}");
    let (hinted, _) = waits_for(last + 4, last).await;
    assert_eq!(hinted, asked);
}

#[tokio::test]
async fn a_store_that_fails_is_asked_again_for_one_ttl() {
    let (tenure, store, _, clock) = two_processes();
    store.refuse_asks(true);
    let asking = tenure.mutex("a").ttl(TTL).lock().into_future();
    let asking = tokio::spawn(async { asking.await.unwrap_err() });
    assert!(!ends_within(TTL - STEP * 2, &asking, &clock).await);
    assert!(ends_within(STEP * 4, &asking, &clock).await);
    assert!(matches!(asking.await.unwrap(), AcquireError::Unreachable(_)));
    assert!(store.asks()[0] > 10);
}

#[tokio::test]
async fn a_store_that_answers_in_between_is_asked_for_another_ttl() {
    let (tenure, store, other, clock) = two_processes();
    let _theirs = other.mutex("a").ttl(TTL * 9).lock().await.unwrap();
    store.refuse_asks(true);
    let asking = tenure.mutex("a").ttl(TTL).lock().into_future();
    let asking = tokio::spawn(async { asking.await.unwrap_err() });
    assert!(!ends_within(TTL / 2, &asking, &clock).await);
    store.refuse_asks(false);
    assert!(!ends_within(STEP * 4, &asking, &clock).await);
    store.refuse_asks(true);
    assert!(!ends_within(TTL - STEP * 4, &asking, &clock).await);
    assert!(ends_within(STEP * 30, &asking, &clock).await);
}

#[tokio::test]
async fn a_store_that_is_away_is_told_once_until_it_answers_again() {
    for together in [false, true] {
        let (tenure, store, other, clock) = two_processes();
        let _theirs = other.mutex("a").ttl(TTL * 9).lock().await.unwrap();
        store.refuse_asks(true);
        let told = Arc::new(AtomicU32::new(0));
        let tell = told.clone();
        let tell = move |fault: &Fault| {
            assert_eq!(fault.kind(), FaultKind::Unreachable);
            tell.fetch_add(1, Ordering::Relaxed);
        };
        let asking = if together {
            let asking = tenure.all(["a"]).ttl(TTL).lock().on_unreachable(tell).into_future();
            tokio::spawn(async { asking.await.map(drop).unwrap_err() })
        } else {
            let asking = tenure.mutex("a").ttl(TTL).lock().on_unreachable(tell).into_future();
            tokio::spawn(async { asking.await.map(drop).unwrap_err() })
        };
        assert!(!ends_within(TTL / 2, &asking, &clock).await);
        assert_eq!(told.load(Ordering::Relaxed), 1);
        store.refuse_asks(false);
        assert!(!ends_within(STEP * 4, &asking, &clock).await);
        store.refuse_asks(true);
        assert!(ends_within(TTL * 2, &asking, &clock).await);
        assert_eq!(told.load(Ordering::Relaxed), 2, "and not of what ends the wait");
    }
}

#[tokio::test]
async fn a_store_that_fails_until_the_wait_is_over_is_what_the_caller_hears_of() {
    for doubted in [false, true] {
        let (tenure, store, _, clock) = two_processes();
        if doubted {
            store.lose_next_answer();
        } else {
            store.refuse_asks(true);
        }
        let asking = tenure.mutex("a").ttl(TTL).wait(STEP * 6).lock().into_future();
        let asking = tokio::spawn(async { asking.await.unwrap_err() });
        settle().await;
        store.refuse_asks(true);
        assert!(!ends_within(STEP * 5, &asking, &clock).await);
        assert!(ends_within(STEP, &asking, &clock).await);
        let error = asking.await.unwrap();
        // What was refused had no effect; what was not answered before may have had one.
        assert_eq!(matches!(error, AcquireError::InDoubt(_)), doubted, "{error:#}");
        assert_eq!(matches!(error, AcquireError::Unreachable(_)), !doubted, "{error:#}");
        assert!(format!("{error:#}").contains("it cannot be reached"), "{error:#}");
    }
}

#[tokio::test]
async fn what_one_task_left_in_doubt_is_in_doubt_for_the_next_one() {
    let (tenure, store, _, clock) = two_processes();
    store.lose_next_answer();
    let ask = |wait| {
        let asking = tenure.mutex("a").ttl(TTL).wait(wait).lock().into_future();
        tokio::spawn(async { asking.await.unwrap_err() })
    };
    let (first, second) = (ask(STEP * 3), ask(STEP * 6));
    settle().await;
    store.refuse_asks(true);
    assert!(ends_within(STEP * 4, &first, &clock).await);
    assert!(ends_within(STEP * 4, &second, &clock).await);
    for asking in [first, second] {
        let error = asking.await.unwrap();
        assert!(matches!(error, AcquireError::InDoubt(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_call_that_may_still_arrive_is_in_doubt_although_a_later_one_was_answered() {
    let (other, engine, store, clock) = on_manual_clock();
    tokio::spawn(engine);
    let store = Flawed::new(store).without(|can| can.calls_outlive_drop = true);
    let builder = Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone()));
    let (tenure, engine) = builder.build_inline();
    tokio::spawn(engine);
    let _theirs = other.mutex("a").ttl(TTL * 9).lock().await.unwrap();
    store.lose_next_answer();
    let asking = tenure.mutex("a").ttl(TTL).wait(STEP * 9).lock().into_future();
    let asking = tokio::spawn(async { asking.await.unwrap_err() });
    // The second ask is answered: busy.
    assert!(!ends_within(STEP * 3, &asking, &clock).await);
    store.refuse_asks(true);
    assert!(ends_within(STEP * 9, &asking, &clock).await);
    let error = asking.await.unwrap();
    assert!(matches!(error, AcquireError::InDoubt(_)), "{error:?}");
}

#[tokio::test]
async fn several_locks_of_which_the_answer_got_lost_are_in_doubt() {
    let (tenure, store, _, clock) = two_processes();
    store.lose_next_answer();
    let asking = tenure.all(["a", "b"]).ttl(TTL).wait(STEP * 6).lock().into_future();
    let asking = tokio::spawn(async { asking.await.map(drop).unwrap_err() });
    store.refuse_asks(true);
    assert!(ends_within(STEP * 8, &asking, &clock).await);
    let error = asking.await.unwrap();
    assert_eq!(store.asks()[1], 1, "they were not asked for together");
    assert!(matches!(error, AcquireError::InDoubt(_)), "{error:?}");
}

#[tokio::test]
async fn a_turn_at_the_store_lets_the_lease_go_by_one_call() {
    let (tenure, store, other, clock) = two_processes();
    let guard = tenure.mutex("a").ttl(TTL).lock().await.unwrap();
    let theirs = tokio::spawn(other.mutex("a").ttl(TTL).lock().into_future());
    settle().await;
    let mine = tokio::spawn(tenure.mutex("a").ttl(TTL).lock().into_future());
    settle().await;
    store.diary();
    // The turn of this process is over.
    clock.advance(STEP / 5);
    guard.release().await.unwrap();
    theirs.await.unwrap().unwrap().release().await.unwrap();
    mine.await.unwrap().unwrap().release().await.unwrap();
    settle().await;
    let diary = store.diary();
    let count = |wanted: fn(&Call) -> bool| diary.iter().filter(|call| wanted(call)).count();
    assert_eq!(count(|call| matches!(call, Call::Turn(_))), 1, "{diary:?}");
    // That of the hold that came after.
    assert_eq!(count(|call| *call == Call::Release), 1, "{diary:?}");
}

#[tokio::test]
async fn the_next_task_asks_with_the_place_of_the_one_that_was_dropped() {
    let (tenure, store, other, clock) = two_processes();
    let theirs = other.mutex("a").ttl(TTL).lock().await.unwrap();
    let first = tokio::spawn(tenure.mutex("a").ttl(TTL).lock().into_future());
    settle().await;
    let second = tokio::spawn(tenure.mutex("a").ttl(TTL).lock().into_future());
    settle().await;
    store.diary();
    first.abort();
    settle().await;
    clock.advance(TTL / 2);
    settle().await;
    let diary = store.diary();
    let with_place = Call::Ask(Intent::Wait { position: Some(Position(0)) });
    assert!(diary.contains(&with_place) && !diary.contains(&Call::Release), "{diary:?}");
    theirs.release().await.unwrap();
    second.await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn the_store_is_let_go_when_the_last_handle_is() {
    let (tenure, engine, store, _) = on_manual_clock();
    let engine = tokio::spawn(engine);
    drop(tenure.mutex("a").lock().await.unwrap());
    settle().await;
    assert!(!engine.is_finished());
    drop((tenure, store));
    settle().await;
    assert!(engine.is_finished());
}

#[cfg(unix)]
#[tokio::test]
async fn a_hold_is_labelled_with_its_host_and_process() {
    let (tenure, store, _, _) = two_processes();
    let guard = tenure.mutex("a").lock().await.unwrap();
    let seen = store.inspect(guard.name()).await.unwrap();
    let (host, process) = seen.holders[0].label.rsplit_once('/').unwrap();
    assert_eq!(host, nix::unistd::gethostname().unwrap());
    assert_eq!(process, std::process::id().to_string());
}

#[tokio::test]
async fn a_label_is_kept_whole_up_to_the_longest_and_cut_beyond_it() {
    let (tenure, store, _, _) = two_processes();
    // The last character has two bytes.
    let longest = "x".repeat(Label::MAX - 2) + "\u{e9}";
    let cases = [(longest.clone(), longest.as_str()), (format!("x{longest}"), &"x".repeat(255))];
    for (label, kept) in cases {
        let guard = tenure.mutex("a").label(label).lock().await.unwrap();
        let seen = store.inspect(guard.name()).await.unwrap();
        assert_eq!(seen.holders[0].label, kept);
        guard.release().await.unwrap();
    }
}
