//! The contract on Redis.

use std::{
    collections::HashSet,
    fmt,
    hash::Hash,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tenure_core::{
    Fault, FaultKind, LockName, Owner, Store, Token, Wakeups,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Client, Contender, Intent, Limits, Mode, QueueError, Raised, Released,
            Snapshot,
        },
    },
    store::{Capabilities, Finding, LeaseScope, Listing, Renewal},
};

use crate::{
    RedisOptions, health,
    keys::{self, Keys},
    listing,
    script::{self, Script},
    transport::Transport,
    watch::Watch,
    wire::{self, Reply},
};

/// Locks on one Redis or Valkey server. Clones are the same client.
///
/// Exclusion (S1) holds as long as the server keeps its data and its clock runs evenly; what that
/// asks of its configuration stands in `docs/stores/redis.md`, and [`Store::health`] looks at it.
/// Tokens rise (S2) even when the data is lost, unless the clock is then behind.
#[derive(Clone)]
pub struct RedisStore {
    shared: Arc<Shared>,
    transport: Arc<Transport>,
}

/// What the store of the user's calls and that of the engine have in common.
struct Shared {
    options: Arc<RedisOptions>,
    capabilities: Capabilities,
    limits: String,
    watch: Watch,
    /// Makes echoes for calls without an owner.
    calls: AtomicU64,
    /// Holds that were granted while others were there, so that releasing them takes one command.
    crowded_holds: Few<Owner>,
    /// Names at which others were met, so that asking for them takes one command.
    crowded_names: Few<LockName>,
}

/// Hints about what was seen last: one that is missing, or wrong, costs another command.
struct Few<T>(Mutex<HashSet<T>>);

impl<T: Eq + Hash> Few<T> {
    /// More are not worth their memory.
    const MOST: usize = 4_096;

    fn new() -> Self {
        Self(Mutex::new(HashSet::new()))
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, one: T) {
        let mut all = self.lock();
        // Those that nobody asked about again stay behind.
        if all.len() >= Self::MOST {
            all.clear();
        }
        all.insert(one);
    }
}

impl RedisStore {
    /// Connects to the server at `url`: [`RedisOptions::from_url`] says how it is written.
    ///
    /// # Errors
    /// A fault if the URL is wrong, the server cannot be reached, or it refuses this user.
    ///
    /// # Cancel safety
    /// Cancel-safe: a connection that is not wanted any more is closed.
    pub async fn open(url: &str) -> Result<Self, Fault> {
        let store = Self::new(RedisOptions::from_url(url)?)?;
        store.transport.open().await?;
        Ok(store)
    }

