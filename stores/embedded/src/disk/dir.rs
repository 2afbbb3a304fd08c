//! An open directory of the store. What lies in it is reached from here by its own name and never
//! through a link: in a directory that several users write, nobody can lead a call elsewhere.

use std::{
    error, fmt,
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use nix::{
    dir,
    errno::Errno,
    fcntl::{AtFlags, OFlag, openat, renameat},
    sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, fstatat, mkdirat},
    unistd::{Gid, LinkatFlags, UnlinkatFlags, fchown, geteuid, linkat, unlinkat},
};

use crate::disk::access::FilePermissions;

/// The ending of what is not yet complete.
pub(crate) const UNFINISHED: &str = "tmp";

/// A pipe must not be waited for, a terminal not become ours, a link not be followed.
const ALWAYS: OFlag =
    OFlag::O_NOFOLLOW.union(OFlag::O_CLOEXEC).union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY);
/// Reading does not update the time of access: nobody looks at it, and it costs more than the read.
#[cfg(target_os = "linux")]
const QUIET: OFlag = ALWAYS.union(OFlag::O_NOATIME);
#[cfg(not(target_os = "linux"))]
const QUIET: OFlag = ALWAYS;

/// Something lies where a file of the store should be that tenure did not put there.
#[derive(Debug)]
pub(crate) struct NotOurs(pub(crate) &'static str);

impl fmt::Display for NotOurs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl error::Error for NotOurs {}

/// What a name in a directory is, as far as the store cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Socket,
    Dir,
    Other,
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct Dir {
    file: File,
    path: PathBuf,
}

impl Dir {
    /// Opens the directory of a store, through any links that the user's path has.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let fd = nix::fcntl::open(path, OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(Self { file: fd.into(), path: path.to_owned() })
    }

    /// Where it was when it was opened, for people.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The directory itself, to lock it or to make its names outlive a loss of power.
    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// A directory in it; `None` when there is none.
    pub(crate) fn sub(&self, name: &str) -> io::Result<Option<Self>> {
        let flags = OFlag::O_DIRECTORY | ALWAYS;
        match openat(&self.file, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { file: fd.into(), path: self.path_of(name) })),
            Err(Errno::ENOENT) => Ok(None),
            Err(why) => Err(self.explained(name, why)),
        }
    }

    /// A directory in it, which is created if it is not there.
    pub(crate) fn open_or_create(&self, name: &str, access: FilePermissions) -> io::Result<Self> {
        if let Some(found) = self.sub(name)? {
            found.check_access(access)?;
            return Ok(found);
        }
        if !access.is_shared() {
            return match mkdirat(&self.file, name, mode(access.dir_mode())) {
                Ok(()) | Err(Errno::EEXIST) => Ok(self.sub(name)?.ok_or(Errno::ENOENT)?),
                Err(why) => Err(why.into()),
            };
        }
        let workshop = PrivateDir::create_in(self, name)?;
        mkdirat(&workshop.dir, name, Mode::S_IRWXU)?;
        let made = workshop.dir.sub(name)?.ok_or(Errno::ENOENT)?;
        share(&made.file, access, access.dir_mode())?;
        match workshop.move_into_place(name, name) {
            Ok(()) => Ok(Self { path: self.path_of(name), ..made }),
            Err(error) => {
                let _ = workshop.dir.remove_dir(name);
                self.sub(name)?.ok_or(error)
            }
        }
    }

    /// Refuses a directory that those who share the store cannot enter: somebody put it there.
    fn check_access(&self, access: FilePermissions) -> io::Result<()> {
        let there = Mode::from_bits_truncate(fstat(&self.file)?.st_mode);
        if there.contains(mode(access.dir_mode() & 0o077)) {
            return Ok(());
        }
        Err(io::Error::other(NotOurs("it is not shared as the directory of the store is")))
    }

    /// A file in it, to read and write; `None` when there is none.
    pub(crate) fn open_file(&self, name: &str) -> io::Result<Option<File>> {
        self.regular(name, OFlag::O_RDWR)
    }

    /// A file in it, to read; `None` when there is none.
    pub(crate) fn open_readonly(&self, name: &str) -> io::Result<Option<File>> {
        self.regular(name, OFlag::O_RDONLY)
    }

    fn regular(&self, name: &str, how: OFlag) -> io::Result<Option<File>> {
        let open = |flags| openat(&self.file, name, how | flags, Mode::empty());
        let opened = match open(QUIET) {
            // Only a file's owner may leave its time of access alone.
            Err(Errno::EPERM) => open(ALWAYS),
            opened => opened,
        };
        let fd: OwnedFd = match opened {
            Ok(fd) => fd,
            Err(Errno::ENOENT) => return Ok(None),
            Err(why) => return Err(self.explained(name, why)),
        };
        match entry(&fstat(&fd)?) {
            EntryKind::File => Ok(Some(fd.into())),
            EntryKind::Dir => Err(io::Error::other(NotOurs("it is a directory"))),
            EntryKind::Socket | EntryKind::Other => {
                Err(io::Error::other(NotOurs("it is a pipe or a device")))
            }
        }
    }

    /// Creates a file that is not there.
    pub(crate) fn create_file(&self, name: &str, access: FilePermissions) -> io::Result<File> {
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | QUIET;
        let file: File = openat(&self.file, name, flags, mode(access.file_mode()))?.into();
        if access.is_shared() {
            share(&file, access, access.file_mode())?;
        }
        Ok(file)
    }

    /// What `name` is; `None` when there is nothing of that name.
    pub(crate) fn entry(&self, name: &str) -> io::Result<Option<EntryKind>> {
        Ok(self.stat(name)?.as_ref().map(entry))
    }

    pub(crate) fn stat(&self, name: &str) -> io::Result<Option<FileStat>> {
        match fstatat(&self.file, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::ENOENT) => Ok(None),
            Err(why) => Err(why.into()),
        }
    }

    /// All names in it. One that is no text is none of ours, and leads nowhere as it is written here.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let mut listed = dir::Dir::openat(&self.file, ".", flags, Mode::empty())?;
        let names =
            listed.iter().map(|found| Ok(found?.file_name().to_string_lossy().into_owned()));
        let mut names: Vec<_> = names.collect::<nix::Result<_>>()?;
        names.retain(|name| name != "." && name != "..");
        Ok(names)
    }

    /// Gives the file `from` the name `to` as well, unless that name is taken.
    pub(crate) fn link(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(linkat(&self.file, from, &self.file, to, LinkatFlags::empty())?)
    }

    /// Gives the file `from` the name `to` instead.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.file, from, &self.file, to)?)
    }

    /// Whether `name` is still what `found` describes.
    pub(crate) fn still_has(&self, name: &str, found: &FileStat) -> io::Result<bool> {
        Ok(self.stat(name)?.is_some_and(|there| is_same(&there, found)))
    }

    /// Removes `name` if it is still what `found` describes.
    pub(crate) fn remove_this(&self, name: &str, found: &FileStat) -> io::Result<()> {
        if self.still_has(name, found)? { self.remove(name) } else { Ok(()) }
    }

    /// Removes a name that is no directory's. What a link leads to stays.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.file, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Removes an empty directory.
    pub(crate) fn remove_dir(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.file, name, UnlinkatFlags::RemoveDir)?)
    }

    /// Whether it was removed.
    pub(crate) fn is_gone(&self) -> bool {
        fstat(&self.file).is_ok_and(|found| found.st_nlink == 0)
    }

    /// Whether its path still leads to it.
    pub(crate) fn is_in_place(&self) -> bool {
        let Ok(ours) = fstat(&self.file) else { return false };
        nix::sys::stat::stat(&self.path).is_ok_and(|there| is_same(&there, &ours))
    }

    fn explained(&self, name: &str, why: Errno) -> io::Error {
        match (why, self.entry(name)) {
            // Some systems say of a link that it is no directory.
            (Errno::ELOOP | Errno::ENOTDIR | Errno::EMLINK, Ok(Some(EntryKind::Other))) => {
                io::Error::other(NotOurs("it is a link, a pipe or a device"))
            }
            (Errno::EISDIR, _) => io::Error::other(NotOurs("it is a directory")),
            // A socket, or a device that is not there.
            (Errno::ENXIO | Errno::ENODEV | Errno::EOPNOTSUPP, _) => {
                io::Error::other(NotOurs("it is a socket or a device"))
            }
            _ => why.into(),
        }
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A directory of this process alone, in one that others may write: what is made in it nobody can
/// exchange before it has its mode.
pub(crate) struct PrivateDir<'a> {
    within: &'a Dir,
    name: String,
    pub(crate) dir: Dir,
}

