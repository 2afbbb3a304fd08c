//! The settings of one acquisition, checked once and then known to be valid.

mod defaults;
mod own_identity;

use std::{sync::Arc, time::Duration};

pub use self::defaults::Defaults;
pub(crate) use self::{defaults::DefaultsResolver, own_identity::OwnIdentity};
use crate::{Fault, LockName, name_use::NameUse, observe::SeriesId};
use tenure_proto::{
    Grace, OutOfRange, Terms, Ttl,
    queue::{Contender, Kind, Label, Mode},
    time::in_range,
};
use tracing::Span;

/// The news for a waiting caller. It receives this once if it waits behind tasks of its own process, and each time the
/// store answers that the lock is busy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Busy {
    /// The lock's name. For a multi-lock, the lock that is waited for.
    pub name: LockName,
    /// One of the holders, if known.
    pub holder: Option<Contender>,
    /// The number of contenders ahead. Of those in other processes, it counts only those that the store reported.
    pub ahead: u32,
    /// Whether the holder and the contenders ahead are tasks of this process.
    pub here: bool,
}

/// A callback for [`Busy`] answers.
pub(crate) type OnBusy = Arc<dyn Fn(&Busy) + Send + Sync>;

/// A callback for a store that fails during a wait.
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
    pub(crate) operation: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) fair: bool,
    /// Whether the defaults of the name do not apply.
    pub(crate) without_defaults: bool,
    /// Whether it never takes a lock over from another task of this process, so that the store grants each of its
    /// holds.
    pub(crate) apart: bool,
    /// Whether the history learns of it when it is known which run of a slot it is for, and not before.
    pub(crate) tells_slot: bool,
    pub(crate) on_busy: Option<OnBusy>,
    pub(crate) on_unreachable: Option<OnUnreachable>,
}

/// Settings that are valid together.
#[derive(Clone)]
pub(crate) struct ValidatedSettings {
    pub(crate) terms: Terms,
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) wait: Option<Duration>,
    pub(crate) hold_at_least: Duration,
    pub(crate) label: Label,
    pub(crate) series: SeriesId,
    /// The span of the caller, if it is in one. Cloning this calls no subscriber.
    pub(crate) caller: Option<Arc<Span>>,
    pub(crate) fair: bool,
    /// Whether the tasks of this process hand it over among themselves.
    pub(crate) hand_over: bool,
    /// Whether the history learns of it when it is known which run of a slot it is for, and not before.
    pub(crate) tells_slot: bool,
    pub(crate) on_busy: Option<OnBusy>,
    pub(crate) on_unreachable: Option<OnUnreachable>,
}

/// The request of a task of this process to which a lease is handed over.
#[derive(Clone, Debug)]
pub(crate) struct HoldRequest {
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) terms: Terms,
    pub(crate) hold_at_least: Duration,
    pub(crate) label: Label,
    pub(crate) series: SeriesId,
    pub(crate) caller: Option<Arc<Span>>,
    pub(crate) tells_slot: bool,
}

impl Options {
    /// The terms of the hold, and how long the name stays taken at least.
    pub(crate) fn validated_terms(&self) -> Result<(Terms, Duration), OutOfRange> {
        let length = |what, given| in_range(what, given, Ttl::MIN, Ttl::MAX);
        let ttl = self.ttl.map_or(Ok(Ttl::DEFAULT), Ttl::new)?;
        let grace = self.grace.map_or(Ok(Grace::NONE), Grace::new)?;
        let max_hold = self.max_hold.map(|given| length("max_hold", given)).transpose()?;
        let hold_at_least =
            self.hold_at_least.map(|given| length("hold_at_least", given)).transpose()?;
        Ok((Terms { ttl, grace, max_hold }, hold_at_least.unwrap_or_default()))
    }

    /// These settings, overridden by those that `over` has, and with the wait and the callback of `over`.
    pub(crate) fn overridden_by(self, over: &Self) -> Self {
        let over = over.clone();
        Self {
            ttl: over.ttl.or(self.ttl),
            wait: over.wait,
            max_hold: over.max_hold.or(self.max_hold),
            hold_at_least: over.hold_at_least.or(self.hold_at_least),
            grace: over.grace.or(self.grace),
            label: over.label.or(self.label),
            operation: over.operation.or(self.operation),
            reason: over.reason.or(self.reason),
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
        me: &OwnIdentity,
        series: SeriesId,
    ) -> Result<ValidatedSettings, OutOfRange> {
        let (terms, hold_at_least) = self.validated_terms()?;
        let label = match self.label {
            // Its observers read an address there, also those of other libraries.
            Some(label) if kind == Kind::Election => label.into(),
            label => me.label(label.as_deref(), self.operation, self.reason),
        };
        Ok(ValidatedSettings {
            terms,
            kind,
            mode,
            wait: self.wait,
            hold_at_least,
            label,
            series,
            caller: Some(Span::current()).filter(|span| !span.is_none()).map(Arc::new),
            fair: self.fair,
            hand_over: !self.fair && !self.apart && mode == Mode::Exclusive,
            tells_slot: self.tells_slot,
            on_busy: self.on_busy,
            on_unreachable: self.on_unreachable,
        })
    }
}

impl ValidatedSettings {
    /// `name` as this kind of lock uses it.
    pub(crate) fn name_use(&self, name: &LockName) -> NameUse {
        NameUse { name: name.clone(), kind: self.kind, series: self.series }
    }

