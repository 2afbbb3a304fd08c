//! Files that a user names, for configuration, certificates and keys.

mod authorities;

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    path::{Path, PathBuf},
};

pub use authorities::{NamedAuthorities, named_authorities};

/// The contents of a file, and which users may change or read it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NamedFile {
    /// The contents.
    pub bytes: Vec<u8>,
    /// The user that owns the file, unless that is root or the user of this process.
    pub stranger: Option<u32>,
    /// The permission bits, as for `chmod`; `None` if the system has none.
    pub mode: Option<u32>,
    /// Whether root owns the file.
    pub is_of_root: bool,
}

impl NamedFile {
    /// Returns whether users other than the owner may read or write the file, which makes it unfit for a secret. If
    /// root owns the file, its group may read it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.mode.is_some_and(|mode| is_open(mode, self.is_of_root))
    }

    /// Returns whether users other than the owner may write to the file.
    #[must_use]
    pub fn may_others_write(&self) -> bool {
        self.mode.is_some_and(|mode| mode & 0o022 != 0)
    }
}

/// Returns whether these permission bits let users other than the owner read or write a file, which makes it unfit for
/// a secret. If root owns the file, its group may read it.
#[must_use]
pub const fn is_open(mode: u32, is_of_root: bool) -> bool {
    mode & if is_of_root { 0o037 } else { 0o077 } != 0
}

/// Reads a file of at most `longest` bytes. `/dev/null` counts as an empty file.
///
/// It never waits for a writer and reads no device. A file that is not regular or is longer is refused.
///
/// # Errors
/// The system's error, or an error because the file is not regular or is too long.
///
/// ```
/// let none = tenure_core::files::read("/dev/null".as_ref(), 10)?;
/// assert!(none.bytes.is_empty());
/// assert!(tenure_core::files::read("/dev/zero".as_ref(), 10).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read(path: &Path, longest: u64) -> io::Result<NamedFile> {
    let file = open(path)?;
    let about = file.metadata()?;
    let mut read = NamedFile { bytes: Vec::new(), stranger: None, mode: None, is_of_root: false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};

        let us = nix::unistd::geteuid().as_raw();
        read.stranger = Some(about.uid()).filter(|owner| *owner != 0 && *owner != us);
        read.mode = Some(about.mode() & 0o7777);
        read.is_of_root = about.uid() == 0;
        let null = || std::fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == about.rdev());
        if about.file_type().is_char_device() && null() {
            // All users may write to it, and none can change it.
            read.mode = None;
            return Ok(read);
        }
    }
    if !about.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    file.take(longest.saturating_add(1)).read_to_end(&mut read.bytes)?;
    if read.bytes.len() as u64 > longest {
        let what = format!("it is longer than {longest} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(read)
}

/// Returns the directory in which any user may replace this file, or the file that it links to. `None` if there is no
/// such directory: in `/tmp`, for instance, only the owner of a file may replace it.
///
/// ```
/// # #[cfg(unix)] {
/// assert_eq!(tenure_core::files::replaceable("/etc/passwd".as_ref()), None);
/// # }
/// ```
#[must_use]
pub fn replaceable(path: &Path) -> Option<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;

        const WRITABLE: u32 = 0o002;
        const STICKY: u32 = 0o1000;
        let is_open = |folder: &PathBuf| {
            let mode = std::fs::metadata(folder).map_or(0, |folder| folder.mode());
            mode & (WRITABLE | STICKY) == WRITABLE
        };
        let named = std::path::absolute(path).ok();
        let meant = std::fs::canonicalize(path).ok();
        let folders = [named, meant].into_iter().flatten();
        folders.filter_map(|path| path.parent().map(Path::to_owned)).find(is_open)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    // An open pipe does not wait for a writer, and a terminal does not become this process's own.
    let careful = nix::libc::O_NONBLOCK | nix::libc::O_NOCTTY;
    OpenOptions::new().read(true).custom_flags(careful).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}