impl<'a> PrivateDir<'a> {
    /// Sets one up to make `name`.
    pub(crate) fn create_in(within: &'a Dir, name: &str) -> io::Result<Self> {
        let name = temporary_name(name)?;
        mkdirat(&within.file, name.as_str(), Mode::S_IRWXU)?;
        let dir = within.sub(&name)?.ok_or(Errno::ENOENT)?;
        let found = fstat(&dir.file)?;
        if found.st_uid != geteuid().as_raw() || found.st_mode & 0o077 != 0 {
            return Err(io::Error::other(NotOurs("another directory was put in its place")));
        }
        Ok(Self { within, name, dir })
    }

    /// Gives what was made its place, unless there is something already.
    pub(crate) fn move_into_place(&self, made: &str, name: &str) -> io::Result<()> {
        Ok(rename_to_free(&self.dir, made, self.within, name)?)
    }
}

impl Drop for PrivateDir<'_> {
    fn drop(&mut self) {
        // It is empty, or none of ours.
        let _ = self.within.remove_dir(&self.name);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn rename_to_free(from: &Dir, made: &str, to: &Dir, name: &str) -> nix::Result<()> {
    use nix::fcntl::{RenameFlags, renameat2};
    match renameat2(&from.file, made, &to.file, name, RenameFlags::RENAME_NOREPLACE) {
        // Not every file system can.
        Err(Errno::EINVAL | Errno::ENOSYS) => renameat(&from.file, made, &to.file, name),
        renamed => renamed,
    }
}

/// An empty directory may be replaced.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn rename_to_free(from: &Dir, made: &str, to: &Dir, name: &str) -> nix::Result<()> {
    renameat(&from.file, made, &to.file, name)
}

