//! What a name is used as.

use tenure_proto::queue::{Ask, Kind, Limits, NoKind, QueueError};

use crate::world::{LIMITS, World, a_try, ask, is_busy, ms, owner};

const REFUSED: QueueError = QueueError::OtherKind { used_as: Kind::Mutex };

/// A store whose kinds do not meet.
fn apart() -> World {
    World { limits: Limits { kinds_may_mix: false, ..LIMITS }, ..World::new() }
}

fn writes(number: u8) -> Ask {
    Ask { kind: Kind::ReadWrite, ..ask(number) }
}

#[test]
fn every_kind_has_a_word_of_its_own_that_gives_it_back() {
    for kind in Kind::ALL {
        assert_eq!(kind.as_str().parse(), Ok(kind));
        assert_eq!(format!("{kind:>9}"), format!("{:>9}", kind.as_str()));
    }
    assert_eq!("spinlock".parse::<Kind>(), Err(NoKind));
}

#[test]
fn kinds_that_meet_exclude_each_other_as_their_modes_do() {
    let mut world = World::new();
    world.take(&ask(1));
    assert!(is_busy(&world.acquire(&a_try(writes(2)))));
    world.queue(&writes(2));
    let seen = world.inspect();
    assert_eq!(seen.holders[0].kind, Some(Kind::Mutex));
    assert_eq!(seen.waiters[0].kind, Some(Kind::ReadWrite));
    world.release(1);
    world.take(&writes(2));
    assert_eq!(world.inspect().holders[0].kind, Some(Kind::ReadWrite));
}

#[test]
fn a_waiter_is_shown_as_what_it_asks_for_now() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.queue(&writes(2));
    assert_eq!(world.inspect().waiters[0].kind, Some(Kind::ReadWrite));
}

#[test]
fn kinds_kept_apart_are_refused_while_the_other_is_held() {
    let mut world = apart();
    world.take(&ask(1));
    assert_eq!(world.try_acquire(&writes(2)), Err(REFUSED));
    assert_eq!(world.try_acquire(&a_try(writes(2))), Err(REFUSED));
    assert_eq!(world.inspect().waiters, []);
    world.queue(&ask(3));
    world.release(1);
    // Now it is offered to a waiter.
    assert_eq!(world.try_acquire(&writes(2)), Err(REFUSED));
    world.take(&ask(3));
    world.release(3);
    world.take(&writes(2));
}

#[test]
fn who_asks_again_does_not_keep_itself_apart() {
    let mut world = apart();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.release(1);
    world.state.waiters[0].kind = Kind::Election;
    world.take(&ask(2));
}

#[test]
fn what_is_over_keeps_no_kind_apart() {
    let mut world = apart();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.kill(2);
    world.later(ms(10_000));
    world.take(&writes(3));

    let mut world = apart();
    world.take(&ask(1));
    world.kill(1);
    world.take(&writes(2));

    // What is kept taken outlives its process.
    let mut world = apart();
    world.take(&ask(1));
    world.release_keeping(1, ms(500));
    world.kill(1);
    assert_eq!(world.try_acquire(&writes(2)), Err(REFUSED));
    assert!(world.state.holders.iter().any(|holder| holder.owner == owner(1)));
}
