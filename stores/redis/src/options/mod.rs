//! The options of the store: how to reach a server, and the limits of the queues.

mod access;
mod address;
mod certificates;
mod layout;
pub(crate) mod login;
mod sentinels;
mod url;

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind,
    error::OutOfRange,
    proto::{queue::Limits, time::in_range},
};

pub(crate) use self::address::{HostPort, bracketed};
pub use self::{address::Address, layout::Layout, sentinels::Sentinels};
use tenure_url::Certificates;

pub(crate) use crate::options::layout::LayoutOptions;
use crate::options::login::Login;

/// The servers that keep the locks.
#[derive(Clone, Debug)]
pub(crate) enum Deployment {
    /// Always the same server.
    One(Address),
    /// The server that these sentinels name.
    Sentinels(Sentinels),
    /// A cluster, of which these are some of the nodes.
    Cluster(Vec<HostPort>),
}

impl Deployment {
    pub(crate) const fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }
}

/// How many replicas must have a write before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replicas {
    Count(u32),
    /// All that the sentinels or nodes know, also unreachable ones.
    All,
}

/// The options of the store: how to reach a server, and the limits of the queues.
///
/// All programs that use the same locks must use the same prefix, and should use the same limits.
///
/// ```
/// use std::time::Duration;
/// use tenure_redis::RedisOptions;
///
/// let options = RedisOptions::new(("localhost", 6379))
///     .user("tenure")
///     .password_from(|| async { Ok::<_, std::io::Error>("what the vault says now") })
///     .database(1)
///     .prefix("shop:")?
///     .claim_window(Duration::from_millis(300))?;
/// assert_eq!(options.location(), "redis://localhost:6379/1?prefix=shop:");
///
/// let same = RedisOptions::from_url("redis://tenure:secret@localhost/1?prefix=shop:")?;
/// assert_eq!(same.location(), options.location());
/// # Ok::<(), tenure_core::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct RedisOptions {
    pub(crate) deployment: Deployment,
    /// Whether servers that sentinels name, and nodes of a cluster, are reached over TLS.
    pub(crate) tls: bool,
    pub(crate) login: Login,
    pub(crate) replicas: Replicas,
    pub(crate) replica_timeout: Duration,
    pub(crate) database: u32,
    pub(crate) prefix: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) response_timeout: Duration,
    pub(crate) limits: Limits,
    pub(crate) certificates: Certificates,
    /// Whether scripts keep the locks.
    pub(crate) scripts: bool,
    pub(crate) layout: LayoutOptions,
    /// Whether nothing is written, not even the format's number.
    pub(crate) only_looks: bool,
}

impl RedisOptions {
    /// The default of [`prefix`](RedisOptions::prefix), which begins every key and channel.
    pub const DEFAULT_PREFIX: &'static str = "tenure:";
    /// The longest prefix, in bytes.
    pub const MAX_PREFIX: usize = 64;
    /// The most nodes of a cluster that may be named. The others are found.
    pub const MOST_SEEDS: usize = 32;

    /// Uses the server at `address`, without a password: `("db", 6379)`, or an [`Address`].
    #[must_use]
    pub fn new(address: impl Into<Address>) -> Self {
        Self::of(Deployment::One(address.into()))
    }

    /// Uses the primary that sentinels name, without a password and without TLS.
    #[must_use]
    pub fn found_by(sentinels: Sentinels) -> Self {
        Self::of(Deployment::Sentinels(sentinels))
    }

    /// Uses the cluster of which these are some of the nodes, without a password and without TLS.
    ///
    /// # Errors
    /// A fault if there is no node, or more than 32.
    pub fn in_cluster<H: Into<String>>(
        seeds: impl IntoIterator<Item = (H, u16)>,
    ) -> Result<Self, Fault> {
        let seeds: Vec<_> = seeds.into_iter().map(|(host, port)| (host.into(), port)).collect();
        if seeds.is_empty() || seeds.len() > Self::MOST_SEEDS {
            let what = format!("{} nodes of the cluster are named", seeds.len());
            let help = "name 1 to 32 of them";
            return Err(Fault::new(FaultKind::Misconfigured, what, help));
        }
        Ok(Self::of(Deployment::Cluster(seeds)))
    }

