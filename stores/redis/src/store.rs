//! The contract on Redis.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tenure_core::{
    Evictions, Fault, FaultKind, HoldId, Incarnation, LockName, Owner, Store, Token, Wakeups,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Client, Contender, Raised, Released, Snapshot, TakeOver, TakenOver,
            Together,
        },
        time::ceil_millis,
    },
    store::{Capabilities, Diagnostic, Listing, Renewal},
};

use crate::{
    client::{connection::batch::Many, error, protocol::call::Call},
    locks::{
        capabilities::capabilities,
        fields::Refused,
        health::{self, Patient},
        hints::Few,
        keys::{self, Key, Keys},
        listing,
        records::Records,
        reply::{Reply, part_released},
        scripts::{self, Script},
        wakeups::Watch,
        wire::{self, OwnerText},
    },
    options::{RedisOptions, Replicas},
    servers::{
        incarnation,
        route::{Route, Seat},
        transport::{Answered, Transport},
    },
};

/// Locks on one Redis or Valkey server. Clones are the same client.
///
/// Exclusion ([S1](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s1-exclusion)) holds as long as the server keeps its data and its clock runs evenly; what that
/// asks of its configuration stands in [docs/stores/redis.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis.md), and [`Store::health`] looks at it.
/// Tokens rise ([S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)) even when the data is lost, unless the clock is then behind.
#[derive(Clone)]
pub struct RedisStore {
    pub(crate) shared: Arc<Shared>,
    pub(crate) transport: Arc<Transport>,
}

/// What the store of the user's calls and that of the engine have in common.
pub(crate) struct Shared {
    pub(crate) options: Arc<RedisOptions>,
    pub(crate) capabilities: Capabilities,
    pub(crate) limits: String,
    pub(crate) watch: Watch,
    /// Makes echoes for calls without an owner.
    calls: AtomicU64,
    /// Holds that were granted while others were there, so that releasing them takes one command.
    pub(crate) crowded_holds: Few<Owner>,
    /// What was granted to one alone, so that releasing it takes no script where the server can do
    /// without.
    pub(crate) records: Records,
    /// Names at which others were met, so that asking for them takes one command.
    pub(crate) crowded_names: Few<LockName>,
}

impl RedisStore {
    /// Connects to the server at `url`: [`RedisOptions::from_url`] says how it is written.
    ///
    /// # Errors
    /// A fault if the URL is wrong, the server cannot be reached, or it refuses this user. Where sentinels
    /// name the server, it is enough that as many as a majority of them answer: a fail-over may be under way.
    ///
    /// # Cancel safety
    /// Cancel-safe: a connection that is not wanted any more is closed.
    pub async fn open(url: &str) -> Result<Self, Fault> {
        Self::open_with(RedisOptions::from_url(url)?).await
    }

    /// Connects to the server by these options.
    ///
    /// # Errors
    /// As [`RedisStore::open`].
    ///
    /// # Cancel safety
    /// Cancel-safe: a connection that is not wanted any more is closed.
    pub async fn open_with(options: RedisOptions) -> Result<Self, Fault> {
        Self::boxed(options).await
    }

