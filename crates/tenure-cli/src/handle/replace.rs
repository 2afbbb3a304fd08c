//! Writing a handle into its file, in one step.

use std::{
    error::Error,
    fs::{File, Permissions},
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;
use tenure::{Handle, LockName};

use super::file::{FileProblem, HandleFileContent, of_file, read_content};
use crate::explanation::Explanation;

/// What a new handle may replace, besides nothing and an empty file.
#[derive(Clone, Debug)]
pub(crate) enum HandleReplacePolicy {
    /// No handle.
    None,
    /// One that is worth nothing when a lock of this name is held alone in a store of this kind.
    OlderOf { name: LockName, store: String },
    /// This one.
    This(Box<Handle>),
}

const NAME_ANOTHER: &str = "name another file";

impl HandleReplacePolicy {
    /// Why what was found has to stay, if it has.
    fn refusal(&self, found: &HandleFileContent) -> Option<FileProblem> {
        let HandleFileContent::Handle(found) = found else { return None };
        match self {
            Self::None => Some(("FILE holds a handle that may still be needed", NAME_ANOTHER)),
            Self::OlderOf { name, store } => (found.name() != name || found.store_kind() != store)
                .then_some(("FILE holds a handle of another lock", NAME_ANOTHER)),
            Self::This(handle) => (found != &**handle).then_some((
                "FILE received another handle meanwhile, which was not replaced",
                NAME_ANOTHER,
            )),
        }
    }
}

/// A file that is going to get a handle, with what can be found out beforehand found out.
#[derive(Debug)]
pub(crate) struct PendingHandleFile {
    path: PathBuf,
    replaces: HandleReplacePolicy,
}

impl PendingHandleFile {
    /// Sees that `path` can have a handle.
    pub(crate) fn new(path: &Path, replaces: HandleReplacePolicy) -> Result<Self, Explanation> {
        check(path, &replaces)?;
        // It goes at once: a kill during the work leaves nothing in the folder.
        drop(next_to(path).map_err(|error| cannot(path, &error))?);
        Ok(Self { path: path.to_owned(), replaces })
    }

    /// Puts the handle there. It outlives this process and the machine.
    pub(crate) fn write(self, handle: &Handle) -> Result<PathBuf, Explanation> {
        let Self { path, replaces } = self;
        // It may have been a long time.
        check(&path, &replaces)?;
        let text = format!("{}\n", handle.expose());
        let mut next = next_to(&path).map_err(|error| cannot(&path, &error))?;
        let written = next.write_all(text.as_bytes()).and_then(|()| next.as_file().sync_all());
        written.map_err(|error| cannot(&path, &error))?;
        next.persist(&path).map_err(|error| cannot(&path, &error.error))?;
        // Some systems sync no folders. There it is as safe as it can be.
        let _ = File::open(folder(&path)).and_then(|folder| folder.sync_all());
        Ok(path)
    }
}

/// A new file in the same folder: only there one becomes the other in one step.
fn next_to(path: &Path) -> io::Result<NamedTempFile> {
    let next = tempfile::Builder::new().prefix(".tenure-").tempfile_in(folder(path))?;
    // Only its owner can do anything with it, whatever the process lets others do with new files.
    next.as_file().set_permissions(Permissions::from_mode(0o600))?;
    Ok(next)
}

fn check(path: &Path, replaces: &HandleReplacePolicy) -> Result<(), Explanation> {
    let shown = path.display().to_string();
    let why = replaces.refusal(&read_content(path)?);
    why.map_or(Ok(()), |why| Err(of_file(&shown, why)))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn cannot(path: &Path, error: &io::Error) -> Explanation {
    // Not the name of the file in between, which says nothing to anybody.
    let text = error.to_string();
    let said = text.split_once(" at path ").map_or(text.as_str(), |(before, _)| before);
    Explanation::new(format!("the handle cannot be written to {}", path.display()))
        .because(&*Box::<dyn Error>::from(said))
        .advise("name a file in a directory that this user can write to: --handle FILE")
}
