//! The count-down latch, which opens when all have arrived.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use tenure_proto::{
    Backoff, Look, Timestamp, Ttl, latch,
    queue::{Answer, Ask, Intent, Kind, Mode, Order, Snapshot},
    rule::{Rule, kept},
    time::{ceil_millis, in_range},
};

use super::target::LockTarget;
use crate::{
    Fault, FaultKind, InspectError, LatchError, LockName,
    acquire::Acquirer,
    context::StoreContext,
    observe::StoreCall,
    retry_until::{PATIENCE, retry_until},
};

/// A gate that opens when its count of arrivals is complete. This is a handle: making, cloning and dropping it is
/// cheap.
///
/// An arrival has a name and counts once, however often it is repeated and by any process. So a program that does not
/// know whether it has arrived can arrive again. Arrivals outlive their process. They are forgotten after
/// [`Latch::keep`], at most 24 hours, and then the latch is closed again.
///
/// The name must be used for the latch alone. While it is held as another kind of lock, no arrival is possible. The
/// store must support shared holds and names that stay taken after a release; otherwise arriving is refused. The store
/// also limits the number of arrivals.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{sync::Arc, time::Duration};
/// use tenure_core::{MemoryStore, Tenure};
///
/// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
/// let loaded = tenure.latch("shards-loaded", 2);
/// assert_eq!(loaded.arrive("shard-1").await?, 1);
/// assert_eq!(loaded.arrive("shard-1").await?, 1);
/// assert_eq!(loaded.arrive("shard-2").await?, 0);
/// loaded.wait().within(Duration::from_secs(5)).await?;
/// # Ok::<(), tenure_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until you arrive or wait"]
pub struct Latch {
    target: LockTarget,
    count: u32,
    keep: Duration,
}

impl Latch {
    pub(crate) fn new(acquirer: &Arc<Acquirer>, name: &str, count: u32) -> Self {
        Self { target: LockTarget::new(acquirer, name, Kind::Latch), count, keep: Ttl::MAX }
    }

    /// Sets how long arrivals made with this handle are remembered: 10 ms to 24 h, and no longer than the store can.
    /// Default: 24 h. Repeating an arrival does not extend it.
    pub fn keep(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }

