//! Several names in one step.

use tenure_proto::queue::{
    Ask, Client, DecisionContext, Grant, Intent, NameState, Order, QueueError, Together,
    acquire_together,
};

use crate::world::{LIMITS, TTL, World, a_try, ask, at, ms, owner, permits};

fn moment() -> DecisionContext<'static> {
    let now = at(1_000);
    DecisionContext {
        now,
        wall: 1_700_000_000_000_000,
        limits: &LIMITS,
        alive: &|_| true,
        reachable: &|_| true,
    }
}

fn asked(
    states: [NameState; 3],
    asks: &[Ask; 3],
) -> (Result<Together, QueueError>, Vec<NameState>, usize) {
    let mut names: Vec<_> = states.into_iter().zip(asks).collect();
    let decided = acquire_together(&mut names, Client([1; 16]), &moment());
    let woken = decided.as_ref().map_or(0, |(_, wakes)| wakes.len());
    let states = names.into_iter().map(|(state, _)| state).collect();
    (decided.map(|(answer, _)| answer), states, woken)
}

/// A name that contender 9 holds, and one that it has let go to contender 8, who has not come yet.
fn taken() -> (NameState, NameState) {
    let mut world = World::new();
    world.take(&ask(9));
    let held = world.state.clone();
    world.queue(&ask(8));
    world.release(9);
    (held, world.state)
}

#[test]
fn free_names_are_granted_as_single_asks_would_be() {
    let asks = [ask(1), ask(2), ask(3)];
    let (answer, states, _) = asked(Default::default(), &asks);
    let Ok(Together::Granted(grants)) = answer else { panic!("{answer:?}") };
    for ((state, ask), grant) in states.iter().zip(&asks).zip(&grants) {
        let mut alone = World::new();
        let token = alone.take(&a_try(ask.clone()));
        assert_eq!(state.holders.len(), 1);
        assert_eq!((state.holders[0].owner, state.holders[0].expires), (ask.owner, at(11_000)));
        assert_eq!(*grant, Grant { token, left: TTL, others_waiting: false });
    }
    let again = asked(states.clone().try_into().expect("three"), &asks);
    assert_eq!(again, (Ok(Together::Granted(grants)), states, 0));
}

#[test]
fn one_that_is_busy_leaves_the_others_as_they_were() {
    let (held, offered) = taken();
    for (busy, ahead, holders) in [(held, 0, 1), (offered, 1, 0)] {
        for order in [Order::Fifo, Order::Barging] {
            let asks = [1, 2, 3].map(|number| Ask { order, ..ask(number) });
            for index in 0..3 {
                let mut before: [NameState; 3] = Default::default();
                before[index] = busy.clone();
                let (answer, after, woken) = asked(before.clone(), &asks);
                let Ok(Together::Busy { index: seen, ahead: line, holder }) = answer else {
                    panic!("{answer:?}")
                };
                assert_eq!((seen, line, holder.iter().len()), (index, ahead, holders));
                assert_eq!((after.as_slice(), woken), (before.as_slice(), 0));
            }
        }
    }
}

#[test]
fn what_time_brings_to_the_busy_one_is_kept() {
    let mut world = World::new();
    world.take(&Ask { ttl: ms(10), ..ask(9) });
    world.queue(&ask(8));
    world.now = moment().now;
    let mut overdue = world.state.clone();
    overdue.holders[0].expires = moment().now;
    let states = [NameState::default(), overdue, NameState::default()];
    let (answer, after, woken) = asked(states, &[ask(1), ask(2), ask(3)]);
    assert!(
        matches!(answer, Ok(Together::Busy { index: 1, ahead: 1, holder: None })),
        "{answer:?}"
    );
    assert_eq!((after[1].holders.len(), woken), (0, 1), "the waiter is offered what has ended");
    assert!(after[0].is_idle() && after[2].is_idle());
}

#[test]
fn no_place_is_kept_and_one_kept_before_is_left() {
    let (held, _) = taken();
    let mut world = World::new();
    world.state = held;
    world.queue(&ask(2));
    let asks = [ask(1), ask(2), ask(3)];
    assert!(asks.iter().all(|ask| matches!(ask.intent, Intent::Wait { .. })));
    let states = [NameState::default(), world.state.clone(), NameState::default()];
    let (_, after, _) = asked(states, &asks);
    assert_eq!(after[1], world.state);
    let owners: Vec<_> = after[1].waiters.iter().map(|waiter| waiter.owner).collect();
    assert_eq!(owners, [owner(2)]);
}

#[test]
fn an_ask_that_can_never_be_granted_changes_nothing() {
    let asks = [ask(1), ask(2), permits(3, 2, 1)];
    let (answer, after, _) = asked(Default::default(), &asks);
    assert_eq!(answer, Err(QueueError::Permits { take: 2, of: 1 }));
    assert!(after.iter().all(|state| *state == NameState::default()));
}
