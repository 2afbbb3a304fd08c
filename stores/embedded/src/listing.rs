//! Looking at all names at once.

use std::path::PathBuf;

use tenure_core::{Fault, LockName, proto::queue::Snapshot, store::Listing};

use crate::{
    decide::GivenUp,
    decisions,
    dir::Dir,
    error,
    inner::Inner,
    layout::{is_state, shelf},
    slots::{Kind, Slots},
    wire,
};

/// What a look at the files of all names brought up.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Names that have a file, in no order.
    pub(crate) names: Vec<LockName>,
    /// Files that could not be read.
    pub(crate) damaged: Vec<PathBuf>,
}

impl Inner {
    /// Names with contenders that begin with `prefix`, in order.
    pub(crate) fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        let mut names = self.survey()?.names;
        names.retain(|name| name.as_str().starts_with(prefix));
        names.sort();
        let mut listing = Listing::default();
        for name in names {
            let looked = self.decide_blocking(&name, &decisions::inspect(), &GivenUp::default());
            // One name in trouble must not hide the others; who asks for it is told.
            let Ok(snapshot) = looked else { continue };
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
    pub(crate) fn survey(&self) -> Result<Survey, Fault> {
        let mut survey = Survey::default();
        for shelf in (0..=u8::MAX).map(shelf) {
            let failed = |why| error::io("list", &self.layout.locks.path_of(&shelf), why);
            let Some(dir) = self.layout.locks.sub(&shelf).map_err(failed)? else { continue };
            for file in dir.names().map_err(failed)?.iter().filter(|name| is_state(name)) {
                match self.name_in(&dir, file) {
                    Some(Ok(name)) => survey.names.push(name),
                    Some(Err(())) => survey.damaged.push(dir.path_of(file)),
                    None => {}
                }
            }
        }
        Ok(survey)
    }

    /// The name whose state is in the file; `None` when the file is gone.
    fn name_in(&self, shelf: &Dir, file: &str) -> Option<Result<LockName, ()>> {
        // A reader can meet two writers in a row, hardly more.
        for _ in 0..16 {
            let Some(file) = shelf.look_at(file).transpose()?.ok() else { return Some(Err(())) };
            let slots = Slots { machine: &*self.machine, file: &file, kind: Kind::State };
            let name = slots.read().ok().and_then(|record| wire::decode(&record.payload));
            if let Some((name, _)) = name {
                return Some(Ok(name));
            }
            std::thread::yield_now();
        }
        Some(Err(()))
    }
}
