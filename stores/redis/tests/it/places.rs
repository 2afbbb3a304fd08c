//! Fresh places for the suite: a server for each case, reached in good and in bad ways.

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use async_trait::async_trait;
use tenure_core::Store;
use tenure_redis::{Address, Layout, RedisOptions, RedisStore};
use tenure_servers::{RedisCluster, RedisServer, SentinelService, redis::Reply};
use tenure_testkit::{
    conformance::Adapter,
    fault::{Proxy, Weather},
};

/// The line of `docs/stores/redis.md`, word for word.
pub(crate) const ACL: &str = include_str!("../../../../docs/stores/redis.acl");

/// That for a user who may not run scripts.
pub(crate) const WITHOUT_SCRIPTS_ACL: &str =
    include_str!("../../../../docs/stores/redis-without-scripts.acl");

/// That of `docs/together.md`.
pub(crate) const PLAIN_ACL: &str = include_str!("../../../../docs/stores/redis-plain.acl");

/// What a user of a cluster needs for it beside the rights for tenure's own keys.
pub(crate) const PLAIN_CLUSTER_ACL: &str =
    include_str!("../../../../docs/stores/redis-plain-cluster.acl");

/// The other one of `docs/together.md`.
pub(crate) const REDISSON_ACL: &str = include_str!("../../../../docs/stores/redis-redisson.acl");

/// What a user of a cluster needs for it beside the rights for tenure's own keys.
pub(crate) const REDISSON_CLUSTER_ACL: &str =
    include_str!("../../../../docs/stores/redis-redisson-cluster.acl");

/// That of `docs/stores/redis-cluster.md`.
pub(crate) const CLUSTER_ACL: &str = include_str!("../../../../docs/stores/redis-cluster.acl");

/// A server, and how its clients reach it.
#[derive(Debug)]
pub(crate) struct Place {
    #[allow(dead_code, reason = "it works until it is dropped")]
    nuisance: Option<Nuisance>,
    #[allow(dead_code, reason = "it works until it is dropped")]
    proxy: Option<Proxy>,
    #[allow(dead_code, reason = "it works until it is dropped")]
    replica: Option<RedisServer>,
    server: Arc<RedisServer>,
    options: RedisOptions,
    /// Whether no connection breaks.
    steady: bool,
    /// Whether tokens are lost with the data.
    counts_tokens: bool,
}

impl Place {
    /// Over TCP, as the user that may do everything.
    pub(crate) fn plain() -> Self {
        let server = Arc::new(RedisServer::start());
        let options = over(server.address());
        Self {
            nuisance: None,
            proxy: None,
            replica: None,
            server,
            options,
            steady: true,
            counts_tokens: false,
        }
    }

    /// As the user of the documentation, who may do no more than a lock needs.
    pub(crate) fn least_privilege() -> Self {
        Self::as_user(ACL)
    }

    /// The same for a user who may not run scripts.
    pub(crate) fn without_scripts() -> Self {
        let place = Self::as_user(WITHOUT_SCRIPTS_ACL);
        Self { options: place.options.clone().scripts(false), ..place }
    }

    /// In the keys of other libraries, as the user of the documentation for that.
    pub(crate) fn plain_layout() -> Self {
        let place = Self::as_user(PLAIN_ACL);
        let options = place.options.clone().layout(Layout::Plain).key_prefix("app:").unwrap();
        Self { options, ..place }
    }

    /// The same in the keys of Redisson.
    pub(crate) fn redisson_layout() -> Self {
        let place = Self::as_user(REDISSON_ACL);
        let options = place.options.clone().layout(Layout::Redisson).key_prefix("app:").unwrap();
        let options = options.lock_watchdog_timeout(Duration::from_secs(3_600)).unwrap();
        Self { options, ..place }
    }

    /// The same with tokens of the fenced lock.
    pub(crate) fn fenced_redisson_layout() -> Self {
        let place = Self::redisson_layout();
        let options = place.options.clone().fenced_lock_tokens(true);
        Self { options, counts_tokens: true, ..place }
    }

