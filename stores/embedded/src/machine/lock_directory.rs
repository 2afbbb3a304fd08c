//! The default directory of the store.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    fcntl::{AT_FDCWD, AtFlags},
    unistd::{AccessFlags, Uid, User, faccessat},
};
use tenure_core::{Fault, FaultKind};

const OF_THE_MACHINE: &str = "/var/lib/tenure";
const IN_THE_HOME: &str = ".local/state/tenure";

/// The directory of a store, and how it was chosen.
#[derive(Clone, Debug)]
pub(crate) struct LockDirectory {
    pub(crate) dir: PathBuf,
    pub(crate) chosen: &'static str,
}

impl LockDirectory {
    pub(crate) fn named(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), chosen: "as named by the user" }
    }
}

/// Returns the default directory of the embedded store: `/var/lib/tenure` if this user may write there or create it,
/// otherwise `.local/state/tenure` in the user's home directory.
///
/// The home directory is that of the passwd entry of the effective user, whatever `$HOME` is. So two callers of one
/// name use the same directory, even if cron or sudo started one of them. This creates nothing.
///
/// # Errors
/// A [`Fault`] if the user may not write in `/var/lib` and has no home directory.
pub fn default_dir() -> Result<PathBuf, Fault> {
    default_lock_directory().map(|place| place.dir)
}

pub(crate) fn default_lock_directory() -> Result<LockDirectory, Fault> {
    let of_the_machine = Path::new(OF_THE_MACHINE);
    if is_usable(of_the_machine) {
        let chosen = "the default for users who may write in /var/lib";
        return Ok(LockDirectory { dir: of_the_machine.to_owned(), chosen });
    }
    let home = home()?;
    let chosen = "the default for users who may not write in /var/lib";
    Ok(LockDirectory { dir: home.join(IN_THE_HOME), chosen })
}

/// Whether this user may write in `dir` or create it. A directory that fails for another reason, as on a disk that was
/// just made read-only, still counts: its locks are there, and another directory would not show them.
fn is_usable(dir: &Path) -> bool {
    match dir.metadata() {
        Ok(found) => {
            let denied =
                may_write(dir).is_err_and(|why| matches!(why, Errno::EACCES | Errno::EPERM));
            found.is_dir() && !denied
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            dir.parent().is_some_and(|parent| may_write(parent).is_ok())
        }
        Err(_) => false,
    }
}

fn may_write(dir: &Path) -> nix::Result<()> {
    let wanted = AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK;
    faccessat(AT_FDCWD, dir, wanted, AtFlags::AT_EACCESS)
}

fn home() -> Result<PathBuf, Fault> {
    let uid = Uid::effective();
    let homeless = |what: String| {
        Fault::new(FaultKind::Misconfigured, what, "name your own directory, as in file:/path")
    };
    match User::from_uid(uid) {
        Ok(Some(user)) => Ok(user.dir),
        Ok(None) => Err(homeless(format!("user {uid} has no passwd entry and so no home"))),
        Err(error) => {
            Err(homeless(format!("cannot look up the home of user {uid}")).because(error))
        }
    }
}
