//! Talking to the holder of a lock: asking it to release, and saying why the lock is broken.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use tenure_proto::{
    HoldId, Timestamp,
    queue::{Contender, Snapshot},
};

use crate::{
    Error, Fault, FaultKind, Guard, InspectError, LockName, Mutex,
    acquire::Acquirer,
    context::StoreContext,
    notes::{KEPT, NoteKind, note_name},
    oversight,
    retry_until::ask_once,
};

/// How long a note outlasts the program that left it, if that ends without taking it back.
const NOTE_TTL: Duration = Duration::from_secs(30);
/// How often the holders are hinted at a request that stands.
const AGAIN: Duration = Duration::from_secs(1);
/// The first pause before looking whether they released.
const FIRST_LOOK: Duration = Duration::from_millis(20);
/// How long the store is asked for one thing.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a note stays on a store that keeps nothing after a release.
const LINGERS: Duration = Duration::from_secs(2);
/// How often a note is tried whose place is taken.
const ATTEMPTS: u32 = 3;
/// How long holders have to read why their lock is broken before it is.
const HEAD_START: Duration = Duration::from_millis(200);

/// How a release request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReleaseAnswer {
    /// Nothing held the lock.
    Free,
    /// Everything that held the lock when it was asked has released it, or lost it.
    Released,
    /// These still held the lock when the wait was over.
    Held(Vec<Contender>),
}

/// A release request that is about to be made. Nothing happens until you await it.
///
/// [`Tenure::ask_release`](crate::Tenure::ask_release) makes one.
#[must_use = "nothing is asked until this is awaited"]
pub struct AskRelease {
    acquirer: Arc<Acquirer>,
    name: String,
    reason: Option<String>,
    wait: Option<Duration>,
}

impl AskRelease {
    pub(crate) fn new(acquirer: &Arc<Acquirer>, name: &str) -> Self {
        Self { acquirer: acquirer.clone(), name: name.to_owned(), reason: None, wait: None }
    }

    /// Sets why the holder should release, which it is told.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Sets how long to wait for the holder. Default: no limit.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    async fn run(self) -> Result<ReleaseAnswer, Error> {
        let context = &self.acquirer.context;
        let name = LockName::new(&self.name).map_err(InspectError::from)?;
        let until = self.wait.map_or(Timestamp::NEVER, |wait| context.now().saturating_add(wait));
        let asked = holding(&oversight::inspect(context, &name).await?);
        if asked.is_empty() {
            return Ok(ReleaseAnswer::Free);
        }
        let note = leave_note(&self.acquirer, &name, NoteKind::ReleaseRequest, self.reason).await?;
        let answer = wait_for_release(context, &name, &asked, until).await;
        // It asks no longer, whatever came of it. If this fails, the note ends with its lease.
        if let Some(note) = note {
            drop(note.release().await);
        }
        answer
    }
}

impl fmt::Debug for AskRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskRelease").field("name", &self.name).finish_non_exhaustive()
    }
}

impl IntoFuture for AskRelease {
    type Output = Result<ReleaseAnswer, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Tells the holders of a lock who breaks it and why, before it is broken.
///
/// [`Tenure::announce_break`](crate::Tenure::announce_break) makes one. Evict the holders, and then await
/// [`BreakNotice::leave`]. If you drop it, some holders may not learn the reason.
#[must_use = "await leave() once the holders are evicted"]
#[derive(Debug)]
pub struct BreakNotice {
    note: Option<Guard>,
    acquirer: Arc<Acquirer>,
}

impl BreakNotice {
    pub(crate) async fn new(
        acquirer: &Arc<Acquirer>,
        name: &str,
        reason: String,
    ) -> Result<Self, Error> {
        let context = &acquirer.context;
        let name = LockName::new(name).map_err(InspectError::from)?;
        let note = leave_note(acquirer, &name, NoteKind::Break, Some(reason)).await?;
        if context.store.capabilities().tells_evictions {
            hint(context, &name).await;
            context.clock.sleep_until(context.now().saturating_add(HEAD_START)).await;
        }
        Ok(Self { note, acquirer: acquirer.clone() })
    }

