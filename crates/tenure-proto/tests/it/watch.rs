//! What of a lock is news to who watches it.

use std::time::Duration;

use tenure_proto::{
    Token,
    queue::{Contender, Mode, Snapshot, Waiting},
    watch::Watched,
};

fn held(token: u64, left: u64) -> Snapshot {
    let mut holder = Contender::new("web-1", Mode::Exclusive);
    (holder.token, holder.left) = (Token::from_raw(token), Some(Duration::from_millis(left)));
    Snapshot::new(vec![holder], vec![])
}

#[test]
fn the_first_is_news_whatever_it_shows() {
    assert!(Watched::default().is_news(&Snapshot::default()));
    assert!(Watched::default().is_news(&held(1, 7)));
}

#[test]
fn the_same_again_is_no_news_however_long_its_lease_lasts() {
    let mut watched = Watched::default();
    assert!(watched.is_news(&held(1, 30_000)));
    for left in [29_000, 20_000, 30_000] {
        assert!(!watched.is_news(&held(1, left)));
    }
}

#[test]
fn another_holder_another_waiter_and_nobody_are_news() {
    let mut watched = Watched::default();
    assert!(watched.is_news(&held(1, 7)));
    assert!(watched.is_news(&held(2, 7)), "the same process, by another grant");
    let mut seen = held(2, 7);
    seen.waiters.push(Waiting::new("web-2", Mode::Exclusive));
    assert!(watched.is_news(&seen));
    seen.holders[0].lingering = true;
    assert!(watched.is_news(&seen));
    assert!(watched.is_news(&Snapshot::default()));
    assert!(watched.is_news(&held(1, 7)), "as before, and yet another change");
}
