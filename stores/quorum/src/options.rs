//! The options of a quorum, and those that all its clients must agree on.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Clock, Entropy, Fault, FaultKind, OsEntropy, SystemClock,
    error::OutOfRange,
    proto::{Timestamp, time::in_range},
};

/// The options of a quorum, and those that all its clients must agree on.
///
/// ```
/// use std::time::Duration;
/// use tenure_quorum::QuorumOptions;
///
/// let options = QuorumOptions::new()
///     .member_limit(Duration::from_millis(100))?
///     .longest_lease(Duration::from_secs(600))?;
/// # Ok::<(), tenure_core::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct QuorumOptions {
    pub(crate) member_limit: Duration,
    pub(crate) longest_lease: Duration,
    pub(crate) durable_members: bool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl Default for QuorumOptions {
    fn default() -> Self {
        Self {
            member_limit: Duration::from_millis(500),
            longest_lease: Duration::from_secs(60),
            durable_members: false,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(OsEntropy::default()),
        }
    }
}

impl QuorumOptions {
    /// Returns the default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long one member may take to answer, 5 ms to 10 s. Default: 500 ms, and never more than a quarter of the
    /// requested lease.
    ///
    /// While a minority does not answer, a call may take this much longer.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn member_limit(mut self, limit: Duration) -> Result<Self, Fault> {
        self.member_limit = within("member_limit", limit, 5, 10_000)?;
        Ok(self)
    }

    /// Sets the longest lease that may be requested, including its grace, and the longest time for which a name may
    /// stay taken after its release: 100 ms to 49 h. Default: 60 s.
    ///
    /// A member that restarted or lost its memory is not counted for this long. All clients of a quorum must agree on
    /// the value. The members keep it, and refuse a client with another value.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn longest_lease(mut self, longest: Duration) -> Result<Self, Fault> {
        self.longest_lease = within("longest_lease", longest, 100, 49 * 60 * 60 * 1_000)?;
        Ok(self)
    }

    /// Sets whether no member can lose by a restart anything that it confirmed. Default: `false`.
    ///
    /// A member that restarts is not counted for `longest_lease`, because it may have forgotten its newest holds. With
    /// `true` it is counted at once, as long as it comes back with its memory.
    ///
    /// Set it only for Redis with `appendfsync always` on a disk that keeps what it reported as written, at *every*
    /// member. Otherwise two holders may have a lock at the same time. All clients of a quorum must agree on the value.
    /// The members keep it, and refuse a client with another value.
    ///
    /// ```
    /// use tenure_quorum::QuorumOptions;
    ///
    /// let options = QuorumOptions::new().durable_members(true);
    /// ```
    #[must_use]
    pub fn durable_members(mut self, durable: bool) -> Self {
        self.durable_members = durable;
        self
    }

    /// Uses this clock for time limits and pauses: for tests and simulations.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Uses this source of randomness for the owners of marks and the spread of pauses: for tests and simulations.
    #[must_use]
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// How long a member may take for a call with this lease.
    pub(crate) fn limit(&self, lease: Duration) -> Duration {
        self.member_limit.min(lease / 4).max(Duration::from_millis(5))
    }
}

fn within(what: &'static str, given: Duration, least: u64, most: u64) -> Result<Duration, Fault> {
    in_range(what, given, Duration::from_millis(least), Duration::from_millis(most)).map_err(
        |error: OutOfRange| Fault::new(FaultKind::Misconfigured, error.message(), error.help()),
    )
}
