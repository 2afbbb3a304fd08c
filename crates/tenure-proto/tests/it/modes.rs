//! Who can hold a name together, and how a hold changes its mode.

use tenure_proto::{
    Renewed,
    queue::{Answer, Ask, Contender, Mode, Occupancy, Order, QueueError, Snapshot},
};

use crate::world::{TTL, World, a_try, ask, is_busy, ms, owner, permits, shared};

const EXCLUSIVE: Mode = Mode::Exclusive;
const SHARED: Mode = Mode::Shared;

const fn take(take: u32, of: u32) -> Mode {
    Mode::Permits { take, of }
}

#[test]
fn a_name_has_room_for_those_who_can_share_it() {
    let cases: [(&[Mode], Mode, bool); 13] = [
        (&[], EXCLUSIVE, true),
        (&[], SHARED, true),
        (&[], take(3, 3), true),
        (&[], take(4, 3), false),
        (&[EXCLUSIVE], EXCLUSIVE, false),
        (&[EXCLUSIVE], SHARED, false),
        (&[EXCLUSIVE], take(1, 3), false),
        (&[SHARED, SHARED], SHARED, true),
        (&[SHARED], EXCLUSIVE, false),
        (&[SHARED], take(1, 3), false),
        (&[take(1, 3), take(1, 3)], take(1, 3), true),
        (&[take(2, 3)], take(2, 3), false),
        (&[take(u32::MAX, u32::MAX), take(u32::MAX, u32::MAX)], take(1, u32::MAX), false),
    ];
    for (holders, next, fits) in cases {
        let room = Occupancy::taken_by(holders.iter().copied());
        assert_eq!(room.fits(next), fits, "{next:?} beside {holders:?}");
    }
}

#[test]
fn all_leading_readers_are_let_in_together_up_to_the_writer() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&shared(2));
    world.queue(&shared(3));
    world.queue(&ask(4));
    world.queue(&shared(5));
    world.release(1);
    assert_eq!(world.woken, [owner(2), owner(3)]);
    world.take(&shared(3));
    assert!(is_busy(&world.acquire(&shared(5))), "it stands behind the writer");
    world.take(&shared(2));
    world.release(2);
    assert!(world.woken.is_empty());
    world.release(3);
    assert_eq!(world.woken, [owner(4)]);
}

#[test]
fn readers_cannot_starve_a_writer_that_waits() {
    let mut world = World::new();
    world.take(&shared(1));
    world.queue(&ask(2));
    assert!(is_busy(&world.acquire(&a_try(shared(3)))));
    assert!(is_busy(&world.acquire(&shared(4))));
    world.release(1);
    assert_eq!(world.woken, [owner(2)]);
}

#[test]
fn an_absent_writer_does_not_hold_readers_up() {
    let mut world = World::new();
    world.take(&ask(1));
    world.queue(&ask(2));
    world.release(1);
    world.later(ms(500));
    world.take(&shared(3));
    world.take(&shared(4));
    assert!(is_busy(&world.acquire(&ask(2))));
    assert!(is_busy(&world.acquire(&shared(5))), "the writer is back");
}

#[test]
fn as_many_takers_of_permits_are_let_in_as_fit() {
    let mut world = World::new();
    world.take(&permits(1, 3, 3));
    world.queue(&permits(2, 1, 3));
    world.queue(&permits(3, 2, 3));
    world.queue(&permits(4, 1, 3));
    world.release(1);
    assert_eq!(world.woken, [owner(2), owner(3)]);
}

#[test]
fn small_asks_cannot_starve_a_large_one() {
    let mut world = World::new();
    world.take(&permits(1, 1, 3));
    world.queue(&permits(2, 3, 3));
    assert!(is_busy(&world.acquire(&permits(3, 1, 3))));
    world.release(1);
    assert_eq!(world.woken, [owner(2)]);
}

#[test]
fn how_many_permits_there_are_is_said_by_each_ask() {
    let mut world = World::new();
    world.take(&permits(1, 2, 2));
    assert!(is_busy(&world.acquire(&permits(2, 1, 2))));
    world.take(&permits(2, 1, 3));
    // A waiter learns that there are more and keeps its place.
    let place = world.queue(&permits(3, 1, 3));
    assert_eq!(world.queue(&permits(3, 2, 3)), place);
    world.take(&permits(3, 1, 4));
}

#[test]
fn permits_come_back_when_their_lease_ends() {
    let mut world = World::new();
    world.take(&permits(1, 3, 3));
    world.later(TTL);
    assert_eq!(world.inspect().available(3), 3);
    world.take(&permits(2, 3, 3));
}

#[test]
fn a_hold_of_permits_is_the_same_however_many_there_are_by_now() {
    let mut world = World::new();
    let token = world.take(&permits(1, 1, 2));
    assert_eq!(world.take(&permits(1, 1, 3)), token);
    assert_eq!(world.inspect().holders[0].mode, take(1, 3));
}

