//! Running a command under a lock.
//!
//! Four processes take part. *tenure* holds the lock. The *guardian*, this very program in a
//! process group of its own, starts the command, is told each new deadline through a socket, and
//! kills the command's process group before the lock can pass: when the last deadline it knows is
//! near, and at once when the socket ends because tenure is gone. The *command* is started by a
//! small step in between, this program once more, which arranges that the kernel kills it with the
//! guardian, and then becomes the command. On Linux the guardian is started by a *standby*, which
//! does nothing but kill what a dead guardian leaves: tenure, which does that too, may be stopped or
//! dead. A guardian that is stopped itself is killed by the kernel in time.

pub(crate) mod acquire;
pub(crate) mod child;
mod command;
mod descriptors;
pub(crate) mod detaching;
pub(crate) mod ending;
pub(crate) mod guardian;
pub(crate) mod held;
pub(crate) mod interrupt;
pub(crate) mod patience;
pub(crate) mod protocol;
pub(crate) mod signals;
pub(crate) mod supervise;
pub(crate) mod terminal;
pub(crate) mod under_lock;
pub(crate) mod waiting;

use std::{env, process::ExitCode};

/// What the guardian is called in a list of processes. Not like tenure itself, so that
/// `pkill tenure` leaves it alive to do its work.
const GUARDIAN: &str = "lock-guardian";
/// What the one that waits for the guardian's death is called.
#[cfg(target_os = "linux")]
const STANDBY: &str = "lock-standby";
/// What the step before the command is called.
const COMMAND: &str = "lock-command";
/// What tenure is called while it dies of a signal.
const INTERRUPTED: &str = "lock-interrupted";

#[cfg(target_os = "linux")]
pub(crate) fn own_program() -> std::io::Result<std::path::PathBuf> {
    // Unlike the path, this is right even after the file was replaced by a newer version.
    Ok("/proc/self/exe".into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn own_program() -> std::io::Result<std::path::PathBuf> {
    env::current_exe()
}

/// Does the work of a guardian, of its standby, of the step before the command or of the last one if
/// this process was started as one.
pub(crate) fn play_role() -> Option<ExitCode> {
    let mut args = env::args_os();
    match args.next()?.to_str()? {
        GUARDIAN => Some(guardian::main()),
        #[cfg(target_os = "linux")]
        STANDBY => Some(guardian::standby::main(args)),
        COMMAND => Some(command::main(args)),
        INTERRUPTED => Some(interrupt::main(args)),
        _ => None,
    }
}
