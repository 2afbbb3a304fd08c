//! Talking to the holder of a lock: asking it to release, and saying why the lock is broken.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use tenure_proto::{
    Timestamp,
    queue::{Contender, Identity},
};

use crate::{
    Error, Fault, FaultKind, Guard, InspectError, LockName, Mutex,
    acquire::Acquirer,
    context::StoreContext,
    notes::{self, NoteKind, NoteScope, note_label, note_name},
    oversight,
    retry_until::ask_once,
};

/// How long a note outlasts the program that left it, if that ends without taking it back.
const NOTE_TTL: Duration = Duration::from_secs(30);
/// How long it stays known why a lock was broken: a holder that hears of it late may look for so long.
const KEPT: Duration = Duration::from_secs(60);
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

/// Returns whether this holder of the lock `name` is a note to the holders of another lock.
///
/// ```
/// use tenure_core::{LockName, asking::is_note, proto::queue::{Contender, Mode}};
///
/// let note = Contender::new("release request of 1838952641397983232", Mode::Exclusive);
/// assert!(is_note(&LockName::new("index~note")?, &note));
/// assert!(!is_note(&LockName::new("index")?, &note));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn is_note(name: &LockName, holder: &Contender) -> bool {
    note_name(name).is_none() && notes::read(holder).is_some()
}

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
        let mut seen = oversight::inspect(context, &name).await?;
        seen.holders.retain(|holder| !holder.lingering);
        if seen.holders.is_empty() {
            return Ok(ReleaseAnswer::Free);
        }
        let mut request = Request::new(&self.acquirer, &name, seen.holders, self.reason)?;
        let answer = request.wait_for_release(until).await;
        // It asks no longer, whatever came of it. If this fails, the note ends with its lease.
        if let Some(note) = request.note {
            drop(note.release().await);
        }
        answer
    }
}

/// Who asks the holders of `name` to release it now.
pub(crate) async fn requested_by(
    context: &StoreContext,
    name: &LockName,
) -> Result<Option<Identity>, InspectError> {
    let Some(note) = note_name(name) else { return Ok(None) };
    let seen = oversight::inspect(context, &note).await?;
    let request = notes::standing(&seen).filter(|note| note.kind == NoteKind::ReleaseRequest);
    Ok(request.map(|note| note.by))
}

/// A release request that stands.
struct Request<'a> {
    acquirer: &'a Arc<Acquirer>,
    name: &'a LockName,
    reason: Option<String>,
    /// The holds that are asked.
    asked: Vec<Contender>,
    /// Which of them know notes; `None` if all are of other libraries.
    scope: Option<NoteScope>,
    note: Option<Guard>,
}

impl<'a> Request<'a> {
    fn new(
        acquirer: &'a Arc<Acquirer>,
        name: &'a LockName,
        asked: Vec<Contender>,
        reason: Option<String>,
    ) -> Result<Self, Error> {
        note_name(name).ok_or_else(|| no_notes(&acquirer.context, name))?;
        let scope = NoteScope::of(&asked);
        Ok(Self { acquirer, name, reason, asked, scope, note: None })
    }

    /// Waits until none of the holds exists that were asked.
    async fn wait_for_release(&mut self, until: Timestamp) -> Result<ReleaseAnswer, Error> {
        let context = &self.acquirer.context;
        let (mut hint_at, mut pause) = (context.now(), FIRST_LOOK);
        loop {
            // A holder may miss a hint, or have begun only just now.
            if context.now() >= hint_at {
                self.ensure_note().await?;
                hint(context, self.name).await;
                hint_at = context.now().saturating_add(AGAIN);
            }
            context.clock.sleep_until(context.now().saturating_add(pause).min(until)).await;
            pause = (pause * 2).min(AGAIN);
            let mut seen = oversight::inspect(context, self.name).await?;
            seen.holders.retain(|holder| !holder.lingering && self.is_asked(holder));
            if seen.holders.is_empty() {
                return Ok(ReleaseAnswer::Released);
            }
            if context.now() >= until {
                return Ok(ReleaseAnswer::Held(seen.holders));
            }
        }
    }

    /// Leaves the note again where it is gone: it may have been evicted, or another request stood in its place.
    async fn ensure_note(&mut self) -> Result<(), Error> {
        if self.note.as_ref().is_some_and(|note| note.check().is_ok()) {
            return Ok(());
        }
        let Some(scope) = &self.scope else { return Ok(()) };
        let (kind, reason) = (NoteKind::ReleaseRequest, self.reason.clone());
        self.note = leave_note(self.acquirer, self.name, (kind, scope), reason).await?;
        Ok(())
    }

