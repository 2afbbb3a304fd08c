//! How a server is reached, and the bounds of its queues.

mod access;
mod address;
mod certificates;
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
pub use self::{address::Address, sentinels::Sentinels};
use tenure_url::Certificates;

use crate::options::login::Login;

/// Which server has the locks.
#[derive(Clone, Debug)]
pub(crate) enum Deployment {
    /// Always the same.
    One(Address),
    /// The one that these name.
    Sentinels(Sentinels),
    /// The nodes of a cluster, of which these are some.
    Cluster(Vec<HostPort>),
}

impl Deployment {
    pub(crate) const fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }
}

/// How many replicas have to have what was written before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replicas {
    Count(u32),
    /// All that the sentinels or nodes know, also those that are away.
    All,
}

/// How a server is reached, and the bounds of its queues.
///
/// Everybody who uses the same locks must use the same prefix, and should use the same bounds.
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
    /// Whether servers that sentinels name, or nodes of a cluster, are reached over TLS.
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
    /// Whether locks are kept by scripts.
    pub(crate) scripts: bool,
    /// Whether nothing is written, the number of the format neither.
    pub(crate) only_looks: bool,
}

impl RedisOptions {
    /// What stands before every key and channel unless said otherwise.
    pub const DEFAULT_PREFIX: &'static str = "tenure:";
    /// The longest prefix, in bytes.
    pub const MAX_PREFIX: usize = 64;
    /// How many nodes of a cluster may be named; the others are found.
    pub const MOST_SEEDS: usize = 32;

    /// The server at `address`, without a password: `("db", 6379)`, or an [`Address`].
    #[must_use]
    pub fn new(address: impl Into<Address>) -> Self {
        Self::of(Deployment::One(address.into()))
    }

    /// The primary that sentinels name, without a password and without TLS.
    #[must_use]
    pub fn found_by(sentinels: Sentinels) -> Self {
        Self::of(Deployment::Sentinels(sentinels))
    }

    /// The nodes of a cluster, of which these are some; without a password and without TLS.
    ///
    /// # Errors
    /// A fault when none is named, or more than 32.
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
        // A node of a cluster does not know who hears hints at the others.
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
            only_looks: false,
        }
    }

    /// The number of the database.
    #[must_use]
    pub fn database(mut self, number: u32) -> Self {
        self.database = number;
        self
    }

    /// What stands before every key and channel: at most 64 bytes, without braces, spaces and
    /// control characters.
    ///
    /// # Errors
    /// A fault that says what is wrong with it.
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

    /// How long connecting may take, 10 ms to 1 min; 2 s unless said otherwise.
    ///
    /// # Errors
    /// A fault when it is out of range.
    pub fn connect_timeout(mut self, length: Duration) -> Result<Self, Fault> {
        self.connect_timeout = within("connect_timeout", length, 10, 60_000)?;
        Ok(self)
    }

    /// How long an answer may take before its call counts as in doubt, 10 ms to 1 min; 2 s unless
    /// said otherwise.
    ///
    /// # Errors
    /// A fault when it is out of range.
    pub fn response_timeout(mut self, length: Duration) -> Result<Self, Fault> {
        self.response_timeout = within("response_timeout", length, 10, 60_000)?;
        Ok(self)
    }

    /// What is acquired, renewed or passed on counts only when so many replicas have it; 0 unless said
    /// otherwise. An acquisition that too few have in time is in doubt and taken back; a renewal moves no
    /// deadline.
    #[must_use]
    pub fn replicas(mut self, count: u32) -> Self {
        self.replicas = Replicas::Count(count);
        self
    }

    /// The same for all replicas that the sentinels or the nodes of a cluster know, also those that are away.
    ///
    /// # Errors
    /// A fault where neither are asked: nobody else knows how many there are.
    pub fn all_replicas(mut self) -> Result<Self, Fault> {
        if matches!(self.deployment, Deployment::One(_)) {
            let what = "only sentinels and clusters know the number of replicas";
            let help = "say how many of them must have each write: replicas=2";
            return Err(Fault::new(FaultKind::Misconfigured, what, help));
        }
        self.replicas = Replicas::All;
        Ok(self)
    }

    /// How long replicas are waited for, 1 ms to 1 min, and shorter than [`RedisOptions::response_timeout`];
    /// 1 s unless said otherwise. Everything else over the same connection waits as long.
    ///
    /// # Errors
    /// A fault when it is out of range.
    pub fn replica_timeout(mut self, length: Duration) -> Result<Self, Fault> {
        self.replica_timeout = within("replica_timeout", length, 1, 60_000)?;
        Ok(self)
    }

    /// Whether the server may be told to run scripts; `true` unless said otherwise. Without them there are
    /// mutexes alone, nobody is served in turn, and each step takes two round trips: for servers and users
    /// that may not run any. Both exclude each other.
    #[must_use]
    pub fn scripts(mut self, yes: bool) -> Self {
        self.scripts = yes;
        self
    }

    /// How long a waiter has to claim what it is offered, 10 ms to 10 s; 500 ms unless said
    /// otherwise. A waiter that died costs those behind it this long.
    ///
    /// # Errors
    /// A fault when it is out of range.
    pub fn claim_window(mut self, length: Duration) -> Result<Self, Fault> {
        self.limits.claim_window = within("claim_window", length, 10, 10_000)?;
        self.limits.position_ttl = self.limits.position_ttl.max(length);
        Ok(self)
    }

    /// How long a waiter's place is kept without being asked for again, 100 ms to 10 min, never
    /// shorter than the claim window; 10 s unless said otherwise.
    ///
    /// # Errors
    /// A fault when it is out of range.
    pub fn position_ttl(mut self, length: Duration) -> Result<Self, Fault> {
        self.limits.position_ttl = within("position_ttl", length, 100, 600_000)?;
        self.limits.claim_window = self.limits.claim_window.min(length);
        Ok(self)
    }

    /// How many may wait for one name, 1 to 10,000; 1,000 unless said otherwise.
    ///
    /// # Errors
    /// A fault when it is out of range.
    pub fn max_waiters(mut self, most: usize) -> Result<Self, Fault> {
        self.limits.max_waiters = bound("max_waiters", most)?;
        Ok(self)
    }

    /// How many may hold one name together, 1 to 10,000; 1,000 unless said otherwise.
    ///
    /// # Errors
    /// A fault when it is out of range.
    pub fn max_holders(mut self, most: usize) -> Result<Self, Fault> {
        self.limits.max_holders = bound("max_holders", most)?;
        Ok(self)
    }

    /// What can only be seen when all is said.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.login.check()?;
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

    fn is_over_tls(&self) -> bool {
        match &self.deployment {
            Deployment::One(address) => matches!(address, Address::Tls { .. }),
            Deployment::Sentinels(_) | Deployment::Cluster(_) => self.tls,
        }
    }

    /// Where the server is, without user and password.
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
        if self.prefix != Self::DEFAULT_PREFIX {
            let mark = if location.contains('?') { '&' } else { '?' };
            location.push(mark);
            location.push_str("prefix=");
            location.push_str(&self.prefix);
        }
        location
    }

    /// Where a server at this address is.
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

/// Places in a URL.
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
/// Whoever names certificates takes the connections for encrypted.
fn check_certificates(whose: &str, tls: bool, certificates: &Certificates) -> Result<(), Fault> {
    if tls || !certificates.are_given() {
        return Ok(());
    }
    let what = format!("certificates are named, but the connections to {whose} are not encrypted");
    let help = "turn on TLS, with tls(true) or in the URL, or name no certificates";
    Err(Fault::new(FaultKind::Misconfigured, what, help))
}
