//! The options of the store.

use std::time::Duration;

use tenure_core::{Fault, FaultKind};
use tenure_url::{Certificates, Password};

use crate::{
    client::{Acl, Acls, CreateMode},
    contenders::{node::Layout, tokens::TokenForm},
    validity,
};

/// Which clients may see and change what tenure creates.
#[derive(Clone, Debug, Default)]
pub(crate) enum AclPolicy {
    /// Every client that reaches the ensemble: Curator's default.
    #[default]
    World,
    /// Clients that log in as this user.
    Creator,
    /// The clients that are named.
    Given(Vec<Acl>),
}

impl AclPolicy {
    pub(crate) fn acls(&self) -> Acls<'_> {
        match self {
            Self::World => Acls::anyone_all(),
            Self::Creator => Acls::creator_all(),
            Self::Given(given) => Acls::from(given.as_slice()),
        }
    }
}

/// How a user logs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LoginMethod {
    /// ZooKeeper's own scheme `digest`.
    #[default]
    Digest,
    /// SASL with DIGEST-MD5.
    Sasl,
}

/// A user and a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: Password,
    pub(crate) method: LoginMethod,
}

/// The options of the store: how to reach an ensemble, and the limits of the queues.
///
/// All programs that use the same locks, also through Curator, must use the same base path.
///
/// ```
/// use std::time::Duration;
/// use tenure_zookeeper::ZookeeperOptions;
///
/// let options = ZookeeperOptions::new([("a", 2181), ("b", 2182), ("c", 2181)])?
///     .base("/locks")?
///     .session(Duration::from_secs(20))?
///     .user("tenure")
///     .password("secret");
/// assert_eq!(options.location(), "zookeeper://a:2181,b:2182,c:2181/locks");
///
/// let same = ZookeeperOptions::from_url("zookeeper://tenure:secret@a,b:2182,c/locks?session=20s")?;
/// assert_eq!(same.location(), options.location());
/// # Ok::<(), tenure_core::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct ZookeeperOptions {
    pub(crate) servers: Vec<(String, u16)>,
    /// The path under which each lock is a node; never ends with a slash.
    pub(crate) base: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Password>,
    pub(crate) method: LoginMethod,
    pub(crate) tls: Option<Certificates>,
    pub(crate) session: Duration,
    /// Whether the length of the session was set.
    session_is_chosen: bool,
    /// The longest time before the end of a lease at which the work of its holder has to begin to end.
    pub(crate) grace: Duration,
    pub(crate) tick: Duration,
    pub(crate) response_timeout: Duration,
    pub(crate) epoch: u32,
    pub(crate) tokens: TokenForm,
    pub(crate) layout: Layout,
    pub(crate) kazoo_readers: bool,
    pub(crate) access: AclPolicy,
    pub(crate) complies: bool,
    pub(crate) semaphore_mutex: bool,
    pub(crate) max_waiters: usize,
    pub(crate) max_holders: usize,
}

impl ZookeeperOptions {
    /// The default of [`base`](ZookeeperOptions::base).
    pub const DEFAULT_BASE: &'static str = "/tenure";
    /// The most servers that may be named.
    pub const MOST_SERVERS: usize = 32;
    /// The default of [`session`](ZookeeperOptions::session).
    pub const DEFAULT_SESSION: Duration = Duration::from_secs(10);
    /// The default of [`tick`](ZookeeperOptions::tick), which is the default of the servers' configuration.
    pub const DEFAULT_TICK: Duration = Duration::from_secs(2);

    /// Uses the ensemble of which these are servers.
    ///
    /// # Errors
    /// A fault if there is no server, or more than 32.
    pub fn new<H: Into<String>>(
        servers: impl IntoIterator<Item = (H, u16)>,
    ) -> Result<Self, Fault> {
        let servers: Vec<_> = servers.into_iter().map(|(host, port)| (host.into(), port)).collect();
        if servers.is_empty() || servers.len() > Self::MOST_SERVERS {
            let what = format!("{} servers of the ensemble are named", servers.len());
            return Err(wrong(&what, "name 1 to 32 servers"));
        }
        Ok(Self {
            servers,
            base: Self::DEFAULT_BASE.to_owned(),
            user: None,
            password: None,
            method: LoginMethod::default(),
            tls: None,
            session: Self::DEFAULT_SESSION,
            session_is_chosen: false,
            grace: Duration::ZERO,
            tick: Self::DEFAULT_TICK,
            response_timeout: Duration::from_secs(2),
            epoch: 0,
            tokens: TokenForm::default(),
            layout: Layout::default(),
            kazoo_readers: false,
            access: AclPolicy::World,
            complies: false,
            semaphore_mutex: false,
            max_waiters: 1_000,
            max_holders: 1_000,
        })
    }

