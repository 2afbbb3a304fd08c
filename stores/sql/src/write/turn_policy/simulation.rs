//! Many writers of one row, at a server that is as far away as is said, by a clock of their own: no time passes.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::*;

/// How long one call may take, as databases have it unless told otherwise.
const LIMIT: u64 = 5_000_000;
/// For how long the row is locked by what writes it.
const COMMIT: u64 = 500;
const NEAR: u64 = 200;
const FAR: u64 = 20_000;

/// What comes next in the life of a writer, where that is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// At the writer.
    Begins,
    Looks,
    Sees {
        version: u64,
        turns: Vec<[u8; 32]>,
        server: i64,
    },
    Hears {
        is_written: bool,
    },
    HasReserved,
    /// At the server.
    IsRead,
    IsWritten {
        version: u64,
        turns: Vec<[u8; 32]>,
    },
    IsReserved {
        turn: [u8; 32],
    },
}

struct Writer {
    policy: TurnPolicy,
    round_trip: u64,
    began: u64,
    looked: u64,
    asked: u64,
    seen: (Vec<Reservation>, i64),
    /// Of the calls that have ended.
    calls: u64,
    longest: u64,
}

struct World {
    seed: u64,
    /// How much longer a way may take, as a part of itself.
    jitter: f64,
    origin: Instant,
    events: BinaryHeap<Reverse<(u64, u64, usize, Event)>>,
    number: u64,
    writers: Vec<Writer>,
    version: u64,
    turns: Vec<Reservation>,
    locked_until: u64,
}

fn bytes(turns: &[Reservation]) -> Vec<[u8; 32]> {
    turns.iter().map(|turn| turn.bytes().try_into().unwrap()).collect()
}

fn turns(bytes: &[[u8; 32]]) -> Vec<Reservation> {
    bytes.iter().map(|bytes| Reservation::read(bytes).unwrap()).collect()
}

impl World {
    fn new(seed: u64, jitter: f64, round_trips: &[u64]) -> Self {
        let origin = Instant::now();
        let writer = |round_trip: &u64| Writer {
            policy: TurnPolicy::new(origin, origin, origin),
            round_trip: *round_trip,
            began: 0,
            looked: 0,
            asked: 0,
            seen: (Vec::new(), 0),
            calls: 0,
            longest: 0,
        };
        let mut world = Self {
            seed,
            jitter,
            origin,
            events: BinaryHeap::new(),
            number: 0,
            writers: round_trips.iter().map(writer).collect(),
            version: 1,
            turns: Vec::new(),
            locked_until: 0,
        };
        for writer in 0..round_trips.len() {
            let at = world.below(1_000);
            world.then(at, writer, Event::Begins);
        }
        world
    }