    /// The same without a first look: the server is connected to by the first call.
    ///
    /// # Errors
    /// A fault if the operating system gives no randomness.
    pub fn new(options: RedisOptions) -> Result<Self, Fault> {
        let mut client = [0; 16];
        getrandom::fill(&mut client).map_err(|error| {
            let what = "the operating system gives no random bytes";
            Fault::new(FaultKind::Misconfigured, what, "see that /dev/urandom can be read")
                .because(error.to_string())
        })?;
        let client = Client(client);
        let options = Arc::new(options);
        let watch = Watch::new(options.clone(), keys::channel(&options.prefix, client.0));
        let shared = Shared {
            capabilities: capabilities(&options.limits),
            limits: wire::limits(&options.limits),
            options: options.clone(),
            watch,
            calls: AtomicU64::new(0),
            crowded_holds: Few::new(),
            crowded_names: Few::new(),
        };
        let transport = Arc::new(Transport::new(options));
        Ok(Self { shared: Arc::new(shared), transport })
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    /// The channel on which this process hears its hints.
    pub(crate) fn channel(&self) -> &str {
        &self.shared.watch.channel
    }

    /// Who holds a name and who waits for it.
    pub(crate) async fn look(&self, name: &LockName) -> Result<Snapshot, Fault> {
        let keys = self.keys(name);
        let keys = [keys.lock.as_str(), &keys.keeps, &keys.ends];
        let reply = self.call(&script::INSPECT, &keys, &[]).await?;
        reply.seen().map_err(|refused| refused.fault(&self.transport.place))
    }

    fn keys(&self, name: &LockName) -> Keys {
        Keys::new(&self.shared.options.prefix, name)
    }

    /// Something for a reply to begin with that no other call of this client has.
    fn echo(&self) -> String {
        format!("call{:028x}", self.shared.calls.fetch_add(1, Ordering::Relaxed))
    }

    /// Runs a script that no owner stands for.
    async fn call(
        &self,
        script: &Script,
        keys: &[&str],
        arguments: &[&[u8]],
    ) -> Result<Reply, Fault> {
        let echo = self.echo();
        let arguments = [&[echo.as_bytes()], arguments].concat();
        self.run(script, &echo, keys, &arguments).await
    }

    async fn run(
        &self,
        script: &Script,
        echo: &str,
        keys: &[&str],
        arguments: &[&[u8]],
    ) -> Result<Reply, Fault> {
        self.transport.run(script, echo, keys, arguments).await
    }

    async fn ask(&self, name: &LockName, ask: &Ask, old: Option<&str>) -> Result<Answer, Fault> {
        if let Mode::Permits { take, of } = ask.mode
            && (take == 0 || take > of)
        {
            return Err(QueueError::Permits { take, of }.into());
        }
        let keys = self.keys(name);
        let keys = [keys.lock.as_str(), &keys.clock, &keys.queue, &keys.keeps, &keys.ends];
        let (ttl, mode) = (wire::millis(ask.ttl), wire::mode(ask.mode));
        let place = wire::place(ask.intent);
        let waits = matches!(ask.intent, Intent::Wait { .. });
        let owner = ask.owner.to_hex();
        let (begin, end) = (wire::record_begin(&owner, ask.mode), wire::record_end(&ask.label));
        let arguments = [
            begin.as_bytes(),
            ttl.as_bytes(),
            end.as_bytes(),
            wire::manner(ask).as_bytes(),
            mode.as_bytes(),
            place.as_bytes(),
            // Nobody is told who does not wait.
            if waits { self.shared.watch.channel.as_bytes() } else { b"" },
            self.shared.limits.as_bytes(),
            old.unwrap_or_default().as_bytes(),
        ];
        let answered = |reply: Reply| {
            reply.answer(ask.ttl).map_err(|refused| refused.fault(&self.transport.place))
        };
        let first = old.is_none() && place.is_empty();
        let permits = matches!(ask.mode, Mode::Permits { .. });
        let crowded_names = &self.shared.crowded_names;
        if first && !permits && !crowded_names.lock().contains(name) {
            let (keys, few) = (&keys[..2], &arguments[..4]);
            let reply = self.run(&script::ACQUIRE_ALONE, &owner, keys, few).await?;
            if !reply.is_crowd() {
                return answered(reply);
            }
            crowded_names.insert(name.clone());
        }
        let arguments = if old.is_some() { &arguments[..] } else { &arguments[..8] };
        let script = if old.is_some() || permits { &script::ASK } else { &script::ACQUIRE };
        let reply = self.run(script, &owner, &keys, arguments).await?;
        let alone = reply.is_alone();
        let answer = answered(reply)?;
        if let Answer::Granted { others_waiting, .. } = answer {
            if !alone {
                self.shared.crowded_holds.insert(ask.owner);
            }
            if first && !others_waiting {
                crowded_names.lock().remove(name);
            }
        }
        if matches!(answer, Answer::Busy { place: Some(_), .. }) {
            self.shared.watch.start();
        }
        Ok(answer)
    }

    async fn renew_one(&self, hold: &Renewal) -> Renewed {
        let keys = self.keys(&hold.name);
        let keys = [keys.lock.as_str(), &keys.queue, &keys.keeps, &keys.ends];
        let ttl = wire::millis(hold.ttl);
        let owner = hold.owner.to_hex();
        let arguments = [owner.as_bytes(), ttl.as_bytes(), self.shared.limits.as_bytes()];
        match self.run(&script::RENEW, &owner, &keys, &arguments).await {
            Ok(reply) => reply.renewed().unwrap_or(Renewed::Unknown),
            Err(fault) => {
                tracing::debug!(store = "redis", lock = %hold.name, %fault, "not renewed");
                Renewed::Unknown
            }
        }
    }
}

fn capabilities(limits: &Limits) -> Capabilities {
    Capabilities {
        shared: true,
        permits: true,
        fifo: true,
        handoff: true,
        pass_bits: true,
        lease: LeaseScope::Hold,
        lingers: true,
        late_calls: true,
        notices_death: false,
        raise: true,
        place_ttl: limits.place_ttl,
        claim_window: limits.claim_window,
        max_waiters: limits.max_waiters,
        max_holders: limits.max_holders,
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("location", &self.transport.place).finish()
    }
}

#[async_trait]
impl Store for RedisStore {
    fn kind(&self) -> &'static str {
        "redis"
    }