    /// Arrives as `who`, and returns how many arrivals are still missing. You can also arrive after the latch has
    /// opened, which changes nothing.
    ///
    /// When this returns, the arrival counts and stays, even if the process dies. If the process dies earlier, it may
    /// or may not have arrived; arriving again counts once. Transient faults are retried for up to 30 s.
    ///
    /// # Errors
    /// A [`LatchError`] if the name of the latch or of the arrival is invalid, `keep` is out of range, the store failed
    /// or did not answer, or the name is held as another kind of lock. The arrival may count anyway; arriving again is
    /// harmless.
    ///
    /// # Cancel safety
    /// Dropping the future leaves either an arrival that counts or, for up to 30 s, a trace that does not. Arriving
    /// again is harmless.
    pub async fn arrive(&self, who: &str) -> Result<u32, LatchError> {
        let (context, name) = (self.context(), self.target.usable_name()?);
        latch::check_arrival(who)?;
        let keep = in_range("keep", self.keep, Ttl::MIN, Ttl::MAX)?;
        let keep = Duration::from_millis(ceil_millis(keep));
        self.check_capabilities(name)?;
        let longest = context.store.capabilities().longest_keep;
        if keep > longest {
            let what = format!(
                "arrivals are to be kept for {keep:?}, but this store keeps a name for \
                 {longest:?} at most"
            );
            return Err(self.fault(name, FaultKind::Misconfigured, what, "choose a shorter keep"));
        }
        let mut owner = latch::owner_of(name.as_str(), who);
        if !kept(Rule::ArrivalCountsOnce) {
            owner = context.fresh_owner().unwrap_or(owner);
        }
        let ask = Ask {
            owner,
            kind: Kind::Latch,
            mode: Mode::Shared,
            order: Order::Barging,
            intent: Intent::Try,
            ttl: Ttl::DEFAULT.for_store(),
            label: who.into(),
        };
        let store = &*context.store;
        let until = context.now().saturating_add(PATIENCE);
        let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_secs(1));
        loop {
            let acquire = || store.acquire(name, &ask);
            let counted = Some(StoreCall::Acquire);
            let answer = retry_until(context, name, until, counted, acquire).await?;
            if let Answer::Granted { .. } = answer {
                // Whatever the answer is, another process may be arriving under this name as well.
                // Only what the store shows afterwards counts.
                let release = || store.release(name, &ask.owner, keep);
                retry_until(context, name, until, Some(StoreCall::Release), release).await?;
            }
            let seen = look_at(context, name, until).await?;
            let unseen = !kept(Rule::ArrivalIsSeen);
            if unseen || latch::arrived(&seen).iter().any(|arrival| arrival == who) {
                return Ok(latch::remaining(self.count, &seen));
            }
            self.check_holder_modes(name, &seen)?;
            self.check_room(name, &seen)?;
            let again = context.now().saturating_add(backoff.next(context.entropy.jitter()));
            if again >= until {
                let what = format!("the arrival of {who:?} keeps disappearing");
                let help = "check whether another process keeps resetting the latch";
                return Err(self.fault(name, FaultKind::InDoubt, what, help));
            }
            context.clock.sleep_until(again).await;
        }
    }

    /// Waits until all have arrived. Await the returned value.
    ///
    /// It asks the store again after 20 ms at first, and after at most one second while there are no arrivals. So it
    /// can notice the opening late, by up to this time plus the length of a call.
    pub fn wait(&self) -> LatchWait {
        LatchWait { latch: self.clone(), within: None }
    }

    /// Returns how many arrivals are still missing.
    ///
    /// # Errors
    /// [`LatchError::Inspect`] if the store cannot be asked.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn remaining(&self) -> Result<u32, LatchError> {
        Ok(latch::remaining(self.count, &self.target.inspect().await?))
    }

    /// Returns the names of all arrivals, in alphabetical order.
    ///
    /// # Errors
    /// [`LatchError::Inspect`] if the store cannot be asked.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn arrived(&self) -> Result<Vec<String>, LatchError> {
        Ok(latch::arrived(&self.target.inspect().await?))
    }

    /// Forgets all arrivals, so that the latch is closed again. A waiter that has not seen it open continues to wait.
    ///
    /// A reset takes the name from all its holders, so it first checks that all of them are arrivals at a latch. A
    /// holder that takes the name as another kind between the check and the reset loses it.
    ///
    /// # Errors
    /// [`LatchError::Inspect`] if the name is held as another kind of lock, and then nothing changes, or if the store
    /// cannot be asked. In that case the latch may have been reset anyway.
    ///
    /// # Cancel safety
    /// If you drop the future, the latch may have been reset.
    pub async fn reset(&self) -> Result<(), LatchError> {
        let (context, name) = (self.context(), self.target.usable_name()?);
        let until = context.now().saturating_add(PATIENCE);
        let seen = look_at(context, name, until).await?;
        self.check_holder_modes(name, &seen)?;
        retry_until(context, name, until, None, || context.store.evict(name)).await?;
        Ok(())
    }

    fn context(&self) -> &Arc<StoreContext> {
        self.target.context()
    }

    /// Whether the store can keep arrivals, and this many of them.
    fn check_capabilities(&self, name: &LockName) -> Result<(), LatchError> {
        let can = self.context().store.capabilities();
        if !can.shared || can.longest_keep.is_zero() {
            let what = "this store cannot keep a name taken after a release, as a latch needs";
            return Err(self.fault(name, FaultKind::Unsupported, what, "use another store"));
        }
        let most = can.max_holders;
        if usize::try_from(self.count).is_ok_and(|count| count <= most) {
            return Ok(());
        }
        let what =
            format!("a latch for {} arrivals, but the store keeps {most} at most", self.count);
        Err(self.fault(name, FaultKind::Unsupported, what, "count fewer, or use several latches"))
    }

    fn check_holder_modes(&self, name: &LockName, seen: &Snapshot) -> Result<(), LatchError> {
        if let Some(other) = seen.holders.iter().find(|holder| holder.mode != Mode::Shared) {
            let what = format!("{:?} holds this name as something other than a latch", other.label);
            let help = "give the latch its own name";
            return Err(self.fault(name, FaultKind::Misconfigured, what, help));
        }
        Ok(())
    }

    fn check_room(&self, name: &LockName, seen: &Snapshot) -> Result<(), LatchError> {
        let most = self.context().store.capabilities().max_holders;
        if seen.holders.len() < most {
            return Ok(());
        }
        let what = format!("{most} arrivals are there, the most that the store keeps");
        Err(self.fault(name, FaultKind::Full, what, "reset the latch, or use another"))
    }

    fn fault(
        &self,
        name: &LockName,
        kind: FaultKind,
        what: impl Into<String>,
        help: &str,
    ) -> LatchError {
        let fault = Fault::new(kind, what, help);
        InspectError::store(self.context().address(name), fault).into()
    }
}