    fn below(&mut self, end: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn then(&mut self, at: u64, writer: usize, event: Event) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, writer, event)));
    }

    fn at(&self, now: u64) -> Instant {
        self.origin + Duration::from_micros(now)
    }

    /// A way to the server or back: at least a half of the shortest round trip.
    fn way(&mut self, writer: usize) -> u64 {
        let way = self.writers[writer].round_trip / 2;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is small")]
        let more = (way as f64 * self.jitter) as u64;
        way + self.below(more + 1)
    }

    fn run(&mut self, length: u64) {
        while let Some(Reverse((now, _, writer, event))) = self.events.pop() {
            if now > length {
                return;
            }
            self.happen(now, writer, event);
        }
    }

    fn happen(&mut self, now: u64, writer: usize, event: Event) {
        let way = self.way(writer);
        match event {
            Event::Begins => {
                let (began, until) = (self.at(now), self.at(now + LIMIT));
                let one = &mut self.writers[writer];
                (one.policy, one.began) = (TurnPolicy::new(began, until, began + YIELDS), now);
                self.then(now, writer, Event::Looks);
            }
            Event::Looks => {
                self.writers[writer].looked = now;
                self.then(now + way, writer, Event::IsRead);
            }
            Event::IsRead => {
                let server = i64::try_from(now).unwrap() + 1_700_000_000_000_000;
                let (version, turns) = (self.version, bytes(&self.turns));
                self.then(now + way, writer, Event::Sees { version, turns, server });
            }
            Event::Sees { version, turns: seen, server } => {
                let seen = turns(&seen);
                let look = self.look(now, server);
                let one = &mut self.writers[writer];
                if let Some(pause) = one.policy.yields_for(&seen, look) {
                    let looked = Duration::from_micros(now - one.looked);
                    let step = one.policy.after_yield(&seen, look, (looked, pause));
                    one.seen = (seen, server);
                    self.step(now, writer, step);
                    return;
                }
                let others = bytes(&one.policy.others(&seen, server));
                one.seen = (seen, server);
                self.then(now + way, writer, Event::IsWritten { version, turns: others });
            }
            // Whoever wants to write a row that is locked skips it.
            Event::IsWritten { version, turns: others } => {
                let is_written = version == self.version && now >= self.locked_until;
                let mut done = now;
                if is_written {
                    (self.version, self.turns) = (version + 1, turns(&others));
                    self.locked_until = now + COMMIT;
                    done = self.locked_until;
                }
                self.then(done + way, writer, Event::Hears { is_written });
            }
            Event::Hears { is_written } => {
                let one = &self.writers[writer];
                let took = now - one.began;
                if is_written || took >= LIMIT {
                    let one = &mut self.writers[writer];
                    (one.calls, one.longest) = (one.calls + 1, one.longest.max(took));
                    self.then(now, writer, Event::Begins);
                    return;
                }
                let look = self.look(now, self.writers[writer].seen.1);
                let one = &mut self.writers[writer];
                let took = Duration::from_micros(now - one.looked);
                let step = one.policy.after_loss(&one.seen.0, look, took);
                self.step(now, writer, step);
            }
            // Whoever reserves it waits for those who have it locked.
            Event::IsReserved { turn } if now < self.locked_until => {
                self.then(self.locked_until, writer, Event::IsReserved { turn });
            }
            Event::IsReserved { turn } => {
                self.turns.extend(turns(&[turn]));
                (self.version, self.locked_until) = (self.version + 1, now + COMMIT);
                self.then(now + COMMIT + way, writer, Event::HasReserved);
            }
            Event::HasReserved => {
                let one = &mut self.writers[writer];
                one.policy.note_reserving(Duration::from_micros(now - one.asked));
                self.then(now, writer, Event::Looks);
            }
        }
    }

    fn look(&mut self, now: u64, server: i64) -> RowReadTime {
        let random = f64::from(u32::try_from(self.below(1_000)).unwrap()) / 1_000.0;
        RowReadTime { server, here: self.at(now), random }
    }

    fn step(&mut self, now: u64, writer: usize, step: RetryStep) {
        let (id, way) = ((u128::from(self.below(u64::MAX))).to_le_bytes(), self.way(writer));
        let one = &mut self.writers[writer];
        match step {
            RetryStep::Retry(pause) => {
                let pause = u64::try_from(pause.as_micros()).unwrap();
                self.then(now + pause, writer, Event::Looks);
            }
            RetryStep::Reserve => {
                let turn = one.policy.reserve(&one.seen.0, one.seen.1, id);
                one.asked = now;
                let [turn] = bytes(&[turn])[..] else { return };
                self.then(now + way, writer, Event::IsReserved { turn });
            }
        }
    }

    /// The longest that any call took, also one that is not over, in milliseconds.
    fn longest(&self, now: u64) -> u64 {
        let taken = self.writers.iter().map(|one| one.longest.max(now.saturating_sub(one.began)));
        taken.max().unwrap_or_default() / 1_000
    }
}

/// So many writers, the last of whom are far.
fn writers(near: usize, far: usize) -> Vec<u64> {
    [vec![NEAR; near], vec![FAR; far]].concat()
}

#[test]
fn no_writer_starves_however_many_there_are_and_however_far_they_are() {
    let length = 20_000_000;
    let mut failed = Vec::new();
    for many in [2, 16, 64] {
        let alike = [0, 1, many / 2, many].map(|far| (far, 0.1));
        // A way takes up to seventeen times as long as at the shortest: few can have their turns within the limit.
        let varying = [1, 2].map(|far| (far, 16.0));
        for (far, jitter) in alike.into_iter().chain(varying) {
            for seed in 1..=2 {
                let mut world = World::new(seed, jitter, &writers(many - far, far));
                world.run(length);
                let calls: Vec<_> = world.writers.iter().map(|one| one.calls).collect();
                let (longest, least) = (world.longest(length), *calls.iter().min().unwrap());
                if longest >= LIMIT / 1_000 || least == 0 {
                    failed.push((many, jitter, far, seed, longest));
                }
            }
        }
    }
    assert!(failed.is_empty(), "writers, jitter, far, seed and the longest call in ms: {failed:?}");
}

/// Of calls that are tried together the next has a moment left when the first has failed.
#[test]
fn calls_that_come_all_the_time_reserve_the_row_also_once_one_of_them_has_failed() {
    let origin = Instant::now();
    let at = |millis| origin + Duration::from_millis(millis);
    let look =
        |millis| RowReadTime { server: 1_700_000_000_000_000, here: at(millis), random: 0.5 };
    let lost = |policy: &mut TurnPolicy, now| {
        policy.after_loss(&[], look(now), Duration::from_millis(100))
    };
    let mut policy = TurnPolicy::new(origin, at(5_000), at(3_000));
    for now in (100..5_000).step_by(100) {
        if lost(&mut policy, now) == RetryStep::Reserve {
            policy.reserve(&[], 0, [1; 16]);
        }
    }
    assert_eq!(policy.reserved, RESERVES, "all of its turns were in vain");
    policy.set_end(at(5_020));
    policy.go_on_for(at(20), at(8_000));
    assert_eq!(lost(&mut policy, 5_010), RetryStep::Reserve);
    let again = policy.reserve(&[], 0, [1; 16]).length;
    assert_eq!(again, 1_000_000, "it is no shorter than the last one that was in vain");
}
