//! A store behind a network that loses, repeats and delays, from a seed.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tenure_core::{
    Clock, Fault, FaultKind, HintBoard, LockName, Store, Wakeups,
    proto::{
        Owner, Renewed, Timestamp, Token,
        queue::{Answer, Ask, Contender, Raised, Released, Snapshot},
    },
    store::{Capabilities, Finding, Listing, Renewal},
};
use tokio::sync::oneshot;

use super::{Faults, Kind, Tally};
use crate::Random;

type Carried<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A store of which some requests and answers are lost, some come late and some calls are carried
/// out twice. Clones share one connection, one seed and one count of faults.
///
/// Calls go on when their callers give them up, on the runtime that they were made in.
#[derive(Clone)]
pub struct Unreliable {
    inner: Arc<dyn Store>,
    capabilities: Arc<Capabilities>,
    network: Arc<Network>,
}

struct Network {
    clock: Arc<dyn Clock>,
    faults: Mutex<Faults>,
    random: Mutex<Random>,
    tally: Arc<Tally>,
    silent: HintBoard,
    under_way: Arc<AtomicUsize>,
    cut: AtomicBool,
    last_trouble: AtomicU64,
}

/// What becomes of one call.
struct Fate {
    refused: bool,
    request_lost: bool,
    reply_lost: bool,
    request_late: Option<Duration>,
    reply_late: Option<Duration>,
    repeated: Option<Duration>,
    patience: Duration,
}

/// One call under way, for as long as it lives.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Unreliable {
    /// `inner` behind a network with `faults`, whose delays are measured on `clock`.
    #[must_use]
    pub fn new(
        inner: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        faults: Faults,
        random: Random,
        tally: Arc<Tally>,
    ) -> Self {
        let capabilities = Capabilities { late_calls: true, ..inner.capabilities().clone() };
        Self {
            inner,
            capabilities: Arc::new(capabilities),
            network: Arc::new(Network {
                clock,
                faults: Mutex::new(faults),
                random: Mutex::new(random),
                tally,
                silent: HintBoard::new(),
                under_way: Arc::default(),
                cut: AtomicBool::new(false),
                last_trouble: AtomicU64::new(0),
            }),
        }
    }

    /// From now on these faults happen.
    pub fn set_faults(&self, faults: Faults) {
        *self.network.faults.lock().unwrap_or_else(PoisonError::into_inner) = faults;
    }

    /// From now on no request leaves and no answer comes, as when the process has ended.
    pub fn cut(&self) {
        self.network.cut.store(true, Ordering::Relaxed);
    }

    /// When a call was sent last that went wrong in any way.
    #[must_use]
    pub fn last_trouble(&self) -> Timestamp {
        Timestamp::from_nanos(self.network.last_trouble.load(Ordering::Relaxed))
    }

    /// How many calls are under way, those included whose callers gave them up.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.network.under_way.load(Ordering::Relaxed)
    }

    async fn carry<T: Send + 'static>(
        &self,
        call: impl Fn(Arc<dyn Store>) -> Carried<Result<T, Fault>> + Send + Sync + 'static,
    ) -> Result<T, Fault> {
        let network = &self.network;
        if network.cut.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        let fate = network.fate();
        if fate.refused {
            let what = "the store could not be reached";
            return Err(Fault::new(FaultKind::Unreachable, what, "try again"));
        }
        let sent = network.clock.now();
        let (reply, answer) = oneshot::channel();
        let (clock, inner) = (network.clock.clone(), self.inner.clone());
        let under_way = UnderWay::new(&network.under_way);
        tokio::spawn(async move {
            let _under_way = under_way;
            pause(&*clock, fate.request_late).await;
            let mut first = None;
            if !fate.request_lost {
                first = Some(call(inner.clone()).await);
                pause(&*clock, fate.reply_late).await;
            }
            if let (false, Some(answer)) = (fate.reply_lost, first) {
                let _ = reply.send(answer);
            }
            if fate.repeated.is_some() {
                pause(&*clock, fate.repeated).await;
                let _ = call(inner).await;
            }
        });
        let given_up = network.clock.sleep_until(sent.saturating_add(fate.patience));
        tokio::select! {
            biased;
            Ok(answer) = answer => answer,
            () = given_up => {
                network.tally.count(Kind::InDoubt);
                Err(Fault::new(FaultKind::InDoubt, "the store did not answer", "try again"))
            }
        }
    }
}

