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

pub use crate::kinds::BreakNotice;
use crate::{
    Error, Guard, InspectError, LockName,
    acquire::Acquirer,
    context::StoreContext,
    kinds::note::{hint, leave_note, no_notes},
    notes::{self, NoteKind, NoteScope, note_name},
    oversight,
};

/// How often the holders are hinted at a request that stands.
const AGAIN: Duration = Duration::from_secs(1);
/// The first pause before looking whether they released.
const FIRST_LOOK: Duration = Duration::from_millis(20);

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
