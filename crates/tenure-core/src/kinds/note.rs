//! Leaving notes to the holders of a lock. A note is itself a lock.

use std::{sync::Arc, time::Duration};

use tenure_proto::queue::{Contender, Kind, Mode};

use super::target::LockTarget;
use crate::{
    Error, Fault, FaultKind, Guard, InspectError, LockName,
    acquire::Acquirer,
    context::StoreContext,
    notes::{self, NoteKind, NoteScope, note_label, note_name},
    options::Options,
    oversight,
    retry_until::ask_once,
};

/// How long a note outlasts the program that left it, if that ends without taking it back.
const NOTE_TTL: Duration = Duration::from_secs(30);
/// How long it stays known why a lock was broken: a holder that hears of it late may look for so long.
const KEPT: Duration = Duration::from_secs(60);
/// How long the store is asked for one thing.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a note stays on a store that keeps nothing after a release.
const LINGERS: Duration = Duration::from_secs(2);
/// How often a note is tried whose place is taken.
const ATTEMPTS: u32 = 3;
/// How long holders have to read why their lock is broken before it is.
const HEAD_START: Duration = Duration::from_millis(200);

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
pub(crate) async fn leave_note(
    acquirer: &Arc<Acquirer>,
    name: &LockName,
    (kind, scope): (NoteKind, &NoteScope),
    reason: Option<String>,
) -> Result<Option<Guard>, Error> {
    let context = &acquirer.context;
    let note = note_name(name).ok_or_else(|| no_notes(context, name))?;
    let lock = LockTarget::new(acquirer, note.as_str(), Kind::Mutex);
    let keeps = kind == NoteKind::Break && keeps_notes(context);
    let options = Options {
        ttl: Some(NOTE_TTL),
        label: Some(note_label(kind, scope)),
        reason,
        hold_at_least: keeps.then_some(KEPT),
        // What the configuration says of names is not meant for notes.
        without_defaults: true,
        ..Options::default()
    };
    for _ in 0..ATTEMPTS {
        if let Some(guard) = lock.clone().try_lock(Mode::Exclusive, options.clone()).await? {
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
pub(crate) async fn hint(context: &StoreContext, name: &LockName) {
    let hinted = ask_once(context, PATIENCE, context.store.hint_holders(name)).await;
    if let Err(fault) = hinted {
        tracing::debug!(lock = %name, fault = %format_args!("{fault:#}"), "holders get no hint");
    }
}

pub(crate) fn no_notes(context: &StoreContext, name: &LockName) -> Error {
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
