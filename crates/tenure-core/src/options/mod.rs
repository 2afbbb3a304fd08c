//! What is asked for one acquisition, checked once into something that cannot be wrong.

mod defaults;

use std::{sync::Arc, time::Duration};

pub use self::defaults::Defaults;
pub(crate) use self::defaults::DefaultsResolver;
use crate::{Fault, LockName, names::NameUse};
use tenure_proto::{
    Grace, OutOfRange, Terms, Ttl,
    queue::{Contender, Kind, Label, Mode},
    time::in_range,
};

/// What a waiting caller is told: once if it waits behind tasks of its own process, and each time the
/// store says that the lock is busy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Busy {
    /// Which lock: of a multi-lock, the one that is waited for.
    pub name: LockName,
    /// One of those who hold it, if that is known.
    pub holder: Option<Contender>,
    /// How many contenders are ahead; of those in other processes, only those that the store told.
    pub ahead: u32,
    /// Whether the holder is a task of this process, and those ahead are, too.
    pub here: bool,
}

/// A callback for [`Busy`] answers.
pub(crate) type OnBusy = Arc<dyn Fn(&Busy) + Send + Sync>;

/// A callback for a store that fails while it is waited for.
pub(crate) type OnUnreachable = Arc<dyn Fn(&Fault) + Send + Sync>;

/// Settings as the caller gave them.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(crate) ttl: Option<Duration>,
    pub(crate) wait: Option<Duration>,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) hold_at_least: Option<Duration>,
    pub(crate) grace: Option<Duration>,
    pub(crate) label: Option<String>,
    pub(crate) fair: bool,
    /// Whether it never takes a lock over from another task of this process: each hold of it is
    /// one of the store's.
    pub(crate) apart: bool,
    pub(crate) on_busy: Option<OnBusy>,
    pub(crate) on_unreachable: Option<OnUnreachable>,
}

/// Settings that hold together.
#[derive(Clone)]
pub(crate) struct ValidatedSettings {
    pub(crate) terms: Terms,
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) wait: Option<Duration>,
    pub(crate) hold_at_least: Duration,
    pub(crate) label: Label,
    pub(crate) fair: bool,
    /// Whether the tasks of this process pass it on among themselves.
    pub(crate) hand_over: bool,
    pub(crate) on_busy: Option<OnBusy>,
    pub(crate) on_unreachable: Option<OnUnreachable>,
}

/// What a task of this process asks for that is passed a lease.
#[derive(Clone, Debug)]
pub(crate) struct HoldRequest {
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) terms: Terms,
    pub(crate) hold_at_least: Duration,
    pub(crate) label: Label,
}

impl Options {
    /// What is asked for the hold, and how long the name stays taken at least.
    pub(crate) fn lengths(&self) -> Result<(Terms, Duration), OutOfRange> {
        let length = |what, given| in_range(what, given, Ttl::MIN, Ttl::MAX);
        let ttl = self.ttl.map_or(Ok(Ttl::DEFAULT), Ttl::new)?;
        let grace = self.grace.map_or(Ok(Grace::NONE), Grace::new)?;
        let max_hold = self.max_hold.map(|given| length("max_hold", given)).transpose()?;
        let hold_at_least =
            self.hold_at_least.map(|given| length("hold_at_least", given)).transpose()?;
        Ok((Terms { ttl, grace, max_hold }, hold_at_least.unwrap_or_default()))
    }

    /// These with what `over` says where it says something, and with its wait and its callback.
    pub(crate) fn under(self, over: &Self) -> Self {
        let over = over.clone();
        Self {
            ttl: over.ttl.or(self.ttl),
            wait: over.wait,
            max_hold: over.max_hold.or(self.max_hold),
            hold_at_least: over.hold_at_least.or(self.hold_at_least),
            grace: over.grace.or(self.grace),
            label: over.label.or(self.label),
            fair: over.fair || self.fair,
            on_busy: over.on_busy,
            on_unreachable: over.on_unreachable,
            ..self
        }
    }