#[test]
fn a_reader_enters_beside_one_that_came_before_it() {
    let mut world = World::new();
    world.take(&Ask { ttl: ms(300), ..ask(1) });
    world.queue(&shared(2));
    world.queue(&shared(3));
    world.queue(&ask(4));
    world.queue(&shared(5));
    world.later(ms(300));
    // The lease ended unnoticed, so nobody was offered anything.
    world.take(&shared(3));
    assert!(is_busy(&world.acquire(&shared(5))), "it stands behind the writer");
    world.take(&shared(2));
}

#[test]
fn permits_that_can_never_fit_are_refused() {
    for (take, of) in [(0, 3), (4, 3), (1, 0)] {
        let refused = World::new().try_acquire(&permits(1, take, of)).unwrap_err();
        assert_eq!(refused, QueueError::Permits { take, of });
    }
}

#[test]
fn no_more_hold_together_than_are_allowed() {
    let mut world = World::new();
    world.limits.max_holders = 2;
    world.take(&shared(1));
    world.take(&shared(2));
    assert!(is_busy(&world.acquire(&shared(3))));
    assert!(is_busy(&world.acquire(&Ask { order: Order::Barging, ..shared(4) })));
    world.release(1);
    assert_eq!(world.woken, [owner(3)]);
}

#[test]
fn an_exclusive_holder_becomes_a_reader_and_lets_others_in() {
    let mut world = World::new();
    let token = world.take(&ask(1));
    world.queue(&shared(2));
    world.queue(&ask(3));
    world.later(ms(2_000));
    let downgraded = world.acquire(&shared(1));
    assert_eq!(downgraded, Answer::Granted { token, left: ms(8_000), others_waiting: true });
    assert_eq!(world.woken, [owner(2)]);
    assert!(world.take(&shared(2)) > token);
    assert!(matches!(world.renew(1), Renewed::Renewed { .. }));
}

#[test]
fn every_other_change_of_mode_is_refused() {
    let cases = [
        (shared(1), ask(1)),
        (ask(1), permits(1, 1, 2)),
        (permits(1, 1, 2), ask(1)),
        (permits(1, 1, 2), shared(1)),
        (permits(1, 1, 3), permits(1, 2, 3)),
    ];
    for (first, then) in cases {
        let mut world = World::new();
        world.take(&first);
        let before = world.state.clone();
        assert_eq!(world.try_acquire(&then), Err(QueueError::OtherMode), "{first:?} {then:?}");
        assert_eq!(world.state, before);
    }
}

#[test]
fn a_late_copy_of_the_first_ask_does_not_undo_a_downgrade() {
    let mut world = World::new();
    world.take(&ask(1));
    world.take(&shared(1));
    world.take(&shared(2));
    assert_eq!(world.try_acquire(&ask(1)), Err(QueueError::OtherMode));
    world.take(&shared(3));
}

#[test]
fn what_is_offered_is_counted_once() {
    let mut world = World::new();
    world.take(&permits(1, 3, 3));
    world.queue(&permits(2, 1, 3));
    world.release(1);
    world.take(&permits(3, 2, 3));
    world.take(&permits(2, 1, 3));
}

#[test]
fn an_offered_waiter_may_want_more_than_it_was_offered() {
    let mut world = World::new();
    world.take(&permits(1, 3, 3));
    world.queue(&permits(2, 1, 3));
    world.release(1);
    world.take(&permits(2, 3, 3));
}

/// What a look calls available is what an ask gets where nobody comes first.
#[test]
fn what_is_available_is_what_fits() {
    let huge = take(u32::MAX, u32::MAX);
    let cases: [&[Mode]; 7] = [
        &[],
        &[take(1, 4)],
        &[take(2, 4), take(1, 4)],
        &[take(4, 4)],
        &[huge, huge],
        &[SHARED],
        &[EXCLUSIVE],
    ];
    for held in cases {
        let room = Occupancy::taken_by(held.iter().copied());
        for of in [1, 3, 4, 5, u32::MAX] {
            let most = room.available(of);
            assert!(most == 0 || room.fits(take(most, of)), "{held:?} {of}");
            let more = most.saturating_add(1);
            assert!(most == of || !room.fits(take(more, of)), "{held:?} {of}");
        }
    }
}

#[test]
fn a_name_that_is_only_kept_taken_is_held() {
    let mut kept = Contender::new("", take(2, 3));
    kept.lingering = true;
    let seen = Snapshot::new(vec![kept], Vec::new());
    assert!(seen.is_held());
    assert_eq!(seen.available(3), 1);
    assert!(!Snapshot::default().is_held());
    assert_eq!(Snapshot::default().available(3), 3);
}