    /// Sets the path under which each lock is a node, as callers of Curator write it: `/locks` for `/locks/NAME`.
    /// Default: [`DEFAULT_BASE`](Self::DEFAULT_BASE).
    ///
    /// # Errors
    /// A fault if ZooKeeper does not accept the path.
    pub fn base(mut self, base: &str) -> Result<Self, Fault> {
        let parts = base.strip_prefix('/').map(|rest| rest.trim_end_matches('/').split('/'));
        let sound = parts.is_some_and(|mut parts| {
            parts.all(|part| !matches!(part, "" | "." | "..") && !part.contains(char::is_control))
        });
        if !sound || base == "/zookeeper" || base.starts_with("/zookeeper/") {
            let what = format!("{base:?} is not a path for locks");
            return Err(wrong(
                &what,
                "write an absolute path that is not the servers' own: /locks",
            ));
        }
        self.base = base.trim_end_matches('/').to_owned();
        Ok(self)
    }

    /// Sets the length of the session that tenure requests, 1 s to an hour. The ensemble may grant less or more, by its
    /// `minSessionTimeout` and `maxSessionTimeout`. Default: [`DEFAULT_SESSION`](Self::DEFAULT_SESSION).
    ///
    /// When a process is gone, its locks are free after this time. A process that is cut off from the ensemble may
    /// count on its locks for somewhat less than this time.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    /// A fault if it is out of range.
    pub fn session(mut self, session: Duration) -> Result<Self, Fault> {
        self.session = within("session", session, 1, 3600)?;
        self.session_is_chosen = true;
        Ok(self)
    }

    /// Sets the session's length for holds of `ttl`, unless [`session`](Self::session) was called. `ttl` is the
    /// shortest ttl of the holds to come, so a dead process's holds are free when their leases would have ended.
    ///
    /// The session is never longer than [`DEFAULT_SESSION`](Self::DEFAULT_SESSION). Within that limit, it is never
    /// shorter than 1 s, than two ticks, or than a session of which a hold can count on twice the `grace`.
    ///
    /// `grace` is the longest time that a holder keeps free at the end of its lease. Of each grant so much is left that
    /// the first renewal comes before that time, also if the session was set. A long `grace` costs a waiter one write
    /// more when it gets the lock.
    #[must_use]
    pub fn for_holds(mut self, ttl: Duration, grace: Duration) -> Self {
        self.grace = grace;
        if self.session_is_chosen {
            return self;
        }
        let shortest = Duration::from_secs(1).max(self.tick * 2);
        let for_grace = validity::session_for(grace.saturating_mul(2), self.tick);
        self.session = ttl.max(for_grace).max(shortest).min(Self::DEFAULT_SESSION);
        self
    }

    /// Sets the `tickTime` of the servers. tenure subtracts it twice from a session, as
    /// [docs/stores/zookeeper.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/zookeeper.md) says.
    /// Default: [`DEFAULT_TICK`](Self::DEFAULT_TICK).
    ///
    /// If this is less than the servers' tick, a holder that is cut off stops too late.
    ///
    /// # Errors
    /// A fault if the value is longer than a minute.
    pub fn tick(mut self, tick: Duration) -> Result<Self, Fault> {
        self.tick = within("tick", tick, 0, 60)?;
        Ok(self)
    }