async fn look_at(
    context: &StoreContext,
    name: &LockName,
    until: Timestamp,
) -> Result<Snapshot, InspectError> {
    let inspect = || context.store.inspect(name);
    retry_until(context, name, until, Some(StoreCall::Inspect), inspect).await
}

impl fmt::Debug for Latch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, count, .. } = self;
        f.debug_struct("Latch").field("target", target).field("count", count).finish()
    }
}

/// A wait at a [`Latch`]. Nothing happens until you await it.
///
/// # Errors
/// [`LatchError::TimedOut`] if the wait reached its limit, [`LatchError::Inspect`] if the store could not be asked for
/// 30 s.
///
/// # Cancel safety
/// Cancel-safe: a waiter leaves nothing in the store.
#[derive(Debug)]
#[must_use = "nothing is waited for until this is awaited"]
pub struct LatchWait {
    latch: Latch,
    within: Option<Duration>,
}

impl LatchWait {
    /// Sets the longest wait. Default: no limit.
    pub fn within(mut self, within: Duration) -> Self {
        self.within = Some(within);
        self
    }

    async fn run(self) -> Result<(), LatchError> {
        let Self { latch, within } = self;
        let (context, name) = (latch.context(), latch.target.usable_name()?);
        latch.check_capabilities(name)?;
        let asked = context.now();
        let give_up = within.map_or(Timestamp::NEVER, |within| asked.saturating_add(within));
        let mut look = Look::new();
        let mut last = None;
        loop {
            let now = context.now();
            let until = now.saturating_add(PATIENCE).min(give_up);
            let looked = look_at(context, name, until).await;
            let remaining = match (looked, last) {
                (Ok(seen), _) => latch::remaining(latch.count, &seen),
                // The end of the wait cut the last inspection short.
                (Err(InspectError::Store(_)), Some(last)) if context.now() >= give_up => last,
                (Err(error), _) => return Err(error.into()),
            };
            if remaining <= u32::from(!kept(Rule::LatchOpensAtZero)) {
                return Ok(());
            }
            let now = context.now();
            if now >= give_up {
                let (lock, count) = (context.address(name), latch.count);
                let waited = now.since(asked);
                return Err(LatchError::TimedOut { lock, waited, remaining, count });
            }
            let changed = last.is_some_and(|last| last != remaining);
            last = Some(remaining);
            let pause = look.next(changed, context.entropy.jitter());
            context.clock.sleep_until(now.saturating_add(pause).min(give_up)).await;
        }
    }
}

impl IntoFuture for LatchWait {
    type Output = Result<(), LatchError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
