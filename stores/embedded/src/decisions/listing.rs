//! Looking at all names at once.

use std::path::PathBuf;

use tenure_core::{
    Fault, LockName,
    proto::queue::{NameState, Snapshot},
    store::Listing,
};

use crate::{
    decisions::{self, decide::CancelFlag},
    disk::{
        dir::Dir,
        slots::{ReadBuffer, SlotFile, SlotFileKind},
    },
    error,
    files::{
        layout::{is_state, shelf},
        wire,
    },
    inner::Inner,
    machine::Machine,
};

/// What a look at the files of all names brought up.
#[derive(Debug, Default)]
pub(crate) struct ScanResult {
    /// Names that have a file, in no order.
    pub(crate) names: Vec<LockName>,
    /// Files that could not be read.
    pub(crate) damaged: Vec<PathBuf>,
}

impl Inner {
    /// Names with contenders that begin with `prefix`, in order.
    pub(crate) fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        // Directories that were removed have no names in them, and new ones in their place may have many.
        self.members.check()?;
        if self.layout.locks.is_gone() {
            return Err(error::removed(self.layout.root.path()));
        }
        let (mut listing, mut names) = (Listing::default(), Vec::new());
        for_each_state(&*self.machine, &self.layout.locks, |read| match read {
            // Most files are of names that nobody contends for. Each is a moment in which that was so.
            Ok((name, state)) if state.is_idle() || !name.as_str().starts_with(prefix) => {}
            Ok((name, _)) => names.push(name),
            Err(path) => {
                record_missing(&mut listing.missing, || {
                    format!("{} cannot be read", path.display())
                });
            }
        })?;
        names.sort();
        for name in names {
            let looked = self.decide_blocking(&name, &decisions::inspect(), &CancelFlag::default());
            // One name in trouble must not hide the others.
            let snapshot = match looked {
                Ok(snapshot) => snapshot,
                Err(fault) => {
                    let why = || format!("{:?}: {}", name.as_str(), fault.message_and_cause());
                    record_missing(&mut listing.missing, why);
                    continue;
                }
            };
            if snapshot == Snapshot::default() {
                continue;
            }
            if listing.names.len() == limit {
                listing.more = true;
                break;
            }
            listing.names.push((name, snapshot));
        }
        Ok(listing)
    }

    /// Reads which names there are. Who writes at the same time is not waited for.
    pub(crate) fn survey(&self) -> Result<ScanResult, Fault> {
        let mut survey = ScanResult::default();
        for_each_state(&*self.machine, &self.layout.locks, |read| match read {
            Ok((name, _)) => survey.names.push(name),
            Err(path) => survey.damaged.push(path),
        })?;
        Ok(survey)
    }
}

/// How many reasons are given why names are missing.
const REASONS: usize = 16;

/// Remembers why one is left out: a few reasons stand for all.
fn record_missing(missing: &mut Vec<String>, why: impl FnOnce() -> String) {
    if missing.len() < REASONS {
        missing.push(why());
    }
}

/// Reads the state of each name below `locks` once, or says whose file could not be read.
pub(crate) fn for_each_state(
    machine: &dyn Machine,
    locks: &Dir,
    mut tell: impl FnMut(Result<(LockName, NameState), PathBuf>),
) -> Result<(), Fault> {
    for shelf in (0..=u8::MAX).map(shelf) {
        let failed = |why| error::io("list", &locks.path_of(&shelf), why);
        let Some(dir) = locks.sub(&shelf).map_err(failed)? else { continue };
        for file in dir.names().map_err(failed)?.iter().filter(|name| is_state(name)) {
            match state_in(machine, &dir, file) {
                Some(Ok(state)) => tell(Ok(state)),
                Some(Err(())) => tell(Err(dir.path_of(file))),
                None => {}
            }
        }
    }
    Ok(())
}

/// The name whose state is in the file, and the state; `None` when the file is gone.
fn state_in(
    machine: &dyn Machine,
    shelf: &Dir,
    file: &str,
) -> Option<Result<(LockName, NameState), ()>> {
    // A reader can meet two writers in a row, hardly more.
    for _ in 0..16 {
        let Some(file) = shelf.open_readonly(file).transpose()?.ok() else { return Some(Err(())) };
        let slots = SlotFile { machine, file: &file, kind: SlotFileKind::State };
        let mut room = ReadBuffer::new();
        let found = slots.read(&mut room).ok().and_then(|record| wire::decode(record.payload));
        if let Some((name, state)) = found {
            return Some(LockName::new(name).map(|name| (name, state)).map_err(drop));
        }
        std::thread::yield_now();
    }
    Some(Err(()))
}
