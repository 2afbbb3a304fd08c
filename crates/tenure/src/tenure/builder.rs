//! How a store that the program made itself is opened.

use std::sync::Arc;

use tenure_core::{
    Clock, Defaults, Entropy, LockName, history::HistoryFamilies, observe::MetricFamilies,
};

use super::Tenure;

/// Chooses the parts and settings of a [`Tenure`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{sync::Arc, time::Duration};
/// use tenure::{Defaults, Tenure, store::MemoryStore};
///
/// let mut defaults = Defaults::default();
/// defaults.ttl = Some(Duration::from_secs(5));
/// let store = Arc::new(MemoryStore::new());
/// let tenure = Tenure::builder(store).defaults(move |_name| defaults.clone()).build();
/// let guard = tenure.mutex("job").lock().await?;
/// assert!(guard.remaining() <= Duration::from_secs(5));
/// # Ok::<(), tenure::Error>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "nothing is opened until it is built"]
pub struct TenureBuilder(pub(super) tenure_core::TenureBuilder);

impl TenureBuilder {
    /// The number of holds, waiters and clean-ups that [`max_holds`](TenureBuilder::max_holds) allows by default.
    pub const MAX_HOLDS: usize = tenure_core::TenureBuilder::MAX_HOLDS;

    /// Uses this clock for deadlines and waits. It must run at the rate of the store's clock, to within 1 %. Default:
    /// the machine's clock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Tenure, clock::ManualClock, store::MemoryStore};
    ///
    /// let clock = Arc::new(ManualClock::new());
    /// let store = Arc::new(MemoryStore::with_clock(clock.clone()));
    /// let tenure = Tenure::builder(store).clock(clock).build();
    /// ```
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self(self.0.clock(clock))
    }

    /// Uses this source of randomness for owners and jitter. Default: the system's.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Tenure, entropy::SeededEntropy, store::MemoryStore};
    ///
    /// let store = Arc::new(MemoryStore::new());
    /// let tenure = Tenure::builder(store).entropy(Arc::new(SeededEntropy::new(7))).build();
    /// ```
    pub fn entropy(self, entropy: Arc<dyn Entropy>) -> Self {
        Self(self.0.entropy(entropy))
    }

    /// Sets how many holds, waiters and clean-ups this `Tenure` may have at a time. Beyond that number, an acquisition
    /// fails with [`TooManyHolds`](crate::AcquireError::TooManyHolds). Default:
    /// [`MAX_HOLDS`](TenureBuilder::MAX_HOLDS).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure::{Tenure, store::MemoryStore};
    ///
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).max_holds(1).build();
    /// let guard = tenure.mutex("a").lock().await?;
    /// assert!(tenure.mutex("b").lock().await.is_err());
    /// # drop(guard);
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn max_holds(self, max_holds: usize) -> Self {
        Self(self.0.max_holds(max_holds))
    }

    /// Sets the settings that locks use unless a lock or an acquisition sets its own. tenure calls `find` at each
    /// acquisition. It must not block.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    /// use tenure::{Defaults, Tenure, store::MemoryStore};
    ///
    /// let mut short = Defaults::default();
    /// short.ttl = Some(Duration::from_secs(5));
    /// let store = Arc::new(MemoryStore::new());
    /// let tenure = Tenure::builder(store).defaults(move |_name| short.clone()).build();
    /// ```
    pub fn defaults(self, find: impl Fn(&LockName) -> Defaults + Send + Sync + 'static) -> Self {
        Self(self.0.defaults(find))
    }

    /// Sets which families of locks have series of their own in the metrics, under the label `family`. Default: none, and
    /// the label is missing. In the configuration this is `families` under `[metrics]`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Tenure, observe::MetricFamilies, store::MemoryStore};
    ///
    /// let families = MetricFamilies::new(["order:*", "nightly"])?;
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).metric_families(families).build();
    /// # Ok::<(), tenure::observe::MetricFamiliesError>(())
    /// ```
    pub fn metric_families(self, families: MetricFamilies) -> Self {
        Self(self.0.metric_families(families))
    }

    /// Sets which families of locks have a [history](crate::history). Default: none. In the configuration this is
    /// `history`. Where the store keeps no history, this does nothing, and reading it is refused.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Tenure, history::{HistoryFamilies, Retention}, store::MemoryStore};
    ///
    /// let families = HistoryFamilies::new([("nightly", Retention::entries(100)?)])?;
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).history_families(families).build();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn history_families(self, families: HistoryFamilies) -> Self {
        Self(self.0.history_families(families))
    }

    /// Sets which service this process belongs to, for people who see its holds: `shop@1.4.2`. Default: none. In the
    /// configuration this is `service`.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure::{Tenure, store::MemoryStore};
    ///
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).service("shop@1.4.2").build();
    /// let guard = tenure.mutex("invoices").reason("monthly run").lock().await?;
    /// let holder = tenure.inspect("invoices").await?.holders[0].identity();
    /// assert_eq!(holder.service.as_deref(), Some("shop@1.4.2"));
    /// assert_eq!(holder.reason.as_deref(), Some("monthly run"));
    /// # guard.release().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub fn service(self, service: impl Into<String>) -> Self {
        Self(self.0.service(service))
    }

    /// Sets the user as whom this process acts, for people who see its holds. Default: none. The command `tenure` sets
    /// the user of its process.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Tenure, store::MemoryStore};
    ///
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).user("alice").build();
    /// ```
    pub fn user(self, user: impl Into<String>) -> Self {
        Self(self.0.user(user))
    }

    /// Builds the `Tenure`, with renewals on tenure's own thread.
    ///
    /// While the system has no thread to spare for that, acquisitions fail with
    /// [`Unreachable`](crate::AcquireError::Unreachable), so that no hold is left without renewals.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Tenure, store::MemoryStore};
    ///
    /// let tenure = Tenure::builder(Arc::new(MemoryStore::new())).build();
    /// ```
    #[must_use]
    pub fn build(self) -> Tenure {
        Tenure(self.0.build())
    }

    /// Builds the `Tenure`, with renewals as a task of the tokio runtime in which you call this. It is for tests that
    /// pause the runtime's time, with a [`TokioClock`](crate::clock::TokioClock).
    ///
    /// Do not use it in production: while the runtime is blocked, no hold is renewed.
    ///
    /// # Panics
    /// If you call it outside a tokio runtime, as `tokio::spawn` does.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure::{Tenure, clock::TokioClock, store::MemoryStore};
    ///
    /// let clock = Arc::new(TokioClock::new());
    /// let store = Arc::new(MemoryStore::with_clock(clock.clone()));
    /// let tenure = Tenure::builder(store).clock(clock).build_in_runtime();
    /// tenure.mutex("job").lock().await?.release().await?;
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn build_in_runtime(self) -> Tenure {
        Tenure(self.0.build_in_runtime())
    }

    /// Builds the `Tenure` and returns its background work, which you must run. It is for tests on a paused or
    /// simulated clock.
    ///
    /// While that work does not run, no hold is renewed or cleaned up. Once it is dropped, acquisitions are refused.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use tenure::{Tenure, clock::ManualClock, store::MemoryStore};
    ///
    /// let clock = Arc::new(ManualClock::new());
    /// let store = Arc::new(MemoryStore::with_clock(clock.clone()));
    /// let (tenure, background) = Tenure::builder(store).clock(clock.clone()).build_inline();
    /// let background = tokio::spawn(background);
    /// tenure.mutex("job").lock().await?.release().await?;
    /// # background.abort();
    /// # Ok::<(), tenure::Error>(())
    /// # }).unwrap();
    /// ```
    pub fn build_inline(self) -> (Tenure, impl Future<Output = ()> + Send + 'static) {
        let (tenure, engine) = self.0.build_inline();
        (Tenure(tenure), engine)
    }
}