    /// Sets how long to wait for an answer, 10 ms to 60 s. Default: 2 s.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn response_timeout(mut self, timeout: Duration) -> Result<Self, Fault> {
        if timeout < Duration::from_millis(10) {
            return Err(wrong("response_timeout is too short", "choose 10ms to 60s"));
        }
        self.response_timeout = within("response_timeout", timeout, 0, 60)?;
        Ok(self)
    }

    /// Sets a number that is added to the epoch of the ensemble's transactions in every token. Default: 0.
    ///
    /// An ensemble that was rebuilt from nothing counts from the start again. All clients must then set the last epoch
    /// of the old ensemble plus one. `tenure doctor` shows the epoch.
    ///
    /// # Errors
    /// A fault if the value is a million or more.
    pub fn epoch(mut self, epoch: u32) -> Result<Self, Fault> {
        if epoch >= 1_000_000 {
            return Err(wrong("the epoch is a million or more", "choose a smaller one"));
        }
        self.epoch = epoch;
        Ok(self)
    }

    /// Sets whether a token is the bare `czxid` of the holder's node, as programs compare it that use Curator, kazoo or
    /// go-zookeeper. Otherwise it is 1,024 times that, which leaves room for hand-overs inside one process. Default:
    /// `false`.
    ///
    /// All programs that use one base path must agree. Bare tokens need a base path other than the default. They are
    /// refused on one that exists already, unless its data record them.
    /// [docs/stores/zookeeper.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/zookeeper.md#tokens-beside-other-libraries)
    /// says how to record the form.
    #[must_use]
    pub const fn czxid_tokens(mut self, czxid: bool) -> Self {
        self.tokens = if czxid { TokenForm::Czxid } else { TokenForm::Shifted };
        self
    }

    /// Sets whether a holder loses its lock at once, and learns so, when Curator's `Revoker` asks it to release.
    /// Otherwise it keeps the lock until it releases it. In both cases
    /// [`Guard::release_requested`](tenure_core::Guard::release_requested) notifies it of the request. Default:
    /// `false`.
    #[must_use]
    pub const fn complies_with_revocation(mut self, complies: bool) -> Self {
        self.complies = complies;
        self
    }

    /// Sets whether to write the nodes of a lock as kazoo's `Lock`, `ReadLock`, `WriteLock` and `Election` do, instead of
    /// as Curator does. Locks of the two layouts refuse each other. Default: `false`.
    ///
    /// There are no permits then, no readers unless [`kazoo_readers`](Self::kazoo_readers) is set, and Curator and
    /// go-zookeeper are refused.
    #[must_use]
    pub const fn kazoo_layout(mut self, kazoo: bool) -> Self {
        self.layout = if kazoo { Layout::Kazoo } else { Layout::Curator };
        self
    }

    /// Sets whether read-write locks in [`kazoo_layout`](Self::kazoo_layout) have readers, as kazoo's `ReadLock` is one.
    /// Default: `false`.
    ///
    /// kazoo's `Lock` and `Election` do not wait for readers: they and a reader hold one name together. Set this only if
    /// all programs with kazoo use `WriteLock` and `ReadLock` on the names that have readers.
    #[must_use]
    pub const fn kazoo_readers(mut self, readers: bool) -> Self {
        self.kazoo_readers = readers;
        self
    }

    /// Whether a name can have readers.
    pub(crate) fn has_readers(&self) -> bool {
        self.layout == Layout::Curator || self.kazoo_readers
    }

    /// Sets whether to keep a mutex as Curator's `InterProcessSemaphoreMutex` does, instead of as its
    /// `InterProcessMutex`. The two do not exclude each other. Default: `false`.
    #[must_use]
    pub const fn semaphore_mutex(mut self, semaphore_mutex: bool) -> Self {
        self.semaphore_mutex = semaphore_mutex;
        self
    }

    /// Sets how many may wait for one name, and how many may hold it together. Default: 1,000 each.
    #[must_use]
    pub const fn bounds(mut self, max_waiters: usize, max_holders: usize) -> Self {
        self.max_waiters = max_waiters;
        self.max_holders = max_holders;
        self
    }

    /// Returns the location of the locks, without a password.
    #[must_use]
    pub fn location(&self) -> String {
        format!("zookeeper://{}{}", self.hosts(), self.base)
    }

    /// The servers as the client wants them.
    pub(crate) fn hosts(&self) -> String {
        self.servers.iter().map(place_of).collect::<Vec<_>>().join(",")
    }

    /// How the base path is made: the record that tokens are bare stays also where no lock is used for a while.
    pub(crate) fn base_path(&self) -> CreateMode {
        match self.tokens {
            TokenForm::Shifted => self.layout.directories(),
            TokenForm::Czxid => CreateMode::Persistent,
        }
    }

    /// The login, if there is one.
    pub(crate) fn login(&self) -> Option<Login> {
        let (user, password) = (self.user.clone()?, self.password.clone()?);
        Some(Login { user, password, method: self.method })
    }

    /// Refuses options that contradict each other.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.user.is_some() != self.password.is_some() {
            return Err(wrong("only one of user and password is given", "give both, or none"));
        }
        if self.tls.as_ref().is_some_and(|tls| !tls.names_roots()) {
            let help = "name the authorities to trust";
            return Err(wrong("TLS needs authorities to trust, and none are named", help));
        }
        let login = self.login();
        if matches!(self.access, AclPolicy::Creator) && login.is_none() && self.tls.is_none() {
            let help = "log in: zookeeper://user:password@host, or leave acl= out";
            return Err(wrong("acl=creator needs a login as the creator", help));
        }
        if cfg!(not(feature = "tls")) && self.tls.is_some() {
            let help = "build it with the feature zookeeper-tls";
            return Err(Fault::new(FaultKind::Unsupported, "TLS is not built in", help));
        }
        if self.tokens == TokenForm::Czxid && self.base == Self::DEFAULT_BASE {
            let help =
                "name a base path of its own in the URL: zookeeper://a,b,c/locks?tokens=czxid";
            let what =
                "tokens=czxid is for all locks of a base path, and the default one is everybody's";
            return Err(wrong(what, help));
        }
        if self.layout == Layout::Kazoo && self.semaphore_mutex {
            let help = "leave one of them out";
            return Err(wrong("layout=kazoo has no semaphores, and mutex=semaphore is one", help));
        }
        if self.kazoo_readers && self.layout == Layout::Curator {
            let help = "write layout=kazoo too, or leave readers=yes out: Curator's layout always has readers";
            return Err(wrong("readers=yes is for layout=kazoo", help));
        }
        let sasl = login.is_some_and(|login| login.method == LoginMethod::Sasl);
        if cfg!(not(feature = "sasl")) && sasl {
            let help = "build it with the feature zookeeper-sasl";
            return Err(Fault::new(FaultKind::Unsupported, "SASL is not built in", help));
        }
        Ok(())
    }
}

