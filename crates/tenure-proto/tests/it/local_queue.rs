//! Who is next among the tasks of one process.

use std::{collections::VecDeque, time::Duration};

use proptest::prelude::*;
use tenure_proto::{
    Timestamp, Token, Ttl,
    local::{Handoff, Joined, LocalQueue, Ticket, turn::AtRelease},
};

use crate::world::{at, ms};

const WINDOW: Duration = ms(500);

/// A queue with a head, and this many behind it, called by their numbers.
fn queue(behind: u64) -> (LocalQueue<u64>, Ticket, Vec<Ticket>) {
    queue_from(1, behind)
}

/// The same, with tickets from `first` on.
fn queue_from(first: u64, behind: u64) -> (LocalQueue<u64>, Ticket, Vec<Ticket>) {
    let mut queue = LocalQueue::new(WINDOW);
    let head = Ticket::new(first);
    assert_eq!(queue.join(head, || unreachable!("nobody waits at the head")), Joined::Head);
    let join = |number| {
        let ticket = Ticket::new(first + number);
        assert_eq!(queue.join(ticket, || number), Joined::Behind);
        ticket
    };
    let behind = (1..=behind).map(join).collect();
    (queue, head, behind)
}

/// A lease that can be passed on.
fn lease(now: Timestamp) -> AtRelease {
    AtRelease {
        now,
        token: Token::from_time(1_000).expect("it fits"),
        deadline: at(60_000),
        next_ttl: Ttl::DEFAULT,
        renewal_unanswered: false,
        release_requested: false,
        pass_bits: true,
    }
}

fn never(_: &u64) -> AtRelease {
    unreachable!("nobody is to get the lease")
}

#[test]
fn who_comes_first_is_at_the_head_and_the_others_wait() {
    let (queue, first, behind) = queue(2);
    assert!(queue.is_head(first));
    assert!(!queue.is_head(behind[0]));
    assert_eq!(queue.waiting(None), 2);
    assert_eq!(queue.waiting(Some(behind[1])), 1);
    assert_eq!(queue.due(false), None, "a head that runs is not waited for");
}

#[test]
fn who_does_not_want_to_wait_joins_an_empty_queue_alone() {
    let (mut queue, first, _) = queue(0);
    assert!(!queue.join_if_empty(Ticket::new(7)));
    assert_eq!(queue.leave(first, at(0)), Handoff::Nobody);
    assert!(queue.join_if_empty(Ticket::new(8)));
}

#[test]
fn what_the_head_leaves_goes_to_who_has_waited_longest() {
    let (mut queue, first, behind) = queue(2);
    assert_eq!(queue.leave(first, at(7)), Handoff::Head(behind[0], 1));
    assert_eq!(queue.leave(first, at(7)), Handoff::Nothing, "it has left");
    assert!(queue.take(behind[0]));
    assert_eq!(queue.leave(behind[0], at(7)), Handoff::Head(behind[1], 2));
    assert_eq!(queue.leave(behind[1], at(7)), Handoff::Nobody, "it need not have taken it");
    assert_eq!(queue.leave(behind[1], at(7)), Handoff::Nothing);
}

#[test]
fn a_task_that_waits_leaves_without_a_trace() {
    let (mut queue, first, behind) = queue(3);
    assert_eq!(queue.leave(behind[0], at(0)), Handoff::Gone(1));
    assert_eq!(queue.leave(behind[0], at(0)), Handoff::Nothing);
    assert_eq!(queue.waiting(None), 2);
    assert_eq!(queue.leave(first, at(0)), Handoff::Head(behind[1], 2));
    assert_eq!(queue.leave(behind[2], at(0)), Handoff::Gone(3));
    assert_eq!(queue.leave(behind[1], at(0)), Handoff::Nobody);
}

#[test]
fn a_head_is_taken_once_by_whom_it_was_given_to() {
    let (mut queue, first, behind) = queue(2);
    assert!(!queue.take(behind[0]), "it is not its turn");
    assert!(!queue.take(first), "it has it");
    let _ = queue.leave(first, at(0));
    assert!(!queue.take(behind[1]));
    assert!(queue.take(behind[0]));
    assert!(!queue.take(behind[0]));
}

#[test]
fn a_head_that_is_not_taken_goes_on_when_the_window_is_over() {
    let (mut queue, first, behind) = queue(2);
    let _ = queue.leave(first, at(100));
    assert_eq!(queue.due(false), Some(at(600)));
    assert_eq!(queue.on_time(at(599)), Handoff::Nothing);
    assert_eq!(queue.on_time(at(600)), Handoff::Head(behind[1], 2));
    assert!(!queue.take(behind[0]), "it came too late");
    assert_eq!(queue.due(false), Some(at(1_100)));
    assert!(queue.take(behind[1]));
    assert_eq!(queue.due(false), None);
    assert_eq!(queue.on_time(at(9_000)), Handoff::Nothing);
}

