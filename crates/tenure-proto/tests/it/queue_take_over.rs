//! Holds that change hands, and those that belong to no process.

use tenure_proto::{
    Renewed,
    queue::{Client, Grant, Mode, QueueError, Released, TakeOver, TakenOver},
};

use crate::world::{TTL, World, ask, is_busy, ms, owner, permits, shared, taking_over};

/// A hold is taken over from its own owner, in one step, and by one alone.
pub(crate) fn changes_hands() -> bool {
    let mut world = World::new();
    let token = world.take(&ask(1));
    let nobody = world.take_over(&taking_over(9, 2)) == Ok(TakenOver::NotHeld);
    let taken = world.take_over(&taking_over(1, 2));
    let Ok(TakenOver::Granted(Grant { token: next, .. })) = taken else { return false };
    let old_has_nothing = world.renew(1) == Renewed::Lost && world.release(1) == Released::NotHeld;
    let once = world.take_over(&taking_over(1, 3)) == Ok(TakenOver::NotHeld);
    nobody && next > token && old_has_nothing && once && world.inspect().holders.len() == 1
}

#[test]
fn a_hold_changes_hands() {
    assert!(changes_hands());
}

#[test]
fn a_repeat_answers_the_same_and_extends_nothing() {
    let mut world = World::new();
    world.take(&ask(1));
    let over = taking_over(1, 2);
    let Ok(TakenOver::Granted(first)) = world.take_over(&over) else { panic!("it is held") };
    assert_eq!(first.left, TTL);
    world.later(ms(1_000));
    let again = Grant { left: TTL - ms(1_000), ..first };
    assert_eq!(world.take_over(&over), Ok(TakenOver::Granted(again)));
}

#[test]
fn another_mode_changes_nothing() {
    let mut world = World::new();
    world.take(&shared(1));
    world.take(&shared(2));
    let before = world.state.clone();
    for mode in [Mode::Exclusive, Mode::Permits { take: 1, of: 1 }] {
        let over = TakeOver { mode, ..taking_over(1, 3) };
        assert_eq!(world.take_over(&over), Err(QueueError::OtherMode));
        let repeated = TakeOver { mode, ..taking_over(9, 2) };
        assert_eq!(world.take_over(&repeated), Err(QueueError::OtherMode));
    }
    assert_eq!(world.state, before);
}

#[test]
fn who_waits_is_taken_nothing_from_and_goes_on_waiting() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    assert_eq!(world.take_over(&taking_over(2, 3)), Ok(TakenOver::NotHeld));
    let Ok(TakenOver::Granted(grant)) = world.take_over(&taking_over(1, 4)) else { panic!() };
    assert!(grant.others_waiting && world.woken.is_empty());
    world.release(4);
    assert_eq!(world.woken, [owner(2)]);
    world.take(&ask(2));
}

#[test]
fn what_ended_lingers_or_is_dead_is_not_taken_over() {
    let mut world = World::new();
    world.take(&ask(1));
    world.later(TTL);
    assert_eq!(world.take_over(&taking_over(1, 2)), Ok(TakenOver::NotHeld));
    world.take(&ask(3));
    world.release_keeping(3, ms(1_000));
    assert_eq!(world.take_over(&taking_over(3, 4)), Ok(TakenOver::NotHeld));
    assert_eq!(world.take_over(&taking_over(9, 3)), Ok(TakenOver::NotHeld), "it is there once");
    world.later(ms(1_000));
    world.take(&ask(5));
    world.kill(5);
    assert_eq!(world.take_over(&taking_over(5, 6)), Ok(TakenOver::NotHeld));
}

#[test]
fn a_detached_hold_belongs_to_nobody() {
    let mut world = World::new();
    world.take(&ask(1));
    let detached = TakeOver { detached: true, ..taking_over(1, 2) };
    world.take_over(&detached).unwrap();
    assert_eq!(
        world.state.holders.iter().map(|one| one.client).collect::<Vec<_>>(),
        [Client::NOBODY]
    );
    world.kill(1);
    world.kill(2);
    world.dead.insert(Client::NOBODY);
    assert!(is_busy(&world.acquire(&ask(3))));
    assert_eq!(world.inspect().holders.len(), 1);
    world.release(3);
    world.take_over(&taking_over(2, 4)).unwrap();
    world.kill(4);
    world.take(&ask(5));
}

#[test]
fn nobody_is_told_of_the_eviction_of_a_detached_hold() {
    let mut world = World::new();
    world.take(&shared(1));
    world.take(&shared(2));
    let over = TakeOver { detached: true, mode: Mode::Shared, ..taking_over(1, 3) };
    world.take_over(&over).unwrap();
    let evicted = world.decide(|state, at| state.evict(at));
    assert_eq!(evicted.holders.len(), 2);
    assert_eq!(evicted.clients.into_iter().collect::<Vec<_>>(), [crate::world::client(2)]);
}

#[test]
fn permits_stay_as_many() {
    let mut world = World::new();
    world.take(&permits(1, 2, 3));
    let mode = Mode::Permits { take: 2, of: 3 };
    world.take_over(&TakeOver { mode, ..taking_over(1, 2) }).unwrap();
    assert!(is_busy(&world.acquire(&permits(3, 2, 3))));
    assert_eq!(world.inspect().available(3), 1);
}