    /// Whether this is one of the holds that were asked. One without an id is told by its token, or by its label.
    fn is_asked(&self, holder: &Contender) -> bool {
        self.asked.iter().any(|asked| match (asked.id, holder.id) {
            (Some(asked), Some(id)) => asked == id,
            _ => (asked.token, &asked.label) == (holder.token, &holder.label),
        })
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
/// [`BreakNotice::leave`]. If you drop it instead, it is withdrawn.
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
        holders: &[Contender],
        reason: String,
    ) -> Result<Self, Error> {
        let context = &acquirer.context;
        let name = LockName::new(name).map_err(InspectError::from)?;
        let mut notice = Self { note: None, acquirer: acquirer.clone() };
        // Others do not read it.
        let Some(scope) = NoteScope::of(holders) else { return Ok(notice) };
        notice.note = leave_note(acquirer, &name, (NoteKind::Break, &scope), Some(reason)).await?;
        if context.store.capabilities().tells_evictions {
            hint(context, &name).await;
            context.clock.sleep_until(context.now().saturating_add(HEAD_START)).await;
        }
        Ok(notice)
    }

    /// Leaves the notice behind for holders that learn late: for a minute, or, on a store that keeps nothing after a
    /// release, for two seconds, which this waits.
    pub async fn leave(mut self) {
        let context = &self.acquirer.context;
        if !keeps_notes(context) {
            context.clock.sleep_until(context.now().saturating_add(LINGERS)).await;
        }
        // It ends with its lease at the latest.
        if let Some(note) = self.note.take() {
            drop(note.release().await);
        }
    }
}

/// What was announced was not done, as far as anybody knows.
impl Drop for BreakNotice {
    fn drop(&mut self) {
        self.note.iter().for_each(Guard::cancel_hold_at_least);
    }
}

fn keeps_notes(context: &StoreContext) -> bool {
    context.store.capabilities().longest_keep >= KEPT
}

/// Leaves a note to the holders of `name`; `None` if another one asks them to release, or was left just now.
async fn leave_note(
    acquirer: &Arc<Acquirer>,
    name: &LockName,
    (kind, scope): (NoteKind, &NoteScope),
    reason: Option<String>,
) -> Result<Option<Guard>, Error> {
    let context = &acquirer.context;
    let note = note_name(name).ok_or_else(|| no_notes(context, name))?;
    let lock = Mutex::new(acquirer, note.as_str()).without_defaults();
    let mut lock = lock.ttl(NOTE_TTL).label(note_label(kind, scope));
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
        let mut seen = oversight::inspect(context, &note).await?;
        // Nothing is taken from a lock that merely has the name of a note.
        if seen.holders.iter().any(|holder| notes::read(holder).is_none()) {
            return Err(not_a_note(context, name));
        }
        // Why a lock is broken now counts more than why it was, and than what was asked; and what others were asked
        // counts less than what these are.
        let pass_bits = context.store.capabilities().pass_bits;
        let asks_these =
            |note: notes::Note| scope.last().is_some_and(|token| note.scope.has(token, pass_bits));
        seen.holders.retain(|holder| {
            kind == NoteKind::Break
                || holder.lingering
                || !notes::read(holder).is_some_and(asks_these)
        });
        if seen.holders.is_empty() {
            return Ok(None);
        }
        oversight::evict_seen(context, &note, &seen).await?;
    }
    Ok(None)
}

/// Tells the holders that there is something to read. They look by themselves at the latest when they renew.
async fn hint(context: &StoreContext, name: &LockName) {
    let hinted = ask_once(context, PATIENCE, context.store.hint_holders(name)).await;
    if let Err(fault) = hinted {
        tracing::debug!(lock = %name, fault = %format_args!("{fault:#}"), "holders get no hint");
    }
}

fn no_notes(context: &StoreContext, name: &LockName) -> Error {
    let what = "this lock's name leaves no room for a note to its holders, or is that of a note";
    let help = "use a name of at most 507 bytes that does not end with ~note";
    let fault = Fault::new(FaultKind::Unsupported, what, help);
    InspectError::store(context.address(name), fault).into()
}

fn not_a_note(context: &StoreContext, name: &LockName) -> Error {
    let what = "a lock of yours has the name of the notes to its holders, which ends with ~note";
    let help = "give that lock another name";
    let fault = Fault::new(FaultKind::Unsupported, what, help);
    InspectError::store(context.address(name), fault).into()
}