    fn of(deployment: Deployment) -> Self {
        // A node of a cluster does not know which clients listen for hints at the others.
        let notices_absence = !deployment.is_cluster();
        Self {
            deployment,
            tls: false,
            login: Login::default(),
            replicas: Replicas::Count(0),
            replica_timeout: Duration::from_secs(1),
            database: 0,
            prefix: Self::DEFAULT_PREFIX.to_owned(),
            connect_timeout: Duration::from_secs(2),
            response_timeout: Duration::from_secs(2),
            limits: Limits {
                claim_window: Duration::from_millis(500),
                position_ttl: Duration::from_secs(10),
                look: Duration::from_secs(1),
                notices_absence,
                max_waiters: 1_000,
                max_holders: 1_000,
                kinds_may_mix: true,
            },
            certificates: Certificates::default(),
            scripts: true,
            layout: LayoutOptions::default(),
            only_looks: false,
        }
    }

    /// Sets the number of the database.
    #[must_use]
    pub fn database(mut self, number: u32) -> Self {
        self.database = number;
        self
    }

    /// Sets the beginning of every key and channel: at most 64 bytes, without braces, spaces and control characters.
    /// Default: [`DEFAULT_PREFIX`](RedisOptions::DEFAULT_PREFIX).
    ///
    /// # Errors
    /// A fault that says what is wrong with the prefix.
    pub fn prefix(mut self, prefix: &str) -> Result<Self, Fault> {
        let strange = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '{' | '}');
        if prefix.len() > Self::MAX_PREFIX || prefix.contains(strange) {
            return Err(Fault::new(
                FaultKind::Misconfigured,
                format!("{prefix:?} cannot be a prefix of keys"),
                "choose at most 64 bytes without braces, spaces and control characters",
            ));
        }
        self.prefix = prefix.to_owned();
        Ok(self)
    }

    /// Sets how long connecting may take, 10 ms to 1 min. Default: 2 s.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn connect_timeout(mut self, length: Duration) -> Result<Self, Fault> {
        self.connect_timeout = within("connect_timeout", length, 10, 60_000)?;
        Ok(self)
    }

    /// Sets how long an answer may take before its call counts as in doubt, 10 ms to 1 min. Default: 2 s.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn response_timeout(mut self, length: Duration) -> Result<Self, Fault> {
        self.response_timeout = within("response_timeout", length, 10, 60_000)?;
        Ok(self)
    }

    /// Sets how many replicas must have a grant, a renewal or a handoff before it counts. Default: 0. If too few have
    /// an acquisition in time, it is in doubt and taken back. A renewal then moves no deadline.
    #[must_use]
    pub fn replicas(mut self, count: u32) -> Self {
        self.replicas = Replicas::Count(count);
        self
    }

    /// Requires all replicas that the sentinels or the nodes of a cluster know, also those that are unreachable.
    ///
    /// # Errors
    /// A fault without sentinels or a cluster, because then the number of replicas is not known.
    pub fn all_replicas(mut self) -> Result<Self, Fault> {
        if matches!(self.deployment, Deployment::One(_)) {
            let what = "only sentinels and clusters know the number of replicas";
            let help = "say how many of them must have each write: replicas=2";
            return Err(Fault::new(FaultKind::Misconfigured, what, help));
        }
        self.replicas = Replicas::All;
        Ok(self)
    }

    /// Sets how long to wait for replicas, 1 ms to 1 min, and shorter than [`RedisOptions::response_timeout`]. Default:
    /// 1 s. Other calls on the same connection wait this long too.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn replica_timeout(mut self, length: Duration) -> Result<Self, Fault> {
        self.replica_timeout = within("replica_timeout", length, 1, 60_000)?;
        Ok(self)
    }

    /// Sets whether tenure may run scripts on the server. Default: `true`. Use `false` for servers and users that may
    /// not run scripts. Without scripts there are only mutexes, waiters are served in no order, and each step takes two
    /// round trips. Clients with and without scripts exclude each other.
    #[must_use]
    pub fn scripts(mut self, yes: bool) -> Self {
        self.scripts = yes;
        self
    }

    /// Sets how the keys of locks are laid out. Default: [`Layout::Tenure`].
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout.layout = layout;
        self
    }

    /// Sets what other libraries put before a name to make its key, in [`Layout::Plain`] and [`Layout::Redisson`]: at
    /// most 256 bytes without control characters. Default: nothing. [`prefix`](RedisOptions::prefix) still begins
    /// tenure's own keys.
    ///
    /// # Errors
    /// A fault if the text is too long or has control characters.
    pub fn key_prefix(mut self, text: &str) -> Result<Self, Fault> {
        self.layout.key_prefix = layout::key_text("key_prefix", text)?;
        Ok(self)
    }

    /// Sets the channel on which holders announce in [`Layout::Plain`] that they released a key, by publishing the
    /// key: at most 256 bytes without control characters. A `*` in it stands for the key. Default: a channel of
    /// tenure's own. Spring Integration uses `REGISTRY-channel:*` for its locks of type `PUB_SUB_LOCK`.
    ///
    /// # Errors
    /// A fault if the text is too long or has control characters.
    pub fn unlock_channel(mut self, text: &str) -> Result<Self, Fault> {
        self.layout.unlock_channel = Some(layout::key_text("unlock_channel", text)?);
        Ok(self)
    }

    /// Sets whether tokens are the numbers that Redisson's `RFencedLock` issues, in [`Layout::Redisson`]. Default:
    /// `false`, and tenure's holders have tokens of tenure's own clock. With `true`, the tokens of Rust and Java
    /// holders rise in one series, and there are no read-write locks. The counter is lost with the server's data, and
    /// tokens then begin at 1 again.
    #[must_use]
    pub fn fenced_lock_tokens(mut self, yes: bool) -> Self {
        self.layout.fenced_tokens = yes;
        self
    }

    /// Sets the `lockWatchdogTimeout` of the Java programs, in [`Layout::Redisson`], 100 ms to 1 h: the least, if they
    /// differ. Default: 30 s, as Redisson's.
    ///
    /// The lease of a reader is never longer than this, whatever its ttl: a Redisson client that renews its own read
    /// lock sets the ttl of the whole lock to this timeout. With a value that is too long, a tenure reader could lose
    /// the lock without notice when such a client dies.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn lock_watchdog_timeout(mut self, length: Duration) -> Result<Self, Fault> {
        let length = within("lock_watchdog_timeout", length, 100, 3_600_000)?;
        self.layout.lock_watchdog_timeout = length;
        Ok(self)
    }

    /// Sets how long a waiter has to claim the lock that it is offered, 10 ms to 10 s. Default: 500 ms. A waiter that
    /// died delays those behind it by this time.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn claim_window(mut self, length: Duration) -> Result<Self, Fault> {
        self.limits.claim_window = within("claim_window", length, 10, 10_000)?;
        self.limits.position_ttl = self.limits.position_ttl.max(length);
        Ok(self)
    }

    /// Sets how long a queue position is kept unless its waiter asks again, 100 ms to 10 min. It is never shorter than
    /// the claim window. Default: 10 s.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn position_ttl(mut self, length: Duration) -> Result<Self, Fault> {
        self.limits.position_ttl = within("position_ttl", length, 100, 600_000)?;
        self.limits.claim_window = self.limits.claim_window.min(length);
        Ok(self)
    }

    /// Sets how many may wait for one name, 1 to 10,000. Default: 1,000.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn max_waiters(mut self, most: usize) -> Result<Self, Fault> {
        self.limits.max_waiters = bound("max_waiters", most)?;
        Ok(self)
    }

    /// Sets how many may hold one name together, 1 to 10,000. Default: 1,000.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn max_holders(mut self, most: usize) -> Result<Self, Fault> {
        self.limits.max_holders = bound("max_holders", most)?;
        Ok(self)
    }

    /// Checks what depends on several options.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.login.check()?;
        self.layout.check(&self.prefix, self.scripts)?;
        check_certificates("the servers", self.is_over_tls(), &self.certificates)?;
        if let Deployment::Sentinels(sentinels) = &self.deployment {
            sentinels.login.check()?;
            check_certificates("the sentinels", sentinels.tls, &sentinels.certificates)?;
        }
        if self.deployment.is_cluster() && self.database != 0 {
            let what = format!("a cluster has no database {}", self.database);
            let help = "leave the database out, or write 0; a prefix keeps locks apart";
            return Err(Fault::new(FaultKind::Misconfigured, what, help));
        }
        if self.deployment.is_cluster() && !self.scripts {
            let what = "in a cluster tenure does not work without scripts";
            let help = "leave scripts=no out, or use one server, or one that sentinels name";
            return Err(Fault::new(FaultKind::Misconfigured, what, help));
        }
        if self.replicas == Replicas::Count(0) || self.replica_timeout < self.response_timeout {
            return Ok(());
        }
        let what = "replica_timeout is not shorter than response_timeout";
        let help =
            "shorten the first, or raise the second: an answer comes after that of the replicas";
        Err(Fault::new(FaultKind::Misconfigured, what, help))
    }

    /// Whether the server keeps a queue for each name, and tells waiters that it is their turn.
    pub(crate) fn keeps_queues(&self) -> bool {
        self.scripts && !self.layout.layout.is_shared()
    }

    fn is_over_tls(&self) -> bool {
        match &self.deployment {
            Deployment::One(address) => matches!(address, Address::Tls { .. }),
            Deployment::Sentinels(_) | Deployment::Cluster(_) => self.tls,
        }
    }

    /// Returns the server's location, without user and password.
    #[must_use]
    pub fn location(&self) -> String {
        let mut location = match &self.deployment {
            Deployment::One(address) => self.location_of(address),
            Deployment::Sentinels(sentinels) => format!(
                "redis{}-sentinel://{}/{}?service={}",
                if self.tls { "s" } else { "" },
                listed(&sentinels.seeds),
                self.database,
                sentinels.service
            ),
            Deployment::Cluster(seeds) => {
                format!("redis{}-cluster://{}", if self.tls { "s" } else { "" }, listed(seeds))
            }
        };
        let mut add = |setting: &str, value: &str| {
            let mark = if location.contains('?') { '&' } else { '?' };
            location.push(mark);
            location.push_str(setting);
            location.push_str(value);
        };
        if self.prefix != Self::DEFAULT_PREFIX {
            add("prefix=", &self.prefix);
        }
        if self.layout.layout != Layout::default() {
            add("layout=", self.layout.layout.as_str());
        }
        if !self.layout.key_prefix.is_empty() {
            add("key_prefix=", &self.layout.key_prefix);
        }
        if self.layout.fenced_tokens {
            add("tokens=", "fenced");
        }
        location
    }

    /// Returns the location of the server at this address.
    pub(crate) fn location_of(&self, address: &Address) -> String {
        let database = self.database;
        match address {
            Address::Tcp { host, port } => format!("redis://{}:{port}/{database}", bracketed(host)),
            Address::Tls { host, port } => {
                format!("rediss://{}:{port}/{database}", bracketed(host))
            }
            Address::Unix(path) => format!("unix:{}?db={database}", path.display()),
        }
    }
}