    fn location(&self) -> String {
        // What stands behind the kind, so that both together read as a URL does.
        let place = &self.transport.place;
        let rest = place.split_once(':').map_or(place.as_str(), |(_, rest)| rest);
        if place.starts_with("rediss:") { format!("{rest} (TLS)") } else { rest.to_owned() }
    }

    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        let transport = Arc::new(Transport::new(self.shared.options.clone()));
        Arc::new(Self { shared: self.shared.clone(), transport })
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.shared.watch.board.listen(name, owner)
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        self.ask(name, ask, None).await
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Renewed> {
        // The connection makes one write of them all, and each has an answer of its own.
        futures_util::future::join_all(holds.iter().map(|hold| self.renew_one(hold))).await
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        let keys = self.keys(name);
        let keys = [keys.lock.as_str(), &keys.queue, &keys.keeps, &keys.ends];
        let (hex, millis) = (owner.to_hex(), wire::millis(keep));
        let arguments = [hex.as_bytes(), millis.as_bytes(), self.shared.limits.as_bytes()];
        let released =
            |reply: Reply| reply.released().map_err(|refused| refused.fault(&self.transport.place));
        if keep.is_zero() && !self.shared.crowded_holds.lock().remove(owner) {
            let (keys, few) = (&keys[..1], &arguments[..1]);
            let reply = self.run(&script::RELEASE_ALONE, &hex, keys, few).await?;
            if !reply.is_crowd() {
                return released(reply);
            }
        }
        released(self.run(&script::RELEASE, &hex, &keys, &arguments).await?)
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.ask(name, ask, Some(&owner.to_hex())).await
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        let keys = self.keys(name);
        let keys = [keys.lock.as_str(), &keys.clock, &keys.queue, &keys.keeps, &keys.ends];
        let (raw, time) = (token.to_string(), token.time().to_string());
        let (owner, limits) = (owner.to_hex(), self.shared.limits.as_bytes());
        let arguments = [owner.as_bytes(), raw.as_bytes(), time.as_bytes(), limits];
        let reply = self.run(&script::RAISE, &owner, &keys, &arguments).await?;
        reply.raised().map_err(|refused| refused.fault(&self.transport.place))
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        self.look(name).await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        listing::list(self, prefix, limit).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        let keys = self.keys(name);
        let keys = [keys.lock.as_str(), &keys.queue, &keys.keeps, &keys.ends];
        let limits = self.shared.limits.as_bytes();
        let reply = self.call(&script::EVICT, &keys, &[limits]).await?;
        reply.evicted().map_err(|refused| refused.fault(&self.transport.place))
    }

    async fn health(&self) -> Result<Vec<Finding>, Fault> {
        health::look(self).await
    }

    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        None
    }
}