    fn as_user(acl: &str) -> Self {
        let place = Self::plain();
        let words: Vec<_> = acl.split_whitespace().collect();
        let reply = place.server.command(&words);
        assert_eq!(reply, Reply::Text("OK".to_owned()));
        let options = place.options.clone().user("tenure").password("choose-a-password");
        Self { options, ..place }
    }

    /// Through a network that delays, and cuts in the middle of requests and replies.
    pub(crate) fn bad_network(seed: u64) -> Self {
        let place = Self::plain();
        let proxy = Proxy::start(place.server.address(), seed).unwrap();
        proxy.set(Weather {
            delay: Duration::from_millis(2),
            cut_after_requests: 100_000,
            cut_after_replies: 40_000,
            ..Weather::default()
        });
        let options = over(proxy.address()).response_timeout(Duration::from_millis(500)).unwrap();
        Self { proxy: Some(proxy), options, steady: false, ..place }
    }

    /// On a server whose replica has to have what counts.
    pub(crate) fn replicated() -> Self {
        let (server, replica) = crate::replicas::followed();
        let options = over(server.address()).replicas(1);
        let (nuisance, proxy, server) = (None, None, Arc::new(server));
        Self {
            nuisance,
            proxy,
            replica: Some(replica),
            server,
            options,
            steady: true,
            counts_tokens: false,
        }
    }

    /// With somebody who sends these commands again and again.
    pub(crate) fn with_nuisance(commands: &'static [&'static [&'static str]]) -> Self {
        let place = Self::plain();
        let nuisance = Nuisance::start(place.server.clone(), commands);
        Self { nuisance: Some(nuisance), ..place }
    }

    /// With somebody who ends all connections again and again.
    pub(crate) fn killing_clients() -> Self {
        const KILL: &[&[&str]] =
            &[&["CLIENT", "KILL", "TYPE", "normal"], &["CLIENT", "KILL", "TYPE", "pubsub"]];
        Self { steady: false, ..Self::with_nuisance(KILL) }
    }
}

/// Several servers, each place under a prefix of its own.
#[derive(Debug)]
pub(crate) struct Served<S> {
    service: Arc<S>,
    prefix: String,
    options: RedisOptions,
    /// Whether it takes no name with braces that are no hash tag.
    wants_hash_tags: bool,
}

/// What places share that are used at the same time, as it takes a while to start, and how many did.
type Shared<S> = Mutex<(Weak<S>, u32)>;

impl Served<SentinelService> {
    pub(crate) fn by_sentinels() -> Self {
        static SHARED: Shared<SentinelService> = Mutex::new((Weak::new(), 0));
        Self::sharing(&SHARED, SentinelService::start, SentinelService::url)
    }
}

impl Served<RedisCluster> {
    pub(crate) fn by_cluster() -> Self {
        static SHARED: Shared<RedisCluster> = Mutex::new((Weak::new(), 0));
        let mut place = Self::sharing(&SHARED, RedisCluster::start, RedisCluster::url);
        // As the user of the documentation, whose prefix is another one.
        let acl = CLUSTER_ACL.replace("tenure:*", &format!("{}*", place.prefix));
        let words: Vec<_> = acl.split_whitespace().collect();
        let user = format!("user-{}", place.prefix);
        for server in place.service.running() {
            let told = server.command(&[&words[..2], &[&user], &words[3..]].concat());
            assert_eq!(told, Reply::Text("OK".to_owned()));
        }
        place.options = place.options.user(&user).password("choose-a-password");
        place
    }

    /// The same in the keys of other libraries.
    pub(crate) fn plain_by_cluster() -> Self {
        Self::by_cluster().in_layout(Layout::Plain, PLAIN_CLUSTER_ACL)
    }