#[test]
fn a_head_that_waits_goes_on_a_window_after_it_was_to_go_on_itself() {
    let (mut queue, first, behind) = queue(1);
    queue.waits(behind[0], at(9_000));
    assert_eq!(queue.due(false), None, "it is not at the head");
    queue.waits(first, at(1_000));
    assert_eq!(queue.due(false), Some(at(1_500)));
    queue.waits(first, at(3_000));
    assert_eq!(queue.on_time(at(1_500)), Handoff::Nothing, "it went on");
    assert_eq!(queue.on_time(at(3_500)), Handoff::Head(behind[0], 1));
    queue.waits(first, at(9_000));
    assert_eq!(queue.due(false), Some(at(4_000)), "that is the one of the next task");
    assert!(!queue.granted(first, at(3_500)), "it asks for itself alone by now");
}

#[test]
fn a_head_that_waits_is_looked_at_for_those_behind_it_or_for_what_it_carries() {
    let (mut queue, first, _) = queue(0);
    queue.waits(first, at(1_000));
    assert_eq!(queue.due(false), None, "it is in nobody's way");
    assert_eq!(queue.due(true), Some(at(1_500)));
    assert_eq!(queue.join(Ticket::new(9), || 9), Joined::Behind);
    assert_eq!(queue.due(false), Some(at(1_500)));
    assert_eq!(queue.on_time(at(1_500)), Handoff::Head(Ticket::new(9), 9));
    assert_eq!(queue.due(false), Some(at(2_000)), "who is woken takes it or leaves it");
}

#[test]
fn a_head_that_goes_on_to_nobody_is_nobodys() {
    let (mut queue, first, _) = queue(0);
    queue.waits(first, at(0));
    assert_eq!(queue.on_time(at(500)), Handoff::Nobody);
    assert!(queue.join_if_empty(Ticket::new(9)));
}

#[test]
fn a_lease_goes_from_task_to_task_and_stays_at_the_head() {
    let (mut queue, first, behind) = queue(3);
    assert!(queue.granted(first, at(0)));
    assert_eq!(queue.due(false), None);
    assert_eq!(queue.on_time(at(9_000)), Handoff::Nothing, "a lease has a deadline of its own");
    for number in [1, 2] {
        let handoff = queue.released(first, at(number), |_| lease(at(number)));
        assert!(matches!(handoff, Handoff::Lease(to, token) if to == number && token.pass() > 0));
        assert!(queue.is_head(first));
    }
    // The turn is over.
    let handoff = queue.released(first, at(20), |_| lease(at(20)));
    assert_eq!(handoff, Handoff::Head(behind[2], 3));
    assert_eq!(queue.released(first, at(20), never), Handoff::Nothing);
}

#[test]
fn a_turn_begins_with_a_grant() {
    let (mut queue, first, behind) = queue(2);
    let _ = queue.leave(first, at(0));
    assert!(queue.take(behind[0]));
    assert!(queue.granted(behind[0], at(7_000)));
    let handoff = queue.released(behind[0], at(7_019), |_| lease(at(7_019)));
    assert!(matches!(handoff, Handoff::Lease(2, _)), "{handoff:?}");
    assert_eq!(queue.released(behind[0], at(7_019), never), Handoff::Nobody);
}

#[test]
fn what_cannot_be_passed_on_is_asked_for_by_the_next() {
    let (mut queue, first, behind) = queue(1);
    assert!(queue.granted(first, at(0)));
    let lease = AtRelease { renewal_unanswered: true, ..lease(at(0)) };
    assert_eq!(queue.released(first, at(0), |_| lease), Handoff::Head(behind[0], 1));
}

#[test]
fn only_the_lease_at_the_head_is_let_go_of() {
    let (mut queue, first, behind) = queue(1);
    assert_eq!(queue.released(first, at(0), never), Handoff::Nothing, "it has no lease");
    assert!(queue.granted(first, at(0)));
    assert_eq!(queue.released(behind[0], at(0), never), Handoff::Nothing);
    assert!(!queue.granted(behind[0], at(0)));
    assert_eq!(queue.leave(first, at(0)), Handoff::Head(behind[0], 1), "it was lost");
}

#[test]
fn a_ticket_of_a_queue_that_was_forgotten_means_nothing_to_the_next() {
    let (_, old, old_behind) = queue(1);
    let (mut next, first, behind) = queue_from(10, 1);
    let second = behind[0];
    assert!(!next.is_head(old));
    assert!(!next.granted(old, at(0)));
    for ticket in [old, old_behind[0]] {
        assert_eq!(next.leave(ticket, at(0)), Handoff::Nothing);
    }
    assert_eq!(next.leave(first, at(0)), Handoff::Head(second, 1));
}