/// A server as in a URL.
pub(crate) fn place_of((host, port): &(String, u16)) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn within(what: &str, given: Duration, least: u64, most: u64) -> Result<Duration, Fault> {
    if given < Duration::from_secs(least) || given > Duration::from_secs(most) {
        let what = format!("{what} of {given:?} is out of range");
        return Err(wrong(&what, &format!("choose from {least}s to {most}s")));
    }
    Ok(given)
}

pub(crate) fn wrong(what: &str, help: &str) -> Fault {
    Fault::new(FaultKind::Misconfigured, what, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(url: &str, ttl: u64, grace: u64) -> Duration {
        let options = ZookeeperOptions::from_url(url).unwrap();
        let (ttl, grace) = (Duration::from_millis(ttl), Duration::from_millis(grace));
        let options = options.for_holds(ttl, grace);
        let left = validity::guaranteed_validity(options.session, options.tick);
        assert!(grace <= left / 2 || options.session >= ZookeeperOptions::DEFAULT_SESSION);
        options.session
    }

    #[test]
    fn a_session_is_as_long_as_a_lease_unless_it_was_chosen() {
        let seconds = Duration::from_secs;
        assert_eq!(session("zookeeper://a", 4_000, 0), seconds(4));
        assert_eq!(session("zookeeper://a", 30_000, 0), seconds(10));
        assert_eq!(session("zookeeper://a?session=8s", 4_000, 0), seconds(8));
        assert_eq!(session("zookeeper://a?session=10s", 4_000, 0), seconds(10));
        // The shortest session that the servers grant, by the tick.
        assert_eq!(session("zookeeper://a", 100, 0), seconds(4));
        assert_eq!(session("zookeeper://a?tick=500ms", 2_000, 0), seconds(2));
        assert_eq!(session("zookeeper://a?tick=100ms", 100, 0), seconds(1));
        // A hold can count on 2 s of 4 s, and half of that is left for a grace.
        assert_eq!(session("zookeeper://a", 4_000, 1_000), seconds(4));
        assert_eq!(session("zookeeper://a", 4_000, 2_000), Duration::from_millis(6_250));
        assert_eq!(session("zookeeper://a", 30_000, 15_000), seconds(10));
        assert_eq!(session("zookeeper://a?tick=60s", 4_000, 0), seconds(10));
    }
}