    /// Leaves the notice behind for holders that learn late: for a minute, or, on a store that keeps nothing after a
    /// release, for two seconds, which this waits.
    pub async fn leave(self) {
        let Self { note, acquirer } = self;
        let context = &acquirer.context;
        if !keeps_notes(context) {
            context.clock.sleep_until(context.now().saturating_add(LINGERS)).await;
        }
        // It ends with its lease at the latest.
        if let Some(note) = note {
            drop(note.release().await);
        }
    }
}

fn keeps_notes(context: &StoreContext) -> bool {
    context.store.capabilities().longest_keep >= KEPT
}

/// Leaves a note to the holders of `name`; `None` if one already asks them to release.
async fn leave_note(
    acquirer: &Arc<Acquirer>,
    name: &LockName,
    kind: NoteKind,
    reason: Option<String>,
) -> Result<Option<Guard>, Error> {
    let context = &acquirer.context;
    let note = note_name(name).ok_or_else(|| no_notes(context, name))?;
    let mut lock = Mutex::new(acquirer, note.as_str()).ttl(NOTE_TTL).label(kind.label());
    if let Some(reason) = reason {
        lock = lock.reason(reason);
    }
    if kind == NoteKind::Break && keeps_notes(context) {
        lock = lock.hold_at_least(KEPT);
    }
    for _ in 0..ATTEMPTS {
        if let Some(guard) = lock.try_lock().await? {
            return Ok(Some(guard));
        }
        let seen = oversight::inspect(context, &note).await?;
        // Why a lock is broken now counts more than why it was, and than what was asked.
        if kind == NoteKind::ReleaseRequest && !holding(&seen).is_empty() {
            return Ok(None);
        }
        oversight::evict_seen(context, &note, &seen).await?;
    }
    Err(lock.lock().wait(FIRST_LOOK).await.map_or_else(Error::from, |_| no_notes(context, name)))
}

/// Waits until none of the holds exists that were asked.
async fn wait_for_release(
    context: &StoreContext,
    name: &LockName,
    asked: &[HoldId],
    until: Timestamp,
) -> Result<ReleaseAnswer, Error> {
    let (mut hint_at, mut pause) = (context.now(), FIRST_LOOK);
    loop {
        // A holder may miss a hint, or have begun only just now.
        if context.now() >= hint_at {
            hint(context, name).await;
            hint_at = context.now().saturating_add(AGAIN);
        }
        context.clock.sleep_until(context.now().saturating_add(pause).min(until)).await;
        pause = (pause * 2).min(AGAIN);
        let mut seen = oversight::inspect(context, name).await?;
        seen.holders
            .retain(|holder| !holder.lingering && holder.id.is_none_or(|id| asked.contains(&id)));
        if seen.holders.is_empty() {
            return Ok(ReleaseAnswer::Released);
        }
        if context.now() >= until {
            return Ok(ReleaseAnswer::Held(seen.holders));
        }
    }
}

/// Tells the holders that there is something to read. They look by themselves at the latest when they renew.
async fn hint(context: &StoreContext, name: &LockName) {
    let hinted = ask_once(context, PATIENCE, context.store.hint_holders(name)).await;
    if let Err(fault) = hinted {
        tracing::debug!(lock = %name, fault = %format_args!("{fault:#}"), "holders get no hint");
    }
}

/// The holds that have not been released. One without an id, of another library, is counted by any id.
fn holding(seen: &Snapshot) -> Vec<HoldId> {
    seen.holders.iter().filter(|holder| !holder.lingering).filter_map(|holder| holder.id).collect()
}

fn no_notes(context: &StoreContext, name: &LockName) -> Error {
    let what = "this lock's name leaves no room for a note to its holders";
    let fault = Fault::new(FaultKind::Unsupported, what, "use a name that is five bytes shorter");
    InspectError::store(context.address(name), fault).into()
}
