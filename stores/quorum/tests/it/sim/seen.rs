//! What only quorums see, counted over many runs.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

macro_rules! sights {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Sight { $($(#[doc = $doc])+ $name,)+ }

        impl Sight {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)+];
        }

        const SIGHTS: usize = [$(Sight::$name,)+].len();
    };
}

sights! {
    /// A member lost its memory.
    Wiped,
    /// A member restarted with a part of its memory.
    Restarted,
    /// All lost the way to a member.
    MemberGone,
    /// A member had a hold again that it had lost.
    Rejoined,
    /// A process ended when a minority had granted it a name.
    EndedWithMinority,
    /// A process ended when a majority had granted it a name, which had no token yet.
    EndedBetweenRounds,
    /// A process ended in the middle of an acquire.
    EndedAcquiring,
    /// A process ended in the middle of a release.
    EndedReleasing,
    /// A process ended while it held something.
    EndedHolding,
}

#[derive(Default)]
pub(crate) struct Seen([AtomicU64; SIGHTS]);

impl Seen {
    pub(super) fn count(&self, sight: Sight) {
        self.add(sight, 1);
    }

    pub(super) fn add(&self, sight: Sight, more: u64) {
        self.0[sight as usize].fetch_add(more, Ordering::Relaxed);
    }

    fn of(&self, sight: Sight) -> u64 {
        self.0[sight as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn missing(&self) -> Vec<Sight> {
        Sight::ALL.iter().copied().filter(|sight| self.of(*sight) == 0).collect()
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(Sight::ALL.iter().map(|sight| (sight, self.of(*sight)))).finish()
    }
}
