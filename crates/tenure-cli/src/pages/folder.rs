//! Writing the manual pages into a folder that others use too.

use std::{
    fs::{OpenOptions, Permissions, metadata},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

use nix::errno::Errno;

use super::roff::{MARK, PageFile};
use crate::{exit::Failure, explanation::Explanation, system::SAFELY};

/// Everybody may read a page.
const MODE: u32 = 0o644;

/// Writes the pages into `dir`. If something is in the way of one, none is.
pub(crate) fn write(dir: &Path, pages: &[PageFile]) -> Result<(), Failure> {
    if !metadata(dir).is_ok_and(|found| found.is_dir()) {
        let dir = dir.display();
        return Err(Failure::Usage(
            (format!("{dir} is not a directory"), format!("make it first: mkdir -p {dir}")).into(),
        ));
    }
    let mut places = Vec::new();
    for page in pages {
        let path = dir.join(&page.name);
        let found = look(&path)?;
        if let ExistingFile::Others(what) = found {
            let path = path.display();
            return Err(Failure::Usage(
                (
                    format!("{path} is {what}, so no page was written"),
                    "remove it, or name another directory",
                )
                    .into(),
            ));
        }
        places.push((page, path, found));
    }
    for (page, path, found) in places {
        put(dir, &path, &found, page).map_err(|error| cannot("written", &path, &error))?;
    }
    Ok(())
}

/// What is where a page is to be.
enum ExistingFile {
    Nothing,
    /// A page that tenure wrote.
    Ours,
    /// Anything else, which stays there.
    Others(&'static str),
}

fn look(path: &Path) -> Result<ExistingFile, Failure> {
    let mut file = match OpenOptions::new().read(true).custom_flags(SAFELY.bits()).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ExistingFile::Nothing),
        Err(error) if error.raw_os_error() == Some(Errno::ELOOP as i32) => {
            return Ok(ExistingFile::Others("a symbolic link"));
        }
        Err(error) => return Err(cannot("read", path, &error)),
    };
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Ok(ExistingFile::Others("not a regular file"));
    }
    let mut first = [0; MARK.len()];
    Ok(match file.read_exact(&mut first) {
        Ok(()) if first == *MARK.as_bytes() => ExistingFile::Ours,
        _ => ExistingFile::Others("not a page that tenure wrote"),
    })
}

/// Puts a page there in one step, so that no reader meets half of one.
fn put(dir: &Path, path: &Path, found: &ExistingFile, page: &PageFile) -> io::Result<()> {
    let mut next = tempfile::Builder::new().prefix(".tenure-").tempfile_in(dir)?;
    // Whatever the umask says.
    next.as_file().set_permissions(Permissions::from_mode(MODE))?;
    next.write_all(page.text.as_bytes())?;
    let put = match found {
        ExistingFile::Ours => next.persist(path),
        // What came there since it was looked at is not ours.
        ExistingFile::Nothing | ExistingFile::Others(_) => next.persist_noclobber(path),
    };
    put.map(drop).map_err(|error| error.error)
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    let why = Explanation::new(format!("{} cannot be {what}", path.display())).because(error);
    Failure::Failed(why.advise("name a directory that this user can write to: --dir DIR"))
}
