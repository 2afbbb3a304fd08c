//! Writing the manual pages into a folder that others use too.

use std::{
    fs::{OpenOptions, Permissions, metadata},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

use nix::{errno::Errno, fcntl::OFlag};

use super::roff::{File, MARK};
use crate::exit::Failure;

/// Everybody may read a page.
const MODE: u32 = 0o644;

/// Writes the pages into `dir`. If one cannot be put there, none is.
pub(crate) fn write(dir: &Path, pages: &[File]) -> Result<(), Failure> {
    if !metadata(dir).is_ok_and(|found| found.is_dir()) {
        let dir = dir.display();
        return Err(Failure::Usage(format!("{dir} is no folder; make it first: mkdir -p {dir}")));
    }
    for page in pages {
        let path = dir.join(&page.name);
        if let Some(what) = in_the_way(&path)? {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{path} is {what}, and was left as it is; no page was written; remove it, or name \
                 another folder"
            )));
        }
    }
    for page in pages {
        let path = dir.join(&page.name);
        put(dir, &path, page).map_err(|error| cannot("written", &path, &error))?;
    }
    Ok(())
}

/// What is there and stays there: anything but a page of tenure's own.
fn in_the_way(path: &Path) -> Result<Option<&'static str>, Failure> {
    // Neither does a link lead elsewhere, nor a pipe let this wait.
    let safely = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let mut file = match OpenOptions::new().read(true).custom_flags(safely.bits()).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::ELOOP as i32) => {
            return Ok(Some("a symbolic link"));
        }
        Err(error) => return Err(cannot("read", path, &error)),
    };
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Ok(Some("no regular file"));
    }
    let mut first = [0; MARK.len()];
    Ok(match file.read_exact(&mut first) {
        Ok(()) if first == *MARK.as_bytes() => None,
        _ => Some("no page that tenure wrote"),
    })
}

/// Puts a page there in one step, so that no reader meets half of one.
fn put(dir: &Path, path: &Path, page: &File) -> io::Result<()> {
    let permissions = Permissions::from_mode(MODE);
    let mut next =
        tempfile::Builder::new().prefix(".tenure-").permissions(permissions).tempfile_in(dir)?;
    next.write_all(page.text.as_bytes())?;
    next.persist(path).map(drop).map_err(|error| error.error)
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{} cannot be {what}: {error}", path.display()))
}