/// What a task or time does. Tasks are called by the order in which they joined.
#[derive(Clone, Copy, Debug)]
enum Event {
    Join,
    JoinIfEmpty,
    Leave(usize),
    Take(usize),
    Waits(usize, u64),
    Granted(usize),
    Released(usize),
    Time(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let task = || 0..12_usize;
    let event = prop_oneof![
        4 => Just(Event::Join),
        1 => Just(Event::JoinIfEmpty),
        2 => task().prop_map(Event::Leave),
        3 => task().prop_map(Event::Take),
        2 => (task(), 0..800_u64).prop_map(|(task, wait)| Event::Waits(task, wait)),
        3 => task().prop_map(Event::Granted),
        4 => task().prop_map(Event::Released),
        3 => (0..700_u64).prop_map(Event::Time),
    ];
    prop::collection::vec(event, 0..60)
}

/// What is true whatever happens: nobody is overtaken, nobody is forgotten while another waits for
/// ever, and nobody is handed something twice.
#[derive(Debug, Default)]
struct Seen {
    tickets: Vec<Ticket>,
    waiting: VecDeque<u64>,
}

impl Seen {
    fn joined(&mut self, ticket: Ticket, joined: Joined, number: u64) {
        self.tickets.push(ticket);
        if joined == Joined::Behind {
            self.waiting.push_back(number);
        }
    }

    /// Whoever is handed something has waited longest.
    fn handed(&mut self, handoff: &Handoff<u64>) -> Result<(), TestCaseError> {
        match handoff {
            Handoff::Head(_, number) | Handoff::Lease(number, _) => {
                prop_assert_eq!(self.waiting.pop_front(), Some(*number));
            }
            Handoff::Nobody => prop_assert!(self.waiting.is_empty()),
            Handoff::Gone(_) | Handoff::Nothing => {}
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn nobody_is_overtaken_or_forgotten(events in events()) {
        let mut queue = LocalQueue::new(WINDOW);
        let mut seen = Seen::default();
        let mut now = 0;
        for event in events {
            let of = |task: usize| seen.tickets.get(task).copied();
            let mut handoff = Handoff::Nothing;
            let next = Ticket::new(seen.tickets.len() as u64);
            match event {
                Event::Join => {
                    let number = seen.tickets.len() as u64;
                    let joined = queue.join(next, || number);
                    seen.joined(next, joined, number);
                }
                Event::JoinIfEmpty => {
                    if queue.join_if_empty(next) {
                        prop_assert!(seen.waiting.is_empty());
                        seen.tickets.push(next);
                    }
                }
                Event::Leave(task) => {
                    if let Some(ticket) = of(task) {
                        let was_head = queue.is_head(ticket);
                        handoff = queue.leave(ticket, at(now));
                        let is_heads = !matches!(handoff, Handoff::Nothing | Handoff::Gone(_));
                        prop_assert_eq!(was_head, is_heads);
                        seen.waiting.retain(|number| was_head || *number != task as u64);
                    }
                }
                Event::Take(task) => {
                    if let Some(ticket) = of(task) {
                        let taken = queue.take(ticket);
                        prop_assert!(!taken || queue.is_head(ticket));
                    }
                }
                Event::Waits(task, wait) => {
                    of(task).into_iter().for_each(|ticket| queue.waits(ticket, at(now + wait)));
                }
                Event::Granted(task) => {
                    if let Some(ticket) = of(task) {
                        prop_assert_eq!(queue.granted(ticket, at(now)), queue.is_head(ticket));
                    }
                }
                Event::Released(task) => {
                    if let Some(ticket) = of(task) {
                        handoff = queue.released(ticket, at(now), |_| lease(at(now)));
                    }
                }
                Event::Time(length) => {
                    now += length;
                    handoff = queue.on_time(at(now));
                }
            }
            seen.handed(&handoff)?;
            prop_assert_eq!(queue.waiting(None), seen.waiting.len());
            let heads = seen.tickets.iter().filter(|ticket| queue.is_head(**ticket)).count();
            prop_assert_eq!(heads, usize::from(heads > 0 || !seen.waiting.is_empty()));
        }
    }
}

#[test]
fn nobody_waits_for_a_task_that_does_nothing() {
    assert!(goes_on());
}

/// Whether the others go on although the one that was woken never does anything.
pub(crate) fn goes_on() -> bool {
    let (mut queue, first, _) = queue(2);
    let _ = queue.leave(first, at(0));
    matches!(queue.on_time(at(500)), Handoff::Head(_, 2))
}
