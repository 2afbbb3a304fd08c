//! What a seed means.

use std::time::Duration;

use tenure_sim::client::{ClientOptions, LONGEST_GRACE, LockKind};
use tenure_testkit::{Random, fault::Faults};

#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) members: usize,
    pub(super) processes: u64,
    pub(super) tasks: u64,
    pub(super) names: usize,
    pub(super) rounds: u64,
    /// Whether the quorum is there before anything goes wrong.
    pub(super) founded: bool,
    /// Whether nothing goes wrong at all.
    pub(super) quiet: bool,
    pub(super) chaos: Duration,
    pub(super) faults: Faults,
    pub(super) calls_outlive_drop: bool,
    /// By how much members' times of day differ at most, in microseconds.
    pub(super) skew: i64,
    /// By how much clocks run fast or slow at most, in millionths.
    pub(super) rate: i32,
    pub(super) wipes: bool,
    /// Whether processes lose members now and then, or all of them lose one.
    pub(super) outages: bool,
    pub(super) pauses: bool,
    pub(super) crashes: bool,
    pub(super) evictions: bool,
    pub(super) wall_steps: bool,
    /// In how many of a thousand awaits a future is dropped.
    pub(super) drops: u32,
    /// Whether most holds are very short, so that they are passed on inside a process.
    pub(super) quick: bool,
    /// Whether leases are so long that nothing is ever free because its lease ended.
    pub(super) long: bool,
    /// In how many of a thousand ends a hold is detached.
    pub(super) detaches: u32,
    pub(super) locks: LockKind,
}

impl Plan {
    pub(super) fn of(seed: u64) -> Self {
        let plan = Self::draw(&mut Random::new(seed ^ 0x0b5e_55ed));
        let plan = if plan.quiet { plan.without_trouble() } else { plan };
        if plan.long { plan.with_long_leases() } else { plan }
    }

    /// Calls of which none goes wrong.
    pub(super) fn calm(&self) -> Faults {
        Faults { patience: self.faults.patience, ..Faults::default() }
    }

    /// What the clients are told.
    pub(super) fn habits(&self) -> ClientOptions {
        ClientOptions {
            locks: self.locks,
            quiet: self.quiet,
            quick: self.quick,
            drops: self.drops,
            ends: if self.crashes { 30 } else { 0 },
            acquire_polls: 16,
            release_polls: 6,
            runs: 0,
            detaches: self.detaches,
            longest_detached: Duration::from_millis(800),
            longest_stay: Duration::from_millis(1_500),
            halvings: 7,
            stalls: None,
            alone: false,
            // A hold that only a majority has is lost with the memory of one of them.
            unseen_losses: self.wipes,
        }
    }

    fn without_trouble(self) -> Self {
        Self {
            faults: self.calm(),
            wipes: false,
            outages: false,
            pauses: false,
            crashes: false,
            evictions: false,
            wall_steps: false,
            drops: 0,
            ..self
        }
    }

    /// Without what leaves a lease of which nobody knows: it lasts for as long as it can.
    fn with_long_leases(self) -> Self {
        Self {
            faults: Faults { repeated: 0, ..self.faults },
            founded: true,
            wipes: false,
            crashes: false,
            evictions: false,
            ..self
        }
    }

    fn draw(random: &mut Random) -> Self {
        let often = |random: &mut Random| *random.choose(&[0, 0, 20, 80, 250]);
        let faults = Faults {
            refused: often(random),
            request_lost: often(random),
            reply_lost: often(random),
            repeated: often(random),
            request_late: often(random),
            reply_late: often(random),
            hints_lost: 0,
            delay: Duration::from_millis(*random.choose(&[5, 40, 200])),
            patience: Duration::from_secs(5),
        };
        // A late copy of an ask could bring back what an operator took away.
        let evictions = random.happens(100);
        let locks = *random.choose(&[LockKind::Mutex, LockKind::ReadWrite]);
        Self {
            members: *random.choose(&[3, 3, 5]),
            processes: 2 + random.below(3),
            tasks: 1 + random.below(3),
            names: *random.choose(&[1, 1, 2]),
            rounds: 3 + random.below(6),
            founded: random.happens(700),
            quiet: random.happens(150),
            chaos: random.length(Duration::from_millis(500), Duration::from_secs(5)),
            faults: if evictions { Faults { reply_late: 0, ..faults } } else { faults },
            calls_outlive_drop: !evictions && random.happens(500),
            skew: *random.choose(&[0, 20_000, 300_000]),
            rate: *random.choose(&[0, 0, 5_000]),
            wipes: !evictions && random.happens(400),
            outages: random.happens(400),
            pauses: random.happens(300),
            crashes: random.happens(250),
            evictions,
            wall_steps: random.happens(200),
            drops: *random.choose(&[0, 100, 300]),
            quick: random.happens(200),
            long: random.happens(150),
            detaches: *random.choose(&[0, 0, 100, 400]),
            // A writer that lets readers in asks anew, so it may bring back what was taken away.
            locks: if evictions { LockKind::Mutex } else { locks },
        }
    }

    /// The longest lease that all agree on.
    pub(super) const fn longest(&self) -> Duration {
        Duration::from_secs(if self.long { 25 } else { 1 })
    }

    /// The leases to choose from, in milliseconds.
    pub(super) const fn leases(&self) -> &'static [u64] {
        if self.long { &[20_000] } else { &[80, 250, 800] }
    }

    /// How long after its end a process may still hold something: what it sent may arrive late, and
    /// be carried out again even later.
    pub(super) fn end_of_the_dead(&self) -> Duration {
        let late = if self.calls_outlive_drop { self.faults.delay * 3 } else { Duration::ZERO };
        // A lease is somewhat longer than what its holder counts on, and clocks differ.
        (self.longest() + LONGEST_GRACE) * 103 / 100 + late + Duration::from_millis(20)
    }

    /// How long after the last fault all waiters have their lock, and nothing is left behind: those
    /// that lost their memory are counted again, and what was left ends. What was abandoned is taken
    /// back within half a lease.
    pub(super) fn bound(&self) -> Duration {
        let ended = if self.long { self.longest() / 2 } else { self.longest() * 4 };
        ended + self.faults.delay * 2 + Duration::from_secs(5)
    }
}
