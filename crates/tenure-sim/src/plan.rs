//! What a seed means: how many processes and tasks, and which faults.

use std::time::Duration;

use tenure_core::schedule::{Mark, SlotRules};

use super::client::{ClientOptions, LONGEST_GRACE, LockKind, SlotHabits};
use tenure_testkit::{Random, fault::Faults};

/// Everything that is decided before a run begins. Each seed leaves out some of the faults, so that
/// none is hidden behind another.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How many processes there are.
    pub processes: u64,
    /// How many tasks each has.
    pub tasks: u64,
    /// How many names they contend for.
    pub names: u64,
    /// How often each task acquires, at most.
    pub rounds: u64,
    /// Whether nothing goes wrong at all.
    pub quiet: bool,
    /// For how long things go wrong.
    pub chaos: Duration,
    /// What goes wrong with calls.
    pub faults: Faults,
    /// Whether calls can take effect when their callers have given them up.
    pub calls_outlive_drop: bool,
    /// In how many of a thousand awaits a future is dropped.
    pub drops: u32,
    /// Whether processes stand still now and then.
    pub pauses: bool,
    /// Whether processes end without a word.
    pub crashes: bool,
    /// Whether processes lose the store now and then.
    pub outages: bool,
    /// By how much a process's clock may run fast or slow, in millionths.
    pub clock_rate: i32,
    /// Whether the store loses its data now and then.
    pub data_loss: bool,
    /// Whether the store's time of day is set back now and then.
    pub wall_steps: bool,
    /// Whether most holds are very short, so that they are passed on inside a process.
    pub quick: bool,
    /// Whether an operator takes names away now and then.
    pub evictions: bool,
    /// How long leases are.
    pub leases: LeaseLengths,
    /// In how many of a thousand ends a hold is detached.
    pub detaches: u32,
    /// What the names are used as.
    pub locks: LockKind,
}

/// How long the leases of a run are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseLengths {
    /// Short beside the delays of calls.
    Short,
    /// From short to long.
    Mixed,
    /// So long that nothing is ever free because its lease ended.
    Long,
}

impl LeaseLengths {
    /// The lengths to choose from, in milliseconds.
    pub(super) const fn lengths(self) -> &'static [u64] {
        match self {
            Self::Short => &[60, 120, 250],
            Self::Mixed => &[60, 200, 500, 1_000, 2_000],
            Self::Long => &[60_000],
        }
    }
}

