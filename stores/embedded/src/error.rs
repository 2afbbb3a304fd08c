//! Faults of a store made of files: what failed, and what you can do.

use std::{
    fmt,
    io::{self, ErrorKind},
    path::Path,
};

use nix::errno::Errno;
use tenure_core::{Fault, FaultKind};

use crate::disk::{
    dir::NotOurs,
    slots::{Damage, WriteError},
};

/// The fault of a system call, as in "cannot open PATH".
pub(crate) fn io(doing: impl fmt::Display, path: &Path, error: io::Error) -> Fault {
    let path = path.display();
    let (kind, why, help) = reason(&error);
    let why = if why.is_empty() { error.to_string() } else { why.to_owned() };
    Fault::new(kind, format!("cannot {doing} {path}: {why}"), help).because(error)
}

fn reason(error: &io::Error) -> (FaultKind, &'static str, &'static str) {
    use FaultKind::{Misconfigured, Unreachable};
    let errno = error.raw_os_error().map(Errno::from_raw);
    if matches!(errno, Some(Errno::EMFILE | Errno::ENFILE)) {
        return (
            Unreachable,
            "too many files are open",
            "raise the limit of open files (ulimit -n)",
        );
    }
    if matches!(errno, Some(Errno::EEXIST | Errno::ELOOP)) {
        return (
            Misconfigured,
            "another file has its name, or a broken link",
            "name a directory, as in file:/path",
        );
    }
    if error.get_ref().is_some_and(|why| why.is::<NotOurs>()) {
        return (
            Misconfigured,
            "",
            "find out what put it there: tenure follows and removes only what it made",
        );
    }
    match error.kind() {
        ErrorKind::FileTooLarge => (
            Misconfigured,
            "this process may not create so large a file",
            "raise the limit of the size of files (ulimit -f)",
        ),
        ErrorKind::StorageFull => (
            Misconfigured,
            "the disk is full",
            "free space or inodes on the file system of the directory: df -h and df -i show what it lacks",
        ),
        ErrorKind::QuotaExceeded => {
            (Misconfigured, "the disk quota is used up", "free some space or raise the quota")
        }
        ErrorKind::ReadOnlyFilesystem => (
            Misconfigured,
            "the file system is read-only",
            "mount it writable or name another directory, as in file:/path",
        ),
        ErrorKind::PermissionDenied => (
            Misconfigured,
            "permission denied",
            "run as the user that owns it, or name your own directory, as in file:/path; if root \
             has used yours, restore the owner of its files: chown -R",
        ),
        ErrorKind::NotADirectory => (
            Misconfigured,
            "a part of the path is a file, not a directory",
            "name a directory, as in file:/path",
        ),
        ErrorKind::NotFound => (
            Misconfigured,
            "it is not there",
            "if the store's files were removed while it was in use, start its processes again",
        ),
        _ => (Unreachable, "", "check the machine's disk and its log (dmesg)"),
    }
}

/// The fault if there is no thread for work on files.
pub(crate) fn no_thread(error: io::Error) -> Fault {
    let what = "no thread can be started for work on the store's files";
    let help = "see how many threads the system allows this user and this container";
    Fault::new(FaultKind::Unreachable, what, help).because(error)
}

/// The fault if the store's files were removed during use: other processes would no longer see this one.
pub(crate) fn removed(path: &Path) -> Fault {
    Fault::new(
        FaultKind::Misconfigured,
        format!("files of the store in {} were removed while it was in use", path.display()),
        "start the processes that use it again, and leave its files alone while they run",
    )
}

/// The fault if the kernel lock of a file stayed taken.
pub(crate) fn stays_locked(path: &Path) -> Fault {
    let path = path.display();
    Fault::new(
        FaultKind::Unreachable,
        format!("another process keeps {path} locked: it is stopped, or hangs"),
        format!("find it with `fuser {path}`, then continue it or kill it"),
    )
}

/// The fault if a file does not have the expected content.
pub(crate) fn damaged(path: &Path, damage: Damage, help: impl Into<String>) -> Fault {
    let shown = path.display();
    match damage {
        Damage::Io(error) => io("read", path, error),
        Damage::Torn => {
            Fault::new(FaultKind::Corrupt, format!("the state in {shown} makes no sense"), help)
        }
        Damage::OtherVersion(version) => Fault::new(
            FaultKind::Misconfigured,
            format!("{shown} was written by another version of tenure (format {version})"),
            "use one version on this machine, or give each a separate directory; \
             https://github.com/tenure-rs/tenure/blob/main/docs/upgrading.md#embedded says \
             how to change from one to the other",
        ),
    }
}

/// The fault if something else is where the state of a name should be.
pub(crate) fn not_a_state(path: &Path) -> Fault {
    let path = path.display();
    Fault::new(
        FaultKind::Misconfigured,
        format!("{path} was never the state of a lock, and was not changed"),
        "find out what put it there, and move it away",
    )
}

/// The fault if something else is where the record of slots of a name should be.
pub(crate) fn not_a_record(path: &Path) -> Fault {
    let path = path.display();
    Fault::new(
        FaultKind::Misconfigured,
        format!("{path} was never a record of slots, and was not changed"),
        "find out what put it there, and move it away",
    )
}

/// The fault if something else is where the history of a lock should be.
pub(crate) fn not_a_history(path: &Path) -> Fault {
    let path = path.display();
    Fault::new(
        FaultKind::Misconfigured,
        format!("{path} was never the history of a lock, and was not changed"),
        "find out what put it there, and move it away",
    )
}

/// The fault if a file has its name, and a loss of power may take that away again.
pub(crate) fn unsynced(path: &Path, error: io::Error) -> Fault {
    Fault::new(
        FaultKind::InDoubt,
        format!("{} may not outlive a loss of power", path.display()),
        "check the machine's disk and its log (dmesg)",
    )
    .because(error)
}

/// The fault if a state could not be written.
pub(crate) fn unwritten(path: &Path, error: WriteError) -> Fault {
    match error {
        WriteError::NoEffect(error) => io("write", path, error),
        WriteError::Unknown(error) => Fault::new(
            FaultKind::InDoubt,
            format!("{} could not be read back after a failed write", path.display()),
            "check the machine's disk and its log (dmesg)",
        )
        .because(error),
        WriteError::TooLarge(bytes) => Fault::new(
            FaultKind::Full,
            format!("the contenders of this name would fill {bytes} bytes, more than a file holds"),
            "try again when fewer contend",
        ),
    }
}