    /// The same in the keys of Redisson.
    pub(crate) fn redisson_by_cluster() -> Self {
        let place = Self::by_cluster().in_layout(Layout::Redisson, REDISSON_CLUSTER_ACL);
        let options = place.options.clone();
        let options = options.lock_watchdog_timeout(Duration::from_secs(3_600)).unwrap();
        Self { options, wants_hash_tags: true, ..place }
    }

    /// With the rights that the page adds.
    fn in_layout(self, layout: Layout, acl: &str) -> Self {
        let keys = format!("app-{}", self.prefix);
        let user = format!("user-{}", self.prefix);
        let acl = acl.replace("app:", &keys);
        for server in self.service.running() {
            let words = acl.split_whitespace().skip(3).collect::<Vec<_>>();
            let told = server.command(&[&["ACL", "SETUSER", &user], words.as_slice()].concat());
            assert_eq!(told, Reply::Text("OK".to_owned()));
        }
        let options = self.options.clone().layout(layout).key_prefix(&keys).unwrap();
        Self { options, ..self }
    }
}

impl<S> Served<S> {
    fn sharing(shared: &Shared<S>, start: fn() -> S, url: fn(&S) -> String) -> Self {
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let service = shared.0.upgrade().unwrap_or_else(|| {
            let service = Arc::new(start());
            shared.0 = Arc::downgrade(&service);
            service
        });
        shared.1 += 1;
        let prefix = format!("place-{}:", shared.1);
        let options = bounded(RedisOptions::from_url(&url(&service)).unwrap());
        let options = options.prefix(&prefix).unwrap();
        Self { service, prefix, options, wants_hash_tags: false }
    }

    fn forget_at(&self, server: &RedisServer) {
        for key in server.keys().iter().filter(|key| key.contains(&self.prefix)) {
            server.command(&["DEL", key]);
        }
    }
}

#[async_trait]
impl Adapter for Served<SentinelService> {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(RedisStore::new(self.options.clone()).unwrap())
    }

    async fn lose_data(&self) -> bool {
        let Some(primary) = self.service.primary() else { return false };
        self.forget_at(&self.service.servers[primary]);
        true
    }

    fn loss_shows(&self) -> bool {
        false
    }
}

#[async_trait]
impl Adapter for Served<RedisCluster> {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(RedisStore::new(self.options.clone()).unwrap())
    }

    async fn lose_data(&self) -> bool {
        for server in self.service.running() {
            let told = server.command(&["INFO", "replication"]);
            if matches!(told, Reply::Text(told) if told.contains("role:master")) {
                self.forget_at(server);
            }
        }
        true
    }

    fn refuses_name(&self, name: &str) -> bool {
        self.wants_hash_tags && ["{}", "a{b"].contains(&name)
    }

    fn loss_shows(&self) -> bool {
        false
    }
}

fn over(address: std::net::SocketAddr) -> RedisOptions {
    let address = Address::Tcp { host: address.ip().to_string(), port: address.port() };
    bounded(RedisOptions::new(address))
}

fn bounded(options: RedisOptions) -> RedisOptions {
    let options = options.claim_window(Duration::from_millis(400)).unwrap();
    let options = options.position_ttl(Duration::from_millis(2_500)).unwrap();
    options.max_waiters(100).unwrap().max_holders(100).unwrap()
}

#[async_trait]
impl Adapter for Place {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(RedisStore::new(self.options.clone()).unwrap())
    }

    async fn lose_data(&self) -> bool {
        if !self.counts_tokens {
            self.server.command(&["FLUSHALL"]);
        }
        !self.counts_tokens
    }

    fn loss_shows(&self) -> bool {
        false
    }

    fn reaches_waiters(&self) -> bool {
        self.steady
    }
}

/// Sends commands until it is dropped.
#[derive(Debug)]
struct Nuisance {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Nuisance {
    fn start(server: Arc<RedisServer>, commands: &'static [&'static [&'static str]]) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let ends = over.clone();
        let thread = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                for command in commands {
                    server.command(command);
                }
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Nuisance {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