    pub(crate) fn check(
        self,
        kind: Kind,
        mode: Mode,
        default_label: &Label,
    ) -> Result<ValidatedSettings, OutOfRange> {
        let (terms, hold_at_least) = self.lengths()?;
        let label = self.label.map_or_else(|| default_label.clone(), Label::from);
        Ok(ValidatedSettings {
            terms,
            kind,
            mode,
            wait: self.wait,
            hold_at_least,
            label,
            fair: self.fair,
            hand_over: !self.fair && !self.apart && mode == Mode::Exclusive,
            on_busy: self.on_busy,
            on_unreachable: self.on_unreachable,
        })
    }
}

impl ValidatedSettings {
    /// `name` as this kind of lock uses it.
    pub(crate) fn uses(&self, name: &LockName) -> NameUse {
        NameUse { name: name.clone(), kind: self.kind }
    }

    /// What a task of this process needs to know to pass the lock on to the one with these settings.
    pub(crate) fn request(&self) -> HoldRequest {
        let Self { kind, mode, terms, hold_at_least, .. } = *self;
        HoldRequest { kind, mode, terms, hold_at_least, label: self.label.clone() }
    }
}

/// The setters that every kind of lock and every acquisition share.
macro_rules! setters {
    () => {
        $crate::options::setters!(options);
    };
    ($($options:tt)+) => {
        /// The length of the lease, 10 ms to 24 h; 30 s if nothing is said. While the guard lives
        /// it is renewed every third of it.
        ///
        /// Longer: a dead holder keeps others out for longer. Shorter: more renewals, and a
        /// shorter pause or outage loses the lock: below 100 ms a busy machine alone does, which is
        /// warned of on the log. [docs/ttl.md](https://github.com/tenure-rs/tenure/blob/main/docs/ttl.md) says which ttl is for what.
        pub fn ttl(mut self, ttl: std::time::Duration) -> Self {
            self.$($options)+.ttl = Some(ttl);
            self
        }

        /// How long to wait for the lock at most; for ever if nothing is said.
        pub fn wait(mut self, wait: std::time::Duration) -> Self {
            self.$($options)+.wait = Some(wait);
            self
        }

        /// After how long a hold is lost although it could be renewed, 10 ms to 24 h; never if
        /// nothing is said. The lock is let go then, also while its guard is still there: a hung
        /// holder blocks nobody for longer.
        pub fn max_hold(mut self, max_hold: std::time::Duration) -> Self {
            self.$($options)+.max_hold = Some(max_hold);
            self
        }

        /// For how long since its grant the lock stays taken even if it is released earlier,
        /// 10 ms to 24 h. It keeps a short job from running twice on machines whose clocks
        /// differ.
        pub fn hold_at_least(mut self, hold_at_least: std::time::Duration) -> Self {
            self.$($options)+.hold_at_least = Some(hold_at_least);
            self
        }

        /// How much longer than the holder believes the store keeps the lease, 0 to 60 s; none if
        /// nothing is said. A holder that was frozen for less than this hurts nobody. A release
        /// ends it at once.
        pub fn grace(mut self, grace: std::time::Duration) -> Self {
            self.$($options)+.grace = Some(grace);
            self
        }

        /// Who holds the lock, for people to see: `host/pid` if nothing is said. It proves
        /// nothing. At most 256 bytes are kept.
        pub fn label(mut self, label: impl Into<String>) -> Self {
            self.$($options)+.label = Some(label.into());
            self
        }

        /// First come, first served among all contenders of all processes (promise [S8](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s8-order)).
        ///
        /// Without it the tasks of one process pass the lock on among themselves for a bounded
        /// turn, which is many times faster.
        pub fn fair(mut self) -> Self {
            self.$($options)+.fair = true;
            self
        }
    };
}

pub(crate) use setters;