/// Addresses as in a URL.
fn listed(places: &[HostPort]) -> String {
    let place = |(host, port): &HostPort| format!("{}:{port}", bracketed(host));
    places.iter().map(place).collect::<Vec<_>>().join(",")
}

fn bound(what: &str, given: usize) -> Result<usize, Fault> {
    if (1..=10_000).contains(&given) {
        return Ok(given);
    }
    let what = format!("{what} of {given} is out of range");
    Err(Fault::new(FaultKind::Misconfigured, what, "choose from 1 to 10000"))
}

fn within(what: &'static str, given: Duration, least: u64, most: u64) -> Result<Duration, Fault> {
    in_range(what, given, Duration::from_millis(least), Duration::from_millis(most)).map_err(
        |error: OutOfRange| Fault::new(FaultKind::Misconfigured, error.message(), error.help()),
    )
}
/// Refuses certificates without TLS: an option that names certificates expects encryption.
fn check_certificates(whose: &str, tls: bool, certificates: &Certificates) -> Result<(), Fault> {
    if tls || !certificates.are_given() {
        return Ok(());
    }
    let what = format!("certificates are named, but the connections to {whose} are not encrypted");
    let help = "turn on TLS, with tls(true) or in the URL, or name no certificates";
    Err(Fault::new(FaultKind::Misconfigured, what, help))
}
