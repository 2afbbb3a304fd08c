//! Notes to holders: a request that only asks, and the reason of a break that reaches the hold it is about, and no other.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Defaults, Error, LockName, MemoryStore, Tenure,
    asking::ReleaseAnswer,
    proto::queue::{Contender, Identity},
};

const TTL: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(30);

fn two() -> [Tenure; 2] {
    let store = Arc::new(MemoryStore::new());
    [(); 2].map(|()| Tenure::new(store.clone()))
}

async fn holders(tenure: &Tenure, name: &str) -> Vec<Contender> {
    tenure.inspect(name).await.unwrap().holders
}

fn reason(of: Option<&Identity>) -> Option<&str> {
    of?.reason.as_deref()
}

#[tokio::test]
async fn a_request_is_gone_when_it_is_dropped_and_a_second_one_only_waits() {
    let [one, other] = two();
    let guard = one.mutex("a").ttl(TTL).lock().await.unwrap();
    let first = tokio::spawn(other.ask_release("a").reason("first").into_future());
    guard.release_requested().await;
    let second = other.ask_release("a").reason("second").wait(Duration::from_millis(30)).await;
    assert!(matches!(second.unwrap(), ReleaseAnswer::Held(_)));
    assert_eq!(reason(guard.release_requested_by().as_ref()), Some("first"));
    assert!(holders(&other, "a~note").await[0].label.starts_with("release request of "));
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let note = other.mutex("a~note").lock().wait(PATIENCE).await.unwrap();
    note.release().await.unwrap();
    guard.check().unwrap();
    assert!(guard.is_release_requested(), "what it heard it has heard");
}

#[tokio::test]
async fn all_holders_are_asked_and_each_decides() {
    let [one, other] = two();
    let permits = one.semaphore("a", 2);
    let guards = [permits.acquire().await.unwrap(), permits.acquire().await.unwrap()];
    let asked = tokio::spawn(other.ask_release("a").wait(PATIENCE).into_future());
    for guard in guards {
        guard.release_requested().await;
        assert!(!asked.is_finished());
        guard.release().await.unwrap();
    }
    assert_eq!(asked.await.unwrap().unwrap(), ReleaseAnswer::Released);
}

#[tokio::test]
async fn a_lock_that_merely_has_the_name_of_a_note_is_neither_read_nor_taken() {
    let [one, other] = two();
    let guard = one.mutex("a").ttl(TTL).lock().await.unwrap();
    let named = other.mutex("a~note").label("mine").lock().await.unwrap();
    let seen = holders(&other, "a").await;
    let refused = other.announce_break("a", &seen, "why").await.unwrap_err();
    assert!(format!("{refused:#}").contains("~note"), "{refused:#}");
    let refused = other.ask_release("a").await.unwrap_err();
    assert!(format!("{refused:#}").contains("another name"), "{refused:#}");
    named.check().unwrap();
    named.release().await.unwrap();
    guard.check().unwrap();
    assert!(!guard.is_release_requested());
    // And of a note itself nobody can be asked to let go.
    assert_eq!(other.ask_release("a~note").await.unwrap(), ReleaseAnswer::Free);
    let held = other.mutex("a~note").lock().await.unwrap();
    let refused = one.ask_release("a~note").await.unwrap_err();
    assert!(matches!(refused, Error::Inspect(_)), "{refused:?}");
    drop(held);
}

