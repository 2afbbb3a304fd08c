//! What a seed means.

use std::time::Duration;

use tenure_testkit::{Random, fault::Faults};

/// The longest lease that all agree on.
pub(super) const LONGEST: Duration = Duration::from_millis(1_000);

#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) members: usize,
    pub(super) processes: u64,
    pub(super) tasks: u64,
    pub(super) rounds: u64,
    pub(super) chaos: Duration,
    pub(super) faults: Faults,
    pub(super) late_calls: bool,
    /// By how much members' times of day differ at most, in microseconds.
    pub(super) skew: i64,
    /// By how much clocks run fast or slow at most, in millionths.
    pub(super) rate: i32,
    pub(super) wipes: bool,
    pub(super) outages: bool,
    /// In how many of a thousand rounds an acquire is dropped midway.
    pub(super) drops: u32,
}

impl Plan {
    pub(super) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x0b5e_55ed);
        let quiet = random.happens(250);
        let often =
            |random: &mut Random| if quiet { 0 } else { *random.choose(&[0, 20, 100, 300]) };
        let faults = Faults {
            refused: often(&mut random),
            request_lost: often(&mut random),
            reply_lost: often(&mut random),
            repeated: often(&mut random),
            request_late: often(&mut random),
            reply_late: often(&mut random),
            hints_lost: 0,
            delay: Duration::from_millis(*random.choose(&[5, 40, 200])),
            patience: Duration::from_secs(5),
        };
        Self {
            members: *random.choose(&[3, 3, 5]),
            processes: 2 + random.below(3),
            tasks: 1 + random.below(2),
            rounds: 3 + random.below(6),
            chaos: random.length(Duration::from_millis(500), Duration::from_secs(5)),
            faults,
            late_calls: !quiet && random.happens(500),
            skew: *random.choose(&[0, 20_000, 300_000]),
            rate: *random.choose(&[0, 0, 8_000]),
            wipes: random.happens(500),
            outages: !quiet && random.happens(400),
            drops: if quiet { 0 } else { *random.choose(&[0, 100, 300]) },
        }
    }

    /// Whether no call goes wrong.
    pub(super) fn quiet(&self) -> bool {
        let calm = Faults {
            delay: self.faults.delay,
            patience: self.faults.patience,
            ..Faults::default()
        };
        self.faults == calm && !self.outages && !self.wipes && self.drops == 0
    }
}
