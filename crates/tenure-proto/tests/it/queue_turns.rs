//! A turn: let go, let others in, ask again.

use tenure_proto::{
    Renewed,
    queue::{Answer, Ask, Order, QueueError},
};

use crate::world::{LIMITS, TTL, World, ask, is_busy, ms, owner};

#[test]
fn a_turn_without_others_is_a_fresh_grant() {
    let mut world = World::new();
    let token = world.take(&ask(1));
    world.later(ms(5_000));
    let Ok(Answer::Granted { token: fresh, left, .. }) = world.turn(1, &ask(2)) else {
        panic!("nobody else wants it");
    };
    assert!(fresh > token);
    assert_eq!(left, TTL);
    let again = world.turn(1, &ask(2)).unwrap();
    assert_eq!(again, Answer::Granted { token: fresh, left, others_waiting: false });
    assert_eq!(world.renew(1), Renewed::Lost, "the old owner has nothing");
}

#[test]
fn a_turn_lets_others_in_whatever_order_it_asks_for() {
    for order in [Order::Fifo, Order::Barging] {
        let mut world = World::new();
        world.take(&ask(1));
        world.queue(&ask(3));
        let next = Ask { order, ..ask(2) };
        assert!(is_busy(&world.turn(1, &next).unwrap()), "{order:?}");
        assert_eq!(world.woken, [owner(3)], "{order:?}");
        assert!(is_busy(&world.turn(1, &next).unwrap()), "{order:?} repeated");
        world.take(&ask(3));
        world.release(3);
        assert_eq!(world.woken, [owner(2)], "{order:?}");
    }
}

#[test]
fn a_turn_that_finds_the_queue_full_changes_nothing() {
    let mut world = World::new();
    world.limits.max_waiters = 1;
    world.take(&ask(1));
    world.queue(&ask(3));
    let before = world.state.clone();
    // The one who waits is offered the name and still stands in the only place.
    assert_eq!(world.turn(1, &ask(2)), Err(QueueError::Full { waiting: 1 }));
    assert_eq!(world.state, before);
}

#[test]
fn a_turn_in_a_name_that_only_absent_ones_wait_for_is_granted() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.release(1);
    world.later(LIMITS.claim_window);
    world.take(&ask(3));
    assert!(matches!(world.turn(3, &ask(4)), Ok(Answer::Granted { others_waiting: false, .. })));
}

#[test]
fn a_turn_does_not_free_what_was_let_go_and_kept() {
    let mut world = World::new();
    world.take(&ask(1));
    world.release_keeping(1, ms(3_000));
    assert!(is_busy(&world.turn(1, &ask(2)).unwrap()));
    world.later(ms(3_000));
    world.take(&ask(2));
}