/// Gives what was made the group of the store, which need not be this user's first one, and a mode of
/// which the process's umask may have taken something away.
fn share(file: &File, access: FilePermissions, bits: u32) -> io::Result<()> {
    if fstat(file)?.st_gid != access.gid() {
        // Who does not belong to the group cannot, and then it is open to all or not to him.
        let _ = fchown(file, None, Some(Gid::from_raw(access.gid())));
    }
    Ok(fchmod(file, mode(bits))?)
}

fn is_same(one: &FileStat, other: &FileStat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// A name for what is going to be `name`, which nobody else has.
pub(crate) fn temporary_name(name: &str) -> io::Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let stem = name.split('.').next().unwrap_or(name);
    Ok(format!("{stem}.{:016x}.{UNFINISHED}", u64::from_le_bytes(random)))
}

/// Of what `name` was going to be a part, if it is such a name.
pub(crate) fn stem_of_unfinished(name: &str) -> Option<&str> {
    let (stem, random) = name.strip_suffix(UNFINISHED)?.strip_suffix('.')?.split_once('.')?;
    is_hex(random, 16).then_some(stem)
}

/// Whether it is a number as the store writes it.
pub(crate) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn entry(found: &FileStat) -> EntryKind {
    match SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => EntryKind::File,
        SFlag::S_IFSOCK => EntryKind::Socket,
        SFlag::S_IFDIR => EntryKind::Dir,
        _ => EntryKind::Other,
    }
}

fn mode(bits: u32) -> Mode {
    // The type of the number differs between systems.
    Mode::from_bits_truncate(bits as nix::libc::mode_t)
}
