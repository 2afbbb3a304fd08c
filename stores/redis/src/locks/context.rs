//! What every call about locks needs, whichever way they are locked.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tenure_core::{
    Fault, FaultKind, LockName, Owner,
    proto::queue::{Client, Contender, Mode, Order},
    store::Capabilities,
};

use crate::{
    client::{BatchKind, Script, ScriptCall},
    locks::{
        capabilities::capabilities,
        hints::BoundedHintSet,
        layout::{
            fields::ReplyError,
            keys::{Key, KeySpace},
            records::GrantedRecordCache,
            reply::Reply,
            wire::{self, OwnerText},
        },
        scripts::BATCHES,
        shared_names::SharedNames,
        wakeups::WakeupSubscription,
        yields::YieldedNames,
    },
    options::{Layout, RedisOptions, Replicas},
    servers::{BatchedReply, NodeRef, Topology, Transport},
};

/// What all ways to lock have in common. Clones are the same client.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) shared: Arc<Shared>,
    pub(crate) transport: Arc<Transport>,
}

/// What the store of the user's calls and that of the engine have in common.
pub(crate) struct Shared {
    pub(crate) options: Arc<RedisOptions>,
    pub(crate) capabilities: Capabilities,
    pub(crate) limits: String,
    pub(crate) watch: WakeupSubscription,
    /// Makes echoes for calls without an owner.
    calls: AtomicU64,
    /// Holds that were granted while others were there, so that releasing them takes one command.
    pub(crate) crowded_holds: BoundedHintSet<Owner>,
    /// What was granted to one alone, so that releasing it takes no script where the server can do
    /// without.
    pub(crate) records: GrantedRecordCache,
    /// Names at which others were met, so that asking for them takes one command.
    pub(crate) crowded_names: BoundedHintSet<LockName>,
    /// In Redisson's layout: names that others heard the release of.
    pub(crate) yielded: YieldedNames,
    /// In the plain layout: names that another library locks too.
    pub(crate) shared_names: SharedNames,
}

impl Context {
    pub(crate) fn new(options: RedisOptions) -> Result<Self, Fault> {
        options.check()?;
        let mut client = [0; 16];
        getrandom::fill(&mut client).map_err(|error| {
            let what = "the operating system provides no random bytes";
            Fault::new(FaultKind::Misconfigured, what, "check that /dev/urandom can be read")
                .because(error.to_string())
        })?;
        let client = Client(client);
        let options = Arc::new(options);
        let route = Arc::new(Topology::new(&options));
        let watch = WakeupSubscription::new(options.clone(), route.clone(), client);
        let shared = Shared {
            capabilities: capabilities(&options),
            limits: wire::limits(&options.limits),
            options: options.clone(),
            watch,
            calls: AtomicU64::new(0),
            crowded_holds: BoundedHintSet::new(),
            records: GrantedRecordCache::default(),
            crowded_names: BoundedHintSet::new(),
            yielded: YieldedNames::default(),
            shared_names: SharedNames::default(),
        };
        let transport = Arc::new(Transport::new(options, route, &BATCHES));
        Ok(Self { shared: Arc::new(shared), transport })
    }

    /// The same, with connections that wait for no call of this one.
    pub(crate) fn with_own_connections(&self) -> Self {
        let transport = Arc::new(self.transport.with_own_connections());
        Self { shared: self.shared.clone(), transport }
    }

    /// Since when these hold, by the server's clock: it is told by their tokens. After a failover those from
    /// before it seem older than they are.
    pub(crate) fn correct_grant_times<'a>(
        &self,
        holders: impl IntoIterator<Item = &'a mut Contender>,
    ) {
        let ahead = self.transport.route.micros_ahead();
        for holder in holders {
            holder.since = holder.since.map(|since| since.saturating_sub(ahead));
        }
    }

    /// A call with keys of a lock.
    pub(crate) fn call(&self, name: &LockName, of: &[Key]) -> ScriptCall {
        let keys = self.key_space().keys(name);
        let mut call = ScriptCall::new(keys.tag);
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

    /// How names become keys.
    pub(crate) fn key_space(&self) -> KeySpace<'_> {
        KeySpace::of(&self.shared.options)
    }

    pub(crate) fn layout(&self) -> Layout {
        self.shared.options.layout.layout
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

    /// Refuses what takes more than one record.
    pub(crate) fn can_do(&self, mode: Mode, order: Order) -> Result<(), Fault> {
        let reasons = &self.shared.capabilities.reasons;
        let reason = match (mode, order) {
            (Mode::Shared, _) => reasons.shared,
            (Mode::Permits { .. }, _) => reasons.permits,
            (Mode::Exclusive, Order::Fifo) => reasons.fifo,
            (Mode::Exclusive, Order::Barging) => None,
        };
        reason.map_or(Ok(()), |reason| Err(reason.into()))
    }

    /// Whether replicas have to have what is written.
    pub(crate) fn confirms(&self) -> bool {
        self.shared.options.replicas != Replicas::Count(0)
    }

    /// Tells all who hold something that this name was taken from somebody, if this user may.
    pub(crate) async fn tell_eviction(&self, name: &LockName) {
        let key = self.key_space().keys(name).text(Key::Lock);
        let words = ["PUBLISH", &self.shared.watch.evicted, &key];
        let _ = self.transport.send(&NodeRef::Only, &words).await;
    }

    /// Holds that others were seen at.
    pub(crate) fn crowded_holds(&self) -> &BoundedHintSet<Owner> {
        &self.shared.crowded_holds
    }

    /// Sees to it that this process hears hints: it waits or holds something. Nothing waits for it, and
    /// nothing fails by it.
    pub(crate) fn listen(&self) {
        self.shared.watch.start();
    }

    /// From now on the larger script asks for `name`.
    pub(crate) fn mark_crowded(&self, name: &LockName) {
        self.shared.crowded_names.insert(name.clone());
    }

    pub(crate) async fn run(
        &self,
        script: &Script,
        echo: &OwnerText,
        call: ScriptCall,
    ) -> Result<Reply, Fault> {
        self.transport.run(script, echo, call).await.map(Reply::from)
    }

    /// The same for a call that others may go with.
    pub(crate) async fn run_batched(
        &self,
        kind: &'static BatchKind,
        echo: &OwnerText,
        call: ScriptCall,
    ) -> Result<BatchedReply<Reply>, Fault> {
        Ok(match self.transport.run_batched(kind, echo, call).await? {
            BatchedReply::Whole(whole) => BatchedReply::Whole(Reply::from(whole)),
            BatchedReply::Part(part) => BatchedReply::Part(part),
        })
    }

    pub(crate) fn refused(&self, refused: ReplyError) -> Fault {
        refused.fault(&self.transport.place)
    }
}
