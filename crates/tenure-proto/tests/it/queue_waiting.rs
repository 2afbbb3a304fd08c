//! Waiting: places, how long to sleep, and those who will never come.

use std::cell::Cell;

use tenure_proto::queue::{Ask, Client, DecisionContext, Intent, Position, QueueError};

use crate::world::{
    LIMITS, World, a_try, ahead, ask, client, is_busy, ms, owner, permits, retry_after,
};

#[test]
fn a_place_that_was_not_asked_for_in_time_is_given_up() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.later(ms(8_999));
    world.renew(1);
    assert_eq!(world.inspect().waiters.len(), 1);
    world.later(ms(1));
    assert_eq!(world.inspect().waiters.len(), 0);
}

#[test]
fn an_offer_makes_no_place_last_longer() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.release(1);
    assert_eq!(world.woken, [owner(2)]);
    world.later(LIMITS.position_ttl);
    assert_eq!(world.inspect().waiters.len(), 0);
}

#[test]
fn a_waiter_that_names_its_lost_place_gets_it_back() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    let place = world.queue(&ask(3));
    world.state.waiters.clear();
    world.queue(&ask(4));
    world.queue(&ask(5));
    let back = Ask { intent: Intent::Wait { position: Some(Position(1)) }, ..ask(3) };
    assert_eq!((place, world.queue(&back)), (Position(1), Position(1)));
    let order: Vec<_> = world.inspect().waiters.into_iter().map(|waiter| waiter.label).collect();
    assert_eq!(order, ["contender 3", "contender 4", "contender 5"]);
}

#[test]
fn a_newcomer_stands_behind_a_place_of_another_life_of_the_name() {
    let mut world = World::new();
    world.take(&ask(1));
    let far = Intent::Wait { position: Some(Position(u64::MAX)) };
    assert_eq!(world.queue(&Ask { intent: far, ..ask(2) }), Position(u64::MAX));
    world.queue(&ask(3));
    assert_eq!(ahead(&world.acquire(&ask(3))), 0, "equal places cannot be told apart");
    world.release(1);
    assert_eq!(world.woken, [owner(2)]);
}

#[test]
fn retry_after_is_the_next_change_spread_by_place() {
    let mut world = World::new();
    world.take(&Ask { ttl: ms(300), ..ask(1) });
    // The first comes when the lease ends, the others one claim window apart.
    for (number, expected) in [(2, 300), (3, 800), (4, 1_300), (5, 1_800)] {
        assert_eq!(retry_after(&world.acquire(&ask(number))), ms(expected), "{number}");
    }
}

#[test]
fn retry_after_is_bounded_by_looks_and_by_the_place() {
    let mut world = World::new();
    world.take(&ask(1));
    for (number, expected) in [(2, 1_000), (3, 2_000), (4, 3_000), (5, 3_000)] {
        let answer = world.acquire(&ask(number));
        assert_eq!(retry_after(&answer), ms(expected), "{number}");
        assert_eq!(ahead(&answer), u32::from(number) - 2);
    }
}

#[test]
fn who_stands_behind_an_offer_comes_back_when_it_ends() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.queue(&ask(3));
    world.release(1);
    world.later(ms(100));
    assert_eq!(retry_after(&world.acquire(&ask(3))), ms(400));
}

#[test]
fn who_wants_more_than_it_was_offered_does_not_come_back_for_the_end_of_its_own_offer() {
    let mut world = World::new();
    world.take(&permits(1, 3, 3));
    world.queue(&permits(2, 1, 3));
    world.release(1);
    world.take(&permits(3, 2, 3));
    assert_eq!(retry_after(&world.acquire(&a_try(permits(2, 3, 3)))), LIMITS.look);
    assert_eq!(retry_after(&world.acquire(&a_try(permits(4, 1, 3)))), LIMITS.claim_window);
}

#[test]
fn a_dead_holder_is_noticed_by_the_next_ask() {
    let mut world = World::new();
    let token = world.take(&ask(1));
    world.kill(1);
    assert!(world.take(&a_try(ask(2))) > token);
}

#[test]
fn dead_waiters_are_not_offered_anything() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.queue(&ask(3));
    world.queue(&ask(4));
    world.kill(2);
    world.kill(3);
    world.release(1);
    assert_eq!(world.woken, [owner(4)]);
}

#[test]
fn a_dead_waiter_behind_an_absent_one_holds_nobody_up() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.queue(&ask(3));
    world.release(1);
    world.later(LIMITS.claim_window);
    world.kill(3);
    world.take(&a_try(ask(4)));
}

#[test]
fn nobody_behind_the_first_who_is_there_is_looked_at_for_whether_it_lives() {
    let mut world = World::new();
    world.take(&ask(1));
    for number in 2..=6 {
        world.queue(&ask(number));
    }
    world.kill(2);
    world.kill(5);
    let asked = Cell::new(0);
    let alive = |of: Client| {
        asked.set(asked.get() + 1);
        of != client(2) && of != client(5)
    };
    let moment = DecisionContext {
        now: world.now,
        wall: world.wall,
        limits: &world.limits,
        alive: &alive,
        reachable: &|_| true,
    };
    let busy = world.state.acquire(&a_try(ask(7)), client(7), &moment);
    assert!(busy.is_ok_and(|(answer, _)| is_busy(&answer)));
    // The holder, the dead one and the one behind it, who is in the way of all others.
    assert_eq!(asked.get(), 3);
    let places: Vec<_> = world.state.waiters.iter().map(|waiter| waiter.owner).collect();
    assert_eq!(places, [3, 4, 5, 6].map(owner));
}

#[test]
fn dead_waiters_make_room_in_a_full_queue() {
    let mut world = World::new();
    world.limits.max_waiters = 3;
    world.take(&ask(1));
    for number in 2..=4 {
        world.queue(&ask(number));
    }
    let refused = world.try_acquire(&ask(5)).unwrap_err();
    assert_eq!(refused, QueueError::Full { waiting: 3 });
    world.kill(3);
    assert_eq!(ahead(&world.acquire(&ask(5))), 2);
}

#[test]
fn the_absent_are_not_counted_as_ahead() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.release(1);
    world.later(LIMITS.claim_window);
    world.take(&ask(3));
    assert_eq!(ahead(&world.acquire(&ask(4))), 0);
}

#[test]
fn who_names_the_place_of_another_stands_behind_it() {
    let mut world = World::new();
    world.take(&ask(1));
    let place = world.queue(&ask(2));
    world.later(ms(8_000));
    world.queue(&ask(2));
    world.later(ms(2_000));
    let same = Ask { intent: Intent::Wait { position: Some(place) }, ..ask(3) };
    assert_eq!(world.queue(&same), place);
    assert_eq!(world.woken, [owner(2)]);
}