    /// Compiled here, and not by each crate that awaits it, as the body of an `async fn` is.
    fn boxed(options: RedisOptions) -> BoxFuture<'static, Result<Self, Fault>> {
        Box::pin(Self::opening(options))
    }

    async fn opening(options: RedisOptions) -> Result<Self, Fault> {
        let store = Self::new(options)?;
        match store.transport.open().await {
            // Calls wait for the fail-over as long as they may.
            Err(fault) if fault.is_transient() && store.transport.route.is_there() => Ok(store),
            opened => opened.map(|()| store),
        }
    }

    /// The same without a first look: the server is connected to by the first call.
    ///
    /// # Errors
    /// A fault if the options contradict each other, or the operating system gives no randomness.
    pub fn new(options: RedisOptions) -> Result<Self, Fault> {
        options.check()?;
        let mut client = [0; 16];
        getrandom::fill(&mut client).map_err(|error| {
            let what = "the operating system gives no random bytes";
            Fault::new(FaultKind::Misconfigured, what, "see that /dev/urandom can be read")
                .because(error.to_string())
        })?;
        let client = Client(client);
        let options = Arc::new(options);
        let route = Arc::new(Route::new(&options));
        let watch = Watch::new(options.clone(), route.clone(), client);
        let shared = Shared {
            capabilities: capabilities(&options),
            limits: wire::limits(&options.limits),
            options: options.clone(),
            watch,
            calls: AtomicU64::new(0),
            crowded_holds: Few::new(),
            records: Records::default(),
            crowded_names: Few::new(),
        };
        let transport = Arc::new(Transport::new(options, route));
        Ok(Self { shared: Arc::new(shared), transport })
    }

    /// Who holds a name and who waits for it.
    async fn look(&self, name: &LockName) -> Result<Snapshot, Fault> {
        if let Some(optimistic) = self.optimistic() {
            return optimistic.inspect(name).await;
        }
        let mut seen =
            self.inspected(name).await?.seen().map_err(|refused| self.refused(refused))?;
        self.by_the_clock(&mut seen.holders);
        Ok(seen)
    }

    async fn inspected(&self, name: &LockName) -> Result<Reply, Fault> {
        let mut call = self.call(name, &[Key::Lock, Key::Line, Key::Ends]);
        let echo = self.echo();
        call.argument(&[&echo]);
        self.run(&scripts::INSPECT, &echo, call).await
    }

    /// Takes a name from all who hold it, or from this owner alone.
    async fn evict_owner(
        &self,
        name: &LockName,
        only: Option<Owner>,
    ) -> Result<Vec<Contender>, Fault> {
        let only = only.as_ref().map(wire::owner);
        let echo = self.echo();
        let mut call = self.call(name, &keys::ALL);
        call.argument(&[&echo]).argument(&[self.shared.limits.as_bytes()]);
        call.argument(&[self.shared.watch.evicted.as_bytes()]);
        call.argument(&[only.as_ref().map_or(&[], OwnerText::as_slice)]);
        let reply = self.run(&scripts::EVICT, &echo, call).await?;
        let mut evicted = reply.evicted().map_err(|refused| self.refused(refused))?;
        self.by_the_clock(&mut evicted);
        Ok(evicted)
    }

    /// Since when these hold, by the server's clock: it is told by their tokens. After a fail-over those from
    /// before it seem older than they are.
    pub(crate) fn by_the_clock<'a>(&self, holders: impl IntoIterator<Item = &'a mut Contender>) {
        let ahead = self.transport.route.ahead();
        for holder in holders {
            holder.since = holder.since.map(|since| since.saturating_sub(ahead));
        }
    }

    /// A call with keys of a lock.
    pub(crate) fn call(&self, name: &LockName, of: &[Key]) -> Call {
        let keys = Keys::new(&self.shared.options.prefix, name);
        let mut call = Call::new(keys.tag);
        for key in of {
            call.key(&keys.parts(*key));
        }
        call
    }

    /// Something for a reply to begin with that no other call of this client has.
    pub(crate) fn echo(&self) -> OwnerText {
        let number = self.shared.calls.fetch_add(1, Ordering::Relaxed);
        let mut bytes = *b"call\0\0\0\0\0\0\0\0\0\0\0\0";
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        wire::owner(&Owner::from_bytes(bytes))
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.shared.options.prefix
    }

    pub(crate) fn place(&self) -> &str {
        &self.transport.place
    }

    /// Whether names are in slots, of which a script can have one.
    pub(crate) fn in_cluster(&self) -> bool {
        self.transport.route.cluster().is_some()
    }

    pub(crate) fn limits(&self) -> &str {
        &self.shared.limits
    }

    /// Whether replicas have to have what is written.
    pub(crate) fn confirms(&self) -> bool {
        self.shared.options.replicas != Replicas::Count(0)
    }

    /// Tells all who hold something that this name was taken from somebody, if this user may.
    pub(crate) async fn tell_eviction(&self, name: &LockName) {
        let key = Keys::new(self.prefix(), name).text(Key::Lock);
        let words = ["PUBLISH", &self.shared.watch.evicted, &key];
        let _ = self.transport.send(&Seat::Only, &words).await;
    }

    /// Holds that others were seen at.
    pub(crate) fn crowded_holds(&self) -> &Few<Owner> {
        &self.shared.crowded_holds
    }

    /// Sees to it that this process hears hints: it waits or holds something. Nothing waits for it, and
    /// nothing fails by it.
    pub(crate) fn listen(&self) {
        self.shared.watch.start();
    }

    /// From now on the larger script asks for `name`.
    pub(crate) fn met_others_at(&self, name: &LockName) {
        self.shared.crowded_names.insert(name.clone());
    }

    pub(crate) async fn run(
        &self,
        script: &Script,
        echo: &OwnerText,
        call: Call,
    ) -> Result<Reply, Fault> {
        self.transport.run(script, echo, call).await
    }

    pub(crate) fn refused(&self, refused: Refused) -> Fault {
        refused.fault(&self.transport.place)
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
        self.transport.place.clone()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        let transport = Arc::new(self.transport.beside());
        Arc::new(Self { shared: self.shared.clone(), transport })
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.shared.watch.board.listen(name, owner)
    }

    fn evictions(&self) -> Evictions {
        self.shared.watch.board.evictions()
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        match self.optimistic() {
            Some(optimistic) => optimistic.acquire(name, ask).await,
            None => self.ask(name, ask, None).await,
        }
    }

    async fn acquire_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        if self.optimistic().is_some() {
            let what = "without scripts several names are not acquired in one step";
            return Err(Fault::new(FaultKind::Unsupported, what, "ask for them one by one"));
        }
        self.ask_together(asks).await
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        match self.optimistic() {
            Some(optimistic) => optimistic.renew(holds).await,
            None => self.renew_all(holds).await,
        }
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        if let Some(optimistic) = self.optimistic() {
            return optimistic.release(name, owner, keep).await;
        }
        let text = wire::owner(owner);
        let released = |reply: Reply| reply.released().map_err(|refused| self.refused(refused));
        let record = self.shared.records.take(owner);
        if keep.is_zero() && !self.shared.crowded_holds.remove(owner) {
            if let Some(record) = record
                && let keys = Keys::new(self.prefix(), name)
                && self.transport.delete_if(&keys, &[&record.head(&text), record.label()]).await?
            {
                return Ok(Released::Released);
            }
            let mut call = self.call(name, &[Key::Lock]);
            call.argument(&[&text]);
            match self.transport.run_gathered(Many::Release, &text, call).await? {
                Answered::Whole(reply) if reply.is_crowd() => {}
                Answered::Whole(reply) => return released(reply),
                Answered::Part(part) => {
                    if let Some(released) = part_released(part).map_err(|no| self.refused(no))? {
                        return Ok(released);
                    }
                }
            }
        }
        let mut call = self.call(name, &keys::ALL);
        call.argument(&[&text]).number(ceil_millis(keep));
        call.argument(&[self.shared.limits.as_bytes()]);
        released(self.run(&scripts::RELEASE, &text, call).await?)
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        match self.optimistic() {
            Some(optimistic) => optimistic.turn(name, owner, ask).await,
            None => self.ask(name, ask, Some(&wire::owner(owner))).await,
        }
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        if let Some(optimistic) = self.optimistic() {
            return optimistic.take_over(name, over).await;
        }
        let owner = wire::owner(&over.owner);
        let mut call = self.call(name, &keys::ALL);
        call.begin(&owner, &over.as_ask());
        call.argument(&[wire::mode(over.mode).as_bytes()]);
        call.argument(&[self.shared.limits.as_bytes()]).argument(&[&wire::owner(&over.from)]);
        // Nothing here belongs to a process, so nothing has to be detached from one.
        let reply = self.run(&scripts::TAKE_OVER, &owner, call).await?;
        let alone = reply.is_alone();
        let taken = reply.taken_over(over.ttl).map_err(|refused| self.refused(refused))?;
        if matches!(taken, TakenOver::Granted(_)) {
            let crowded_holds = &self.shared.crowded_holds;
            crowded_holds.remove(&over.from);
            if !alone {
                crowded_holds.insert(over.owner);
            }
            self.listen();
        }
        Ok(taken)
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        if token.time() >= wire::LAST_TIME {
            return Err(error::last_token(&self.transport.place));
        }
        if let Some(optimistic) = self.optimistic() {
            return optimistic.raise(name, owner, token).await;
        }
        let text = wire::owner(owner);
        let mut call = self.call(name, &keys::ALL);
        call.argument(&[&text]).number(token.get()).number(token.time());
        call.argument(&[self.shared.limits.as_bytes()]);
        let reply = self.run(&scripts::RAISE, &text, call).await?;
        reply.raised().map_err(|refused| self.refused(refused))
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        self.look(name).await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        let look = |name: LockName| async move {
            let seen = self.look(&name).await;
            (name, seen)
        };
        listing::list(&self.transport, prefix, limit, look).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        if let Some(optimistic) = self.optimistic() {
            return optimistic.evict(name).await;
        }
        self.evict_owner(name, None).await
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        if let Some(optimistic) = self.optimistic() {
            return optimistic.evict_hold(name, hold).await;
        }
        let owner = self.inspected(name).await?.owner_of(hold);
        match owner.map_err(|refused| self.refused(refused))? {
            Some(owner) => Ok(self.evict_owner(name, Some(owner)).await?.pop()),
            None => Ok(None),
        }
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        incarnation::ask(&self.transport).await
    }

    async fn server(&self) -> Result<Option<String>, Fault> {
        incarnation::server(&self.transport).await
    }

    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        let (transport, watch) = (&*self.transport, &self.shared.watch);
        health::look(Patient { store: self, transport, watch }).await
    }

    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        None
    }
}