#[tokio::test]
async fn who_comes_later_is_not_asked() {
    let [one, other] = two();
    let permits = one.semaphore("a", 2).ttl(TTL);
    let [stays, goes] = [permits.acquire().await.unwrap(), permits.acquire().await.unwrap()];
    let asked = tokio::spawn(other.ask_release("a").wait(PATIENCE).into_future());
    goes.release_requested().await;
    goes.release().await.unwrap();
    let later = permits.acquire().await.unwrap();
    stays.release_requested().await;
    // It reads the note again and again.
    for _ in 0..20 {
        other.store().hint_holders(&LockName::new("a").unwrap()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(!later.is_release_requested());
    }
    stays.release().await.unwrap();
    assert_eq!(asked.await.unwrap().unwrap(), ReleaseAnswer::Released);
    assert!(!later.is_release_requested(), "it came when others had been asked");
}

#[tokio::test]
async fn a_request_outlasts_another_that_is_withdrawn() {
    let [one, other] = two();
    let guard = one.mutex("a").ttl(TTL).lock().await.unwrap();
    let first = tokio::spawn(other.ask_release("a").reason("first").into_future());
    guard.release_requested().await;
    let second = tokio::spawn(other.ask_release("a").reason("second").into_future());
    first.abort();
    let note = async || {
        let note = holders(&other, "a~note").await;
        note.first().is_some_and(|it| it.identity().reason.as_deref() == Some("second"))
    };
    while !note().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    guard.release().await.unwrap();
    assert_eq!(second.await.unwrap().unwrap(), ReleaseAnswer::Released);
}

#[tokio::test]
async fn the_settings_of_a_name_do_not_concern_its_notes() {
    let store = Arc::new(MemoryStore::new());
    let mut kept = Defaults::default();
    kept.hold_at_least = Some(Duration::from_secs(600));
    let tenure = Tenure::builder(store).defaults(move |_| kept.clone()).build();
    let guard = tenure.mutex("a").lock().await.unwrap();
    let asked = tenure.ask_release("a").wait(Duration::from_millis(30)).await.unwrap();
    assert!(matches!(asked, ReleaseAnswer::Held(_)));
    assert_eq!(holders(&tenure, "a~note").await, []);
    drop(guard);
}

#[tokio::test]
async fn a_notice_of_what_was_not_done_is_withdrawn() {
    let [one, other] = two();
    let guard = one.mutex("a").ttl(TTL).lock().await.unwrap();
    let seen = holders(&other, "a").await;
    drop(other.announce_break("a", &seen, "changed my mind").await.unwrap());
    let note = other.mutex("a~note").lock().wait(PATIENCE).await.unwrap();
    note.release().await.unwrap();
    guard.check().unwrap();
}

#[tokio::test]
async fn who_breaks_a_lock_is_named_to_the_hold_that_it_was_taken_from_alone() {
    let [one, other] = two();
    let permits = one.semaphore("a", 3).ttl(TTL);
    let [first, second] = [permits.acquire().await.unwrap(), permits.acquire().await.unwrap()];
    let seen = holders(&other, "a").await;
    let id = |token| seen.iter().find(|it| it.token == Some(token)).unwrap().id.unwrap();
    let meant: Vec<_> = seen.iter().filter(|it| it.token == Some(first.token())).cloned().collect();
    let notice = other.announce_break("a", &meant, "one too many").await.unwrap();
    other.evict("a", id(first.token())).await.unwrap().unwrap();
    let lost = first.lost().await;
    assert_eq!(reason(lost.broken_by()), Some("one too many"));
    assert!(format!("{lost:#}").contains("broken by"), "{lost:#}");
    assert_eq!(first.broken_by().as_ref(), lost.broken_by());
    second.check().unwrap();
    assert_eq!(second.broken_by(), None, "it was not broken");
    notice.leave().await;
    // Another one breaks the second, which is as old, without a word.
    other.evict("a", id(second.token())).await.unwrap().unwrap();
    assert_eq!(second.lost().await.broken_by(), None);
    // One that began later, and is taken while the note is still there.
    let third = permits.acquire().await.unwrap();
    let seen = holders(&other, "a").await;
    let id = seen.iter().find(|it| it.token == Some(third.token())).unwrap().id.unwrap();
    assert_eq!(holders(&other, "a~note").await.len(), 1, "the note stays for a while");
    other.evict("a", id).await.unwrap().unwrap();
    assert_eq!(third.lost().await.broken_by(), None);
}

#[tokio::test]
async fn a_second_break_says_its_own_reason() {
    let [one, other] = two();
    for why in ["once", "twice"] {
        let guard = one.mutex("a").ttl(TTL).lock().await.unwrap();
        let seen = other.inspect("a").await.unwrap();
        let notice = other.announce_break("a", &seen.holders, why).await.unwrap();
        other.evict_seen("a", &seen).await.unwrap();
        notice.leave().await;
        assert_eq!(reason(guard.lost().await.broken_by()), Some(why));
    }
}
