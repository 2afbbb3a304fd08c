//! Which processes live: each opened store keeps a kernel lock on a file of its own, which ends
//! with the process, however it ends.

use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind},
    os::{
        fd::OwnedFd,
        unix::fs::{OpenOptionsExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use nix::sys::stat::fstat;
use tenure_core::{Fault, FaultKind, proto::queue::Client};

use crate::{access::Access, error, layout::Layout};

/// The ending of a member's socket.
pub(crate) const SOCKET: &str = "sock";

/// This store's own membership, and what it sees of the others'.
#[derive(Debug)]
pub(crate) struct Members {
    dir: PathBuf,
    root: PathBuf,
    own: Client,
    file: File,
    /// Another process may hold a copy of the lock: the file must stay when this store ends.
    handed_out: AtomicBool,
}

impl Members {
    /// Becomes a member under a fresh random id.
    pub(crate) fn join(layout: &Layout) -> Result<Self, Fault> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|why| {
            Fault::new(
                FaultKind::Unreachable,
                "the system gives no random numbers",
                "try again later",
            )
            .because(why)
        })?;
        let path = file_of(&layout.members, Client(id));
        let file = join(&path, layout.access).map_err(|why| error::io("create", &path, why))?;
        Ok(Self {
            dir: layout.members.clone(),
            root: layout.root.clone(),
            own: Client(id),
            file,
            handed_out: AtomicBool::new(false),
        })
    }

    pub(crate) const fn own(&self) -> Client {
        self.own
    }

    /// Whether the process that `client` belongs to lives. In doubt it does: its lease still ends.
    pub(crate) fn alive(&self, client: Client) -> bool {
        if client == self.own {
            return true;
        }
        let path = file_of(&self.dir, client);
        let alive = is_locked(&path).unwrap_or(true);
        if !alive {
            forget(&path);
        }
        alive
    }

    /// Whether others can still see this store: its file has not been removed.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        match fstat(&self.file) {
            Ok(found) if found.st_nlink == 0 => Err(error::removed(&self.root)),
            _ => Ok(()),
        }
    }

    /// A copy of what keeps this store alive in the eyes of the others.
    pub(crate) fn liveness(&self) -> Option<OwnedFd> {
        self.handed_out.store(true, Ordering::Relaxed);
        self.file.try_clone().ok().map(OwnedFd::from)
    }

    /// Counts the members that live, and removes what at most `limit` dead ones left.
    pub(crate) fn sweep(&self, limit: usize) -> io::Result<usize> {
        let mut living = 0;
        let mut dead = 0;
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            let is_member = path.extension().is_none();
            let member = path.with_extension("");
            if member == file_of(&self.dir, self.own) || is_locked(&member).unwrap_or(true) {
                living += usize::from(is_member);
            } else if dead < limit && !is_being_made(&path) {
                dead += 1;
                forget(&member);
                let _ = fs::remove_file(&path);
            }
        }
        Ok(living)
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        let path = file_of(&self.dir, self.own);
        let _ = fs::remove_file(path.with_extension(SOCKET));
        if !self.handed_out.load(Ordering::Relaxed) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// The file of a member.
pub(crate) fn file_of(dir: &Path, client: Client) -> PathBuf {
    dir.join(format!("{:032x}", u128::from_be_bytes(client.0)))
}

/// Creates a member's file; it is locked before others can see it.
fn join(path: &Path, access: Access) -> io::Result<File> {
    let unfinished = path.with_extension(crate::create::UNFINISHED);
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(access.file_mode())
        .open(&unfinished)?;
    if access.is_shared() {
        file.set_permissions(fs::Permissions::from_mode(access.file_mode()))?;
    }
    file.try_lock()?;
    fs::rename(&unfinished, path)?;
    Ok(file)
}

/// Whether a living process keeps the file locked. No file, no process.
fn is_locked(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    // Shared, so that those who look at the same time do not take each other for the member.
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn forget(member: &Path) {
    let _ = fs::remove_file(member);
    let _ = fs::remove_file(member.with_extension(SOCKET));
}

/// Whether this may be the file of somebody who is just joining.
fn is_being_made(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == crate::create::UNFINISHED)
        && !crate::housekeeping::is_old(path)
}