impl Network {
    fn fate(&self) -> Fate {
        let faults = *self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let mut happens = |per_mille: u32, kind: Kind| {
            let happens = random.happens(per_mille);
            if happens {
                self.tally.count(kind);
            }
            happens
        };
        let refused = happens(faults.refused, Kind::Refused);
        let request_lost = !refused && happens(faults.request_lost, Kind::RequestLost);
        let reply_lost = !refused && !request_lost && happens(faults.reply_lost, Kind::ReplyLost);
        let repeated = !refused && happens(faults.repeated, Kind::Repeated);
        let request_late = !refused && happens(faults.request_late, Kind::RequestLate);
        let reply_late = !refused && happens(faults.reply_late, Kind::ReplyLate);
        if refused || request_lost || reply_lost || repeated || request_late || reply_late {
            self.last_trouble.store(self.clock.now().as_nanos(), Ordering::Relaxed);
        }
        // Most delays are short, some are very long.
        let mut late = |late: bool| {
            late.then(|| {
                let most = faults.delay / (1 << random.below(6));
                random.length(most / 8, most)
            })
        };
        Fate {
            refused,
            request_lost,
            reply_lost,
            request_late: late(request_late),
            reply_late: late(reply_late),
            repeated: late(repeated),
            patience: faults.patience,
        }
    }

    fn hints_lost(&self) -> bool {
        let faults = *self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = random.happens(faults.hints_lost);
        if lost {
            self.tally.count(Kind::HintsLost);
        }
        lost
    }
}

async fn pause(clock: &dyn Clock, length: Option<Duration>) {
    if let Some(length) = length {
        clock.sleep_until(clock.now().saturating_add(length)).await;
    }
}

impl fmt::Debug for Unreliable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unreliable").field("inner", &self.inner).finish_non_exhaustive()
    }
}

// Whatever the contract gets must go through the network too.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Store for Unreliable {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn location(&self) -> String {
        format!("{}, behind an unreliable network", self.inner.location())
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        Arc::new(Self { inner: self.inner.for_engine(), ..self.clone() })
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        if self.network.hints_lost() {
            return self.network.silent.listen(name, owner);
        }
        self.inner.wakeups(name, owner)
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        let (name, ask) = (name.clone(), ask.clone());
        self.carry(move |store| {
            let (name, ask) = (name.clone(), ask.clone());
            Box::pin(async move { store.acquire(&name, &ask).await })
        })
        .await
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Renewed> {
        let sent = holds.to_vec();
        let answer = self
            .carry(move |store| {
                let holds = sent.clone();
                Box::pin(async move { Ok(store.renew(&holds).await) })
            })
            .await;
        answer.unwrap_or_else(|_| vec![Renewed::Unknown; holds.len()])
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        let (name, owner) = (name.clone(), *owner);
        self.carry(move |store| {
            let name = name.clone();
            Box::pin(async move { store.release(&name, &owner, keep).await })
        })
        .await
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        let (name, owner, ask) = (name.clone(), *owner, ask.clone());
        self.carry(move |store| {
            let (name, ask) = (name.clone(), ask.clone());
            Box::pin(async move { store.turn(&name, &owner, &ask).await })
        })
        .await
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        let (name, owner) = (name.clone(), *owner);
        self.carry(move |store| {
            let name = name.clone();
            Box::pin(async move { store.raise(&name, &owner, token).await })
        })
        .await
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        let name = name.clone();
        self.carry(move |store| {
            let name = name.clone();
            Box::pin(async move { store.inspect(&name).await })
        })
        .await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        let prefix = prefix.to_owned();
        self.carry(move |store| {
            let prefix = prefix.clone();
            Box::pin(async move { store.list(&prefix, limit).await })
        })
        .await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        let name = name.clone();
        self.carry(move |store| {
            let name = name.clone();
            Box::pin(async move { store.evict(&name).await })
        })
        .await
    }

    async fn health(&self) -> Result<Vec<Finding>, Fault> {
        self.carry(|store| Box::pin(async move { store.health().await })).await
    }

    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        self.inner.liveness()
    }
}