impl Plan {
    /// What `seed` means.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let plan = Self::draw(seed);
        if plan.quiet { plan.without_trouble() } else { plan }
    }

    fn without_trouble(self) -> Self {
        Self {
            faults: self.calm(),
            drops: 0,
            pauses: false,
            crashes: false,
            outages: false,
            data_loss: false,
            wall_steps: false,
            evictions: false,
            ..self
        }
    }

    fn draw(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x7e57_5eed);
        let often = |random: &mut Random| *random.choose(&[0, 0, 20, 80, 250]);
        let leases = *random.choose(&[
            LeaseLengths::Short,
            LeaseLengths::Mixed,
            LeaseLengths::Mixed,
            LeaseLengths::Long,
        ]);
        let long_leases = leases == LeaseLengths::Long;
        // A call that is carried out twice may leave a lease that nobody knows of, and so may a
        // process that ended: both last for one ttl.
        let faults = Faults {
            refused: often(&mut random),
            request_lost: often(&mut random),
            reply_lost: often(&mut random),
            repeated: if long_leases { 0 } else { often(&mut random) },
            request_late: often(&mut random),
            reply_late: often(&mut random),
            hints_lost: *random.choose(&[0, 0, 300, 1_000]),
            delay: Duration::from_millis(*random.choose(&[10, 100, 600, 1_500])),
            patience: Duration::from_millis(*random.choose(&[60, 300, 1_000, 1_000_000])),
        };
        let quick = random.happens(400);
        let plan = Self {
            processes: 1 + random.below(4),
            tasks: 1 + random.below(if quick { 4 } else { 2 }),
            names: 1 + random.below(2),
            rounds: if quick { 4 + random.below(8) } else { 2 + random.below(5) },
            quiet: random.happens(60),
            chaos: random.length(Duration::from_millis(500), Duration::from_secs(5)),
            faults,
            calls_outlive_drop: random.happens(600),
            drops: *random.choose(&[0, 0, 100, 300]),
            pauses: random.happens(400),
            crashes: !long_leases && random.happens(250),
            outages: random.happens(300),
            clock_rate: *random.choose(&[0, 0, 10_000]),
            data_loss: !long_leases && random.happens(150),
            wall_steps: random.happens(300),
            quick,
            evictions: !long_leases && random.happens(100),
            leases,
            locks: LockKind::Mutex,
            detaches: *random.choose(&[0, 0, 100, 400]),
        };
        let locks = match random.below(10) {
            0..=1 => LockKind::Semaphore { permits: *random.choose(&[2, 3, 5]) },
            2..=4 => LockKind::ReadWrite,
            _ => LockKind::Mutex,
        };
        let locks = match random.below(100) {
            0..=5 => LockKind::Election,
            6..=11 => LockKind::Reentrant,
            12..=17 => LockKind::Latch {
                count: 1 + u32::try_from(random.below(4)).unwrap_or(0),
                keep: Duration::from_secs(*random.choose(&[24 * 60 * 60, 24 * 60 * 60, 1, 3])),
            },
            18..=22 => LockKind::Slots(draw_slots(&mut random)),
            _ => locks,
        };
        let plan = Self { locks, ..plan };
        match locks {
            // Observers see terms that nobody received, so promise S2 would ask of a store that
            // loses its data that its time of day was never set back.
            LockKind::Election => Self { wall_steps: plan.wall_steps && !plan.data_loss, ..plan },
            // A latch has no leases that somebody counts on.
            LockKind::Latch { .. } => {
                Self { data_loss: random.happens(300), evictions: random.happens(300), ..plan }
            }
            // Long enough for several slots. A handle knows of no slot.
            LockKind::Slots(_) => Self {
                chaos: random.length(Duration::from_secs(1), Duration::from_secs(6)),
                detaches: 0,
                ..plan
            },
            _ => plan,
        }
    }

    /// What the clients are told.
    pub(super) fn habits(&self) -> ClientOptions {
        // What a long lease keeps taken is free too late.
        let may_stall = matches!(self.locks, LockKind::Mutex | LockKind::ReadWrite);
        let may_stall = may_stall && self.leases != LeaseLengths::Long;
        // Some runs last into the next slot.
        let (longest_stay, halvings) = match self.locks {
            LockKind::Slots(slots) => (slots.period * 3 / 2, 4),
            _ => (Duration::from_secs(2), 8),
        };
        ClientOptions {
            locks: self.locks,
            quiet: self.quiet,
            quick: self.quick,
            drops: self.drops,
            ends: 0,
            acquire_polls: 10,
            release_polls: 4,
            runs: 100,
            detaches: self.detaches,
            longest_detached: self.longest_lease(),
            longest_stay,
            halvings,
            stalls: may_stall.then(|| self.bound()),
            alone: true,
            unseen_losses: false,
        }
    }

    /// Calls of which none goes wrong.
    #[must_use]
    pub fn calm(&self) -> Faults {
        Faults { patience: self.faults.patience, ..Faults::default() }
    }

    /// The longest lease of a run.
    #[must_use]
    pub fn longest_lease(&self) -> Duration {
        let longest = self.leases.lengths().iter().max();
        Duration::from_millis(longest.copied().unwrap_or_default())
    }

    /// Whether everything is taken back at once: no call is lost on its way, nor late.
    #[must_use]
    pub fn is_prompt(&self) -> bool {
        let lost = self.faults.refused + self.faults.request_lost;
        lost == 0 && !self.calls_outlive_drop && !self.crashes && !self.outages
    }

    /// How long after the last fault all waiters have their lock, and nothing is left behind.
    ///
    /// What was abandoned is taken back within half a ttl of the last fault; what a process left
    /// that ended, or a call that was carried out late, ends after one. Waiters that are gone cost a
    /// claim window each, and their places are kept for one place ttl.
    #[must_use]
    pub fn bound(&self) -> Duration {
        let lease = self.longest_lease();
        let ended =
            if self.leases == LeaseLengths::Long { lease / 2 } else { lease + LONGEST_GRACE };
        ended + self.faults.delay * 2 + Duration::from_secs(15)
    }
}

/// What callers that work once per slot agree on.
fn draw_slots(random: &mut Random) -> SlotHabits {
    let period = Duration::from_secs(*random.choose(&[1, 1, 2, 3]));
    let mut rules = SlotRules::default();
    rules.tries = *random.choose(&[None, None, Some(1), Some(2), Some(3)]);
    rules.retry_within = random.happens(250).then(|| period / *random.choose(&[10, 2]));
    if random.happens(250) {
        rules.mark = Mark::AtStart;
    }
    let (replaces, other_schedule) = (random.happens(250), random.happens(200));
    SlotHabits { period, rules, replaces, other_schedule }
}
