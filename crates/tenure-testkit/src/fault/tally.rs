//! How often each fault really happened.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A kind of fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind { $($(#[doc = $doc])+ $name,)+ }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];
        }

        const KINDS: usize = [$(Kind::$name,)+].len();
    };
}

kinds! {
    /// A call was refused before it was sent.
    Refused,
    /// A request never arrived.
    RequestLost,
    /// An answer never arrived.
    ReplyLost,
    /// A call was carried out twice.
    Repeated,
    /// A request arrived late.
    RequestLate,
    /// An answer arrived late.
    ReplyLate,
    /// A call's caller was told that it is in doubt.
    InDoubt,
    /// A waiter heard no wake-up.
    HintsLost,
    /// A process was cut off from the store for a while.
    Outage,
    /// A process stood still for a while.
    Paused,
    /// A process ended without a word.
    Crashed,
    /// A process has a clock of another rate than the store's.
    ClockRate,
    /// The store lost its data.
    DataLost,
    /// An operator took a name from its holder.
    Evicted,
    /// The store's time of day was set back.
    WallSetBack,
    /// An acquire was dropped midway.
    AcquireDropped,
    /// An acquisition of what its scope holds was dropped midway.
    EntryDropped,
    /// An acquire was left alone midway.
    AcquireStalled,
    /// An arrival at a latch was dropped midway.
    ArrivalDropped,
    /// A wait at a latch was dropped midway.
    WaitDropped,
    /// A look at who leads was dropped midway.
    LookDropped,
    /// A release was dropped midway.
    ReleaseDropped,
    /// A downgrade was dropped midway.
    DowngradeDropped,
    /// A guard was dropped amid being detached.
    DetachDropped,
    /// An attachment was dropped midway.
    AttachDropped,
    /// Work under a guard was dropped midway.
    RunDropped,
}

/// Counts of faults that happened.
#[derive(Default)]
pub struct Tally([AtomicU64; KINDS]);

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(Kind::ALL.iter().map(|kind| (kind, self.of(*kind)))).finish()
    }
}

impl Tally {
    /// Counts one more.
    pub fn count(&self, kind: Kind) {
        if let Some(counter) = self.0.get(kind as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many there were.
    #[must_use]
    pub fn of(&self, kind: Kind) -> u64 {
        self.0.get(kind as usize).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }
}
