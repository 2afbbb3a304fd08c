//! What goes wrong with a call.

use std::time::Duration;

use nix::sys::signal::Signal;
use tenure_testkit::Random;

/// How long a frozen process is frozen.
pub(crate) const FROZEN: Duration = Duration::from_secs(2);

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Whether calls have faults.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Faults {
    None,
    Some,
}

/// What is drawn for a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lot {
    /// The job exits with 1 before its end.
    pub(crate) fails: bool,
    pub(crate) strike: Option<Strike>,
}

/// A signal to `tenure`, and to nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strike {
    pub(crate) signal: Signal,
    pub(crate) phase: Phase,
    /// How long after the beginning of the phase.
    pub(crate) after: Duration,
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its process was started.
    Started,
    /// Its job wrote its first line.
    Begun,
    /// Its job wrote its last line, but the slot is not marked yet.
    Done,
}

impl Faults {
    /// The time to live of a lease: short enough to end while its holder is frozen, or to outlast that.
    pub(crate) fn ttl(self, random: &mut Random) -> Duration {
        match self {
            Self::None => millis(30_000),
            Self::Some => Duration::from_secs(2 + random.below(2)),
        }
    }

    /// Draws what happens to a call. Of ten calls of a slot one or two run: faults of a run are much more likely.
    pub(crate) fn draw(self, random: &mut Random) -> Lot {
        if matches!(self, Self::None) {
            return Lot::default();
        }
        let fails = random.happens(200);
        let (phase, most) = match random.below(1_000) {
            0..10 => (Phase::Started, millis(500)),
            10..150 => (Phase::Begun, millis(200)),
            150..220 => (Phase::Done, millis(30)),
            _ => return Lot { fails, strike: None },
        };
        let signal = *random.choose(&[Signal::SIGKILL, Signal::SIGSTOP]);
        let after = random.length(Duration::ZERO, most);
        Lot { fails, strike: Some(Strike { signal, phase, after }) }
    }
}
