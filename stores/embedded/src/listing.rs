//! Looking at all names at once.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use tenure_core::{Fault, LockName, proto::queue::Snapshot, store::Listing};

use crate::{
    decide::GivenUp,
    error,
    inner::Inner,
    layout::STATE,
    slots::{Kind, Slots},
    store, wire,
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
            let looked = self.decide_blocking(&name, &store::inspect(), &GivenUp::default());
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
        for number in 0..=u8::MAX {
            let shelf = self.layout.shelf(number);
            let files = state_files(&shelf).map_err(|why| error::io("list", &shelf, why))?;
            for path in files {
                match self.name_in(&path) {
                    Some(Ok(name)) => survey.names.push(name),
                    Some(Err(())) => survey.damaged.push(path),
                    None => {}
                }
            }
        }
        Ok(survey)
    }

    /// The name whose state is in the file; `None` when the file is gone.
    fn name_in(&self, path: &Path) -> Option<Result<LockName, ()>> {
        // A reader can meet two writers in a row, hardly more.
        for _ in 0..16 {
            let file = match fs::File::open(path) {
                Ok(file) => file,
                Err(why) if why.kind() == ErrorKind::NotFound => return None,
                Err(_) => return Some(Err(())),
            };
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

/// The state files on one shelf.
pub(crate) fn state_files(shelf: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(shelf) {
        Ok(entries) => entries,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(why),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths
        .filter(|path| match path {
            Ok(path) => path.extension().is_some_and(|ending| ending == STATE),
            Err(_) => true,
        })
        .collect()
}
