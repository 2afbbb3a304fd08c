//! Making files and directories that are complete from the first moment others can see them.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use nix::fcntl::OFlag;

use crate::{
    access::Access,
    machine::Machine,
    slots::{Kind, PAGE, Record, Slots, WriteError},
};

/// The ending of what is not yet complete.
pub(crate) const UNFINISHED: &str = "tmp";

/// Opens a file of the store; `None` when there is none.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    let opened = match options_without_atime().open(path) {
        // Only a file's owner may leave its time of access alone.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => options().open(path),
        opened => opened,
    };
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates a file of slots with its first record; `None` when somebody else was faster.
pub(crate) fn file(
    machine: &dyn Machine,
    path: &Path,
    access: Access,
    kind: Kind,
    first: &Record,
) -> io::Result<Option<File>> {
    let unfinished = Unfinished(beside(path)?);
    let file =
        options_without_atime().create_new(true).mode(access.file_mode()).open(&unfinished.0)?;
    if access.is_shared() {
        // The process's umask may have taken away what others need.
        file.set_permissions(Permissions::from_mode(access.file_mode()))?;
    }
    file.set_len(PAGE as u64)?;
    let slots = Slots { machine, file: &file, kind };
    slots.write(first).map_err(|error| match error {
        WriteError::NoEffect(error) | WriteError::Unknown(error) => error,
        WriteError::TooLarge(_) => ErrorKind::FileTooLarge.into(),
    })?;
    if kind == Kind::Clock {
        // It is looked at after a loss of power, so it must not have a name without a content.
        machine.sync(&file)?;
    }
    match fs::hard_link(&unfinished.0, path) {
        Ok(()) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

/// Creates a directory, if it is not there.
pub(crate) fn dir(path: &Path, access: Access) -> io::Result<()> {
    if !access.is_shared() {
        return match DirBuilder::new().mode(access.dir_mode()).create(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            created => created,
        };
    }
    if path.is_dir() {
        return Ok(());
    }
    let unfinished = beside(path)?;
    fs::create_dir(&unfinished)?;
    fs::set_permissions(&unfinished, Permissions::from_mode(access.dir_mode()))?;
    // This replaces an empty directory at most.
    fs::rename(&unfinished, path).or_else(|error| {
        let _ = fs::remove_dir(&unfinished);
        if path.is_dir() { Ok(()) } else { Err(error) }
    })
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // In a shared directory somebody might put a link to another file.
    options.read(true).write(true).custom_flags(OFlag::O_NOFOLLOW.bits());
    options
}

/// The same, and reading does not update the time of access: nobody looks at it, and it costs more
/// than the read.
fn options_without_atime() -> OpenOptions {
    #[cfg(target_os = "linux")]
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NOATIME;
    #[cfg(not(target_os = "linux"))]
    let flags = OFlag::O_NOFOLLOW;
    let mut options = options();
    options.custom_flags(flags.bits());
    options
}

fn beside(path: &Path) -> io::Result<PathBuf> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let random = u64::from_le_bytes(random);
    Ok(path.with_extension(format!("{random:016x}.{UNFINISHED}")))
}

/// A file that goes away again, under this name.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