    /// What a task of this process needs to know to hand the lock over to the one with these settings.
    pub(crate) fn request(&self) -> HoldRequest {
        let Self { kind, mode, terms, hold_at_least, series, tells_slot, .. } = *self;
        let (label, caller) = (self.label.clone(), self.caller.clone());
        HoldRequest { kind, mode, terms, hold_at_least, label, series, caller, tells_slot }
    }
}

/// The setters that every kind of lock and every acquisition share.
macro_rules! setters {
    () => {
        $crate::options::setters!(options);
    };
    ($($options:tt)+) => {
        /// Sets the length of the lease: 10 ms to 24 h. Default: 30 s. While the guard lives, tenure renews the lease
        /// every third of this time.
        ///
        /// With a longer ttl, a dead holder keeps others out longer. With a shorter one, there are more renewals, and a
        /// shorter pause or outage loses the lock. Below 100 ms, a busy machine alone can lose it, and tenure logs a
        /// warning. [docs/ttl.md](https://github.com/tenure-rs/tenure/blob/main/docs/ttl.md) helps you choose.
        pub fn ttl(mut self, ttl: std::time::Duration) -> Self {
            self.$($options)+.ttl = Some(ttl);
            self
        }

        /// Sets the longest wait for the lock. Default: no limit.
        pub fn wait(mut self, wait: std::time::Duration) -> Self {
            self.$($options)+.wait = Some(wait);
            self
        }

        /// Sets the time after which a hold is lost even if it could be renewed: 10 ms to 24 h. At that time, tenure
        /// releases the lock even if its guard still exists, so a hung holder blocks others no longer than this.
        /// Default: never.
        pub fn max_hold(mut self, max_hold: std::time::Duration) -> Self {
            self.$($options)+.max_hold = Some(max_hold);
            self
        }

        /// Sets the shortest time from its grant for which the lock stays taken, even if it is released earlier: 10 ms
        /// to 24 h. This keeps a short job from running twice on machines whose clocks differ.
        pub fn hold_at_least(mut self, hold_at_least: std::time::Duration) -> Self {
            self.$($options)+.hold_at_least = Some(hold_at_least);
            self
        }

        /// Sets the additional time for which the store keeps the lease after the holder no longer counts on it: 0 to
        /// 60 s. Default: none. If a holder is frozen for less than this, its late work conflicts with no other holder.
        /// A release ends the lease at once, grace included.
        pub fn grace(mut self, grace: std::time::Duration) -> Self {
            self.$($options)+.grace = Some(grace);
            self
        }

        /// Sets the text that tells people which program holds the lock. Default: `host/pid`. It proves nothing. At
        /// most 256 bytes are kept, together with what it does not tell of host, user, process,
        /// service, operation and reason, which stay readable as fields.
        pub fn label(mut self, label: impl Into<String>) -> Self {
            self.$($options)+.label = Some(label.into());
            self
        }

        /// Sets what the holder does, for people: a short word such as `invoices`. Everybody who can read the store
        /// can read it.
        pub fn operation(mut self, operation: impl Into<String>) -> Self {
            self.$($options)+.operation = Some(operation.into());
            self
        }

        /// Sets why the lock is held, for people: `rerun of 2026-11, ticket OPS-7`. It is cut if the
        /// [label](Self::label) and the other fields leave too little room. Everybody who can read the store can read
        /// it.
        pub fn reason(mut self, reason: impl Into<String>) -> Self {
            self.$($options)+.reason = Some(reason.into());
            self
        }

        /// Serves all contenders of all processes first come, first served (promise
        /// [S8](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s8-order)).
        ///
        /// Without it, the tasks of one process hand the lock over among themselves for a limited time, which is many
        /// times faster.
        pub fn fair(mut self) -> Self {
            self.$($options)+.fair = true;
            self
        }
    };
}

pub(crate) use setters;
