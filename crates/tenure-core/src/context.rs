//! The context that all locks of one [`Tenure`](crate::Tenure) share.

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tenure_proto::{
    LostReason, OutOfRange, Owner, Timestamp, Token,
    queue::{Identity, Kind, Mode},
    rule::{Rule, kept},
};

use crate::{
    AcquireError, Clock, Entropy, Fault, FaultKind, LockName, Store,
    engine::{Agenda, EngineStarter, Journal, ReserveError, Slot, Slots},
    error::{LockAddress, Lost},
    observe::StoreTelemetry,
    options::{Defaults, DefaultsResolver, Options, OwnIdentity, ValidatedSettings},
    pace::SHORT,
};

/// The claim window inside the process if the store has none.
const CLAIM_WINDOW: Duration = Duration::from_millis(500);

/// One opened store with everything that its locks need.
#[derive(Debug)]
pub(crate) struct StoreContext {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) agenda: Arc<Agenda>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) observer: StoreTelemetry,
    pub(crate) journal: Arc<Journal>,
    me: OwnIdentity,
    defaults: DefaultsResolver,
    process: u32,
    first_owner: OnceLock<Owner>,
    /// Starts the engine, if that runs on tenure's own thread.
    pub(crate) starter: OnceLock<EngineStarter>,
    /// Whether no further acquisition is possible, and only existing holds are left.
    is_deserted: AtomicBool,
    /// Whether the warning about a short ttl was logged.
    told_short: AtomicBool,
}

impl StoreContext {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        (agenda, slots): (Arc<Agenda>, Arc<Slots>),
        (observer, journal): (StoreTelemetry, Arc<Journal>),
        (defaults, me): (DefaultsResolver, OwnIdentity),
    ) -> Self {
        let process = std::process::id();
        Self {
            observer,
            journal,
            me,
            store,
            clock,
            entropy,
            agenda,
            slots,
            defaults,
            process,
            first_owner: OnceLock::new(),
            starter: OnceLock::new(),
            is_deserted: AtomicBool::new(false),
            told_short: AtomicBool::new(false),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The defaults of an acquisition of `name`.
    pub(crate) fn defaults_of(&self, name: &LockName) -> Defaults {
        self.defaults.resolve_defaults(name).unwrap_or_default()
    }

    /// The settings of an acquisition of `name`: `options`, completed with the defaults.
    pub(crate) fn settings(
        &self,
        name: &LockName,
        kind: Kind,
        mode: Mode,
        options: Options,
    ) -> Result<ValidatedSettings, OutOfRange> {
        let series = self.observer.series(name, kind);
        let options = self.defaults.complete(name, options);
        let settings = options.check(kind, mode, &self.me, series)?;
        let ttl = settings.terms.ttl.get();
        if ttl < SHORT && !self.told_short.swap(true, Ordering::Relaxed) {
            self.observer.warn_short_ttl(name, ttl);
        }
        Ok(settings)
    }

    /// This process, as one that does something to the holders of a lock.
    pub(crate) fn identity(&self, reason: Option<String>) -> Identity {
        self.me.because(reason)
    }

    /// The lock and its store, for an error.
    pub(crate) fn address(&self, name: &LockName) -> LockAddress {
        LockAddress { name: name.clone(), store: self.store.location() }
    }

    /// Room for one more hold or waiter, reserved before the first call to the store.
    pub(crate) fn reserve(&self, name: &LockName) -> Result<Slot, AcquireError> {
        if self.is_forked() {
            return Err(AcquireError::ShutDown { lock: self.address(name) });
        }
        self.start_engine().map_err(|fault| AcquireError::store(self.address(name), fault))?;
        self.slots.reserve().map_err(|refusal| match refusal {
            ReserveError::Full { limit } => {
                AcquireError::TooManyHolds { lock: self.address(name), limit }
            }
            ReserveError::Closed => AcquireError::ShutDown { lock: self.address(name) },
        })
    }

    /// Ensures that the engine runs, if it runs on tenure's own thread.
    pub(crate) fn start_engine(&self) -> Result<(), Fault> {
        let Some(starter) = self.starter.get() else { return Ok(()) };
        starter.start().map_err(no_thread)
    }

    /// Ends all further acquisitions, and waits for the releases that have begun.
    pub(crate) fn stop_acquisitions(self: &Arc<Self>, own: usize) {
        self.is_deserted.store(true, Ordering::Release);
        self.drain_releases(own);
    }

    /// Whether only existing holds are left.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_deserted.load(Ordering::Acquire)
    }

    /// Blocks this thread until the store has answered the releases that have begun, for a second at most. If the
    /// caller has all `own` references to this, nothing else is left, and the store is closed by then too: the program
    /// may end right after.
    pub(crate) fn drain_releases(self: &Arc<Self>, own: usize) {
        if self.is_forked() {
            return;
        }
        self.slots.wait_for_releases();
        if Arc::strong_count(self) <= own {
            self.slots.close();
            self.slots.wait_for_engine();
        }
    }

    /// How long a task has to take what another task of this process hands over to it: as long as a waiter of the
    /// store.
    pub(crate) fn claim_window(&self) -> Duration {
        let window = self.store.capabilities().claim_window;
        if window.is_zero() { CLAIM_WINDOW } else { window }
    }

    /// Whether this is a forked child of the process that opened the store. A child has no engine, and its guards
    /// belong to its parent.
    pub(crate) fn is_forked(&self) -> bool {
        std::process::id() != self.process
    }

    pub(crate) fn fresh_owner(&self) -> Result<Owner, Fault> {
        if kept(Rule::FreshOwnerEachTime) {
            return self.entropy.owner();
        }
        let owner = self.entropy.owner()?;
        Ok(*self.first_owner.get_or_init(|| owner))
    }

    pub(crate) fn lost(&self, name: &LockName, token: Token, reason: LostReason) -> Lost {
        Lost::new(self.address(name), token, reason)
    }
}

impl Drop for StoreContext {
    fn drop(&mut self) {
        self.slots.close();
    }
}

fn no_thread(error: io::Error) -> Fault {
    let what = "tenure's own thread, which renews what is held, cannot be started";
    let help = "see how many threads and open files the system allows this user and this container";
    Fault::new(FaultKind::Unreachable, what, help).because(error)
}
