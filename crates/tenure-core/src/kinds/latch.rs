//! The count-down latch: it opens when all have arrived.

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
    retry_until::{PATIENCE, retry_until},
};

/// A gate that opens when as many have arrived as it counts. A handle: cheap to make, to clone and
/// to drop.
///
/// An arrival has a name and counts once, however often it is repeated and by whichever process:
/// a program that does not know whether it has arrived arrives again. Arrivals outlive their
/// process. They are forgotten after [`Latch::keep`], at most 24 hours; then the latch is closed
/// again.
///
/// The name belongs to the latch alone: while somebody holds it in another way nobody can arrive.
/// The store must have shared holds and names that stay taken after a release; where it has not,
/// arriving is refused. How many can arrive is bounded by the store, too.
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

    /// For how long arrivals made with this handle are remembered, 10 ms to 24 h and no longer than
    /// the store can; 24 h if nothing is said. To repeat an arrival does not put off its end.
    pub fn keep(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }

    /// Arrives as `who`, and says how many have not arrived yet. Everybody who comes after the
    /// latch is open arrives as well, and changes nothing.
    ///
    /// When this returns, the arrival is counted and stays, whatever becomes of the process.
    /// A process that dies before may have arrived or not; if it arrives again that counts once.
    /// Passing faults are ridden out for up to 30 s.
    ///
    /// # Errors
    /// [`LatchError`]: the name of the latch or of the arrival cannot be used, `keep` is out of
    /// range, the store cannot do it or did not answer, or the name is held in another way. It may
    /// have arrived all the same: arriving again is harmless.
    ///
    /// # Cancel safety
    /// Dropping the future leaves either an arrival that counts or, for up to 30 s, a trace that
    /// does not. To arrive again is harmless.
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
            let answer = retry_until(context, name, until, || store.acquire(name, &ask)).await?;
            if let Answer::Granted { .. } = answer {
                // Whatever it answers, another process may be arriving under this name as well.
                // What counts is what the store shows then.
                retry_until(context, name, until, || store.release(name, &ask.owner, keep)).await?;
            }
            let seen = retry_until(context, name, until, || store.inspect(name)).await?;
            let unseen = !kept(Rule::ArrivalIsSeen);
            if unseen || latch::arrived(&seen).iter().any(|arrival| arrival == who) {
                return Ok(latch::remaining(self.count, &seen));
            }
            self.check_holder_modes(name, &seen)?;
            self.room(name, &seen)?;
            let again = context.now().saturating_add(backoff.next(context.entropy.jitter()));
            if again >= until {
                let what = format!("the arrival of {who:?} keeps disappearing");
                let help = "check whether another process keeps resetting the latch";
                return Err(self.fault(name, FaultKind::InDoubt, what, help));
            }
            context.clock.sleep_until(again).await;
        }
    }

    /// Waits until all have arrived: await the returned value.
    ///
    /// The store is asked again after 20 ms at first, and after at most one second while nobody
    /// arrives: that, and the length of a call, is how late the news can be.
    pub fn wait(&self) -> LatchWait {
        LatchWait { latch: self.clone(), within: None }
    }

    /// How many have not arrived yet.
    ///
    /// # Errors
    /// [`LatchError::Inspect`] when the store cannot be asked.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn remaining(&self) -> Result<u32, LatchError> {
        Ok(latch::remaining(self.count, &self.target.inspect().await?))
    }

    /// Who has arrived, in alphabetical order.
    ///
    /// # Errors
    /// [`LatchError::Inspect`] when the store cannot be asked.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn arrived(&self) -> Result<Vec<String>, LatchError> {
        Ok(latch::arrived(&self.target.inspect().await?))
    }

    /// Forgets all who have arrived, so that the latch is closed again. Whoever waits and has not
    /// seen it open goes on waiting.
    ///
    /// A reset takes the name from everybody, so it looks first whether all who have it are a
    /// latch's. Who takes it in another way between the look and the reset loses it.
    ///
    /// # Errors
    /// [`LatchError::Inspect`] when the name is held in another way, and then nothing is changed, or when
    /// the store cannot be asked; it may be reset all the same.
    ///
    /// # Cancel safety
    /// A dropped future may have reset it.
    pub async fn reset(&self) -> Result<(), LatchError> {
        let (context, name) = (self.context(), self.target.usable_name()?);
        let until = context.now().saturating_add(PATIENCE);
        let seen = retry_until(context, name, until, || context.store.inspect(name)).await?;
        self.check_holder_modes(name, &seen)?;
        retry_until(context, name, until, || context.store.evict(name)).await?;
        Ok(())
    }

    fn context(&self) -> &Arc<StoreContext> {
        self.target.context()
    }

    /// Whether the store can keep arrivals, and as many.
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

    fn room(&self, name: &LockName, seen: &Snapshot) -> Result<(), LatchError> {
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

impl fmt::Debug for Latch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, count, .. } = self;
        f.debug_struct("Latch").field("target", target).field("count", count).finish()
    }
}

/// A wait at a [`Latch`]. Nothing happens until it is awaited.
///
/// # Errors
/// [`LatchError::TimedOut`] when the bound of the wait was reached, [`LatchError::Inspect`] when the
/// store could not be asked for 30 s.
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
    /// How long to wait at most; for ever if nothing is said.
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
            let looked = retry_until(context, name, until, || context.store.inspect(name)).await;
            let remaining = match (looked, last) {
                (Ok(seen), _) => latch::remaining(latch.count, &seen),
                // The end of the wait cut the last look short.
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
