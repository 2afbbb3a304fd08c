//! How a store is opened: its parts and settings, and the engine.

use std::{future::Future, sync::Arc};

use super::Tenure;
use crate::{
    Clock, Entropy, LockName, OsEntropy, Store, SystemClock,
    acquire::Acquirer,
    context::StoreContext,
    engine::{Agenda, Engine, EngineStarter, Journal, Slots, Unwritten, at_exit},
    history::HistoryFamilies,
    local::Queues,
    observe::{MetricFamilies, StoreTelemetry},
    options::{Defaults, DefaultsResolver, OwnIdentity},
};

/// Builds a [`Tenure`] from its parts and settings.
#[derive(Debug)]
#[must_use = "nothing is opened until it is built"]
pub struct TenureBuilder {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    max_holds: usize,
    defaults: DefaultsResolver,
    families: MetricFamilies,
    history: HistoryFamilies,
    service: Option<String>,
    user: Option<String>,
}

impl TenureBuilder {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(OsEntropy::default()),
            max_holds: Self::MAX_HOLDS,
            defaults: DefaultsResolver::default(),
            families: MetricFamilies::default(),
            history: HistoryFamilies::default(),
            service: None,
            user: None,
        }
    }

    /// The default for the number of holds and waiters that a process may have.
    pub const MAX_HOLDS: usize = 65_536;

    /// Sets the clock for deadlines and waits. It must run at the rate of the store's clock, to within 1 %.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of owners and jitter.
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// Sets the maximum number of holds, waiters and clean-ups at a time. Beyond it, an acquisition fails with
    /// [`TooManyHolds`](crate::AcquireError::TooManyHolds).
    pub fn max_holds(mut self, max_holds: usize) -> Self {
        self.max_holds = max_holds;
        self
    }

    /// Sets the defaults for what neither a handle nor an acquisition sets. tenure calls `find` at each acquisition, so
    /// it must not block.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::{sync::Arc, time::Duration};
    /// use tenure_core::{Defaults, MemoryStore, Tenure};
    ///
    /// let mut defaults = Defaults::default();
    /// defaults.ttl = Some(Duration::from_secs(5));
    /// let store = Arc::new(MemoryStore::new());
    /// let tenure = Tenure::builder(store).defaults(move |_name| defaults.clone()).build();
    /// let guard = tenure.mutex("job").lock().await?;
    /// assert!(guard.remaining() <= Duration::from_secs(5));
    /// # Ok::<(), tenure_core::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn defaults(
        mut self,
        find: impl Fn(&LockName) -> Defaults + Send + Sync + 'static,
    ) -> Self {
        self.defaults = DefaultsResolver::new(find);
        self
    }

    /// Sets which families of locks have series of their own in the metrics, under the label `family`. Default: none, and
    /// the label is missing.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure_core::{MemoryStore, Tenure, observe::MetricFamilies};
    ///
    /// let families = MetricFamilies::new(["order:*", "nightly"])?;
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).metric_families(families).build();
    /// # Ok::<(), tenure_core::observe::MetricFamiliesError>(())
    /// ```
    pub fn metric_families(mut self, families: MetricFamilies) -> Self {
        self.families = families;
        self
    }

    /// Sets which families of locks have a [history](crate::history). Default: none.
    ///
    /// [`Tenure::history`] reads it. Where the store keeps no history, this does nothing, and reading it is refused.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// use std::sync::Arc;
    /// use tenure_core::{MemoryStore, Tenure, history::{HistoryFamilies, Retention}};
    ///
    /// let families = HistoryFamilies::new([("nightly", Retention::entries(100)?)])?;
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).history_families(families).build();
    /// tenure.mutex("nightly").reason("invoices").lock().await?.release().await?;
    /// // It is written in the background.
    /// tenure.flush_history().await;
    /// let history = tenure.history("nightly").await?;
    /// assert_eq!(history[0].who.reason.as_deref(), Some("invoices"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn history_families(mut self, families: HistoryFamilies) -> Self {
        self.history = families;
        self
    }

    /// Sets which service this process belongs to, for people who see its holds: `shop@1.4.2`. Default: none.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure_core::{MemoryStore, Tenure};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).service("shop@1.4.2").build();
    /// let guard = tenure.mutex("invoices").reason("monthly run").lock().await?;
    /// let holder = tenure.inspect("invoices").await?.holders[0].identity();
    /// assert_eq!(holder.service.as_deref(), Some("shop@1.4.2"));
    /// assert_eq!(holder.reason.as_deref(), Some("monthly run"));
    /// # guard.release().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn service(mut self, service: impl Into<String>) -> Self {
        self.service = Some(service.into());
        self
    }

    /// Sets the user as whom this process acts, for people who see its holds. Default: none.
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Opens the store, with the engine on tenure's own thread.
    ///
    /// While the system has no thread to spare for the engine, acquisitions fail with
    /// [`Unreachable`](crate::AcquireError::Unreachable), so that there is no hold without renewals.
    #[must_use]
    pub fn build(self) -> Tenure {
        let (tenure, engine) = self.build_inline();
        let context = &tenure.acquirer.context;
        let _ = context.starter.set(EngineStarter::new(&context.slots, engine));
        if let Err(fault) = context.start_engine() {
            tracing::warn!(fault = %format_args!("{fault:#}"), "nothing is acquired until it can be started");
        }
        at_exit::wait_for_releases_of(&context.slots);
        tenure
    }

    /// Opens the store, with the engine as a task of the current tokio runtime. This is for tests that pause its time,
    /// with a [`TokioClock`](crate::TokioClock).
    ///
    /// Do not use this in production: a blocked runtime renews nothing.
    ///
    /// # Panics
    /// Panics outside a tokio runtime, as [`tokio::spawn`] does.
    #[must_use]
    pub fn build_in_runtime(self) -> Tenure {
        let (tenure, engine) = self.build_inline();
        tokio::spawn(engine);
        tenure
    }

    /// Opens the store and returns the engine, which the caller must run. This is for tests on a paused or simulated
    /// clock.
    ///
    /// While the engine does not run, nothing is renewed or cleaned up. Once it is dropped, acquisitions are refused.
    pub fn build_inline(self) -> (Tenure, impl Future<Output = ()> + Send + 'static) {
        let woken = Arc::default();
        let (slots, agenda) = (Slots::new(self.max_holds, &woken), Agenda::new(&woken));
        let observer = StoreTelemetry::new(&*self.store, self.families, &woken);
        let unwritten = Unwritten::new(&slots, &woken);
        let capabilities = self.store.capabilities();
        let history = if capabilities.history { self.history } else { HistoryFamilies::default() };
        let journal = Arc::new(Journal::new(history, capabilities.pass_bits, unwritten));
        let engine = Engine {
            slots: slots.clone(),
            agenda: agenda.clone(),
            woken,
            store: self.store.for_engine(),
            clock: self.clock.clone(),
            observer: observer.clone(),
            outage: Default::default(),
            pace: Default::default(),
            unread: Default::default(),
            journal: journal.clone(),
            next_gap_told: Default::default(),
        };
        // From now on, not from when it first runs: something may be held and evicted by then.
        let evictions = engine.store.evictions();
        let jobs = (agenda, slots);
        let settings = (self.defaults, OwnIdentity::new(self.service, self.user));
        let context = StoreContext::new(
            self.store,
            self.clock,
            self.entropy,
            jobs,
            (observer, journal),
            settings,
        );
        let context = Arc::new(context);
        let queues = Queues::new(&context);
        let acquirer = Acquirer::new(context, queues);
        (Tenure { acquirer: Arc::new(acquirer) }, engine.run(evictions))
    }
}
