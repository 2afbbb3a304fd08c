//! Running a command under a lock.
//!
//! Four processes take part. *tenure* holds the lock. The *guardian*, in a process group of its own,
//! starts the command, is told each new deadline through a socket, and kills the command's process
//! group before the lock can pass: when the last deadline it knows is near, and at once when the
//! socket ends because tenure is gone. The *command*'s process is forked from the guardian, lets the
//! kernel kill it with the guardian, and becomes the command. On Linux the guardian is itself forked
//! from a *standby*, which does nothing but kill what a dead guardian leaves: tenure, which does that
//! too, may be stopped or dead. A guardian that is stopped itself is killed by the kernel in time.
//!
//! tenure starts this very program anew for the others: it has threads, which a fork does not survive,
//! and a command line that people kill by. The others have one thread each.

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

/// What the guardian, and on Linux its standby too, is called by its command line. Not like tenure
/// itself, so that `pkill -f tenure` leaves both alive to do their work. Their names tell them apart.
const GUARDIAN: &str = "lock-guardian";
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

/// Does the work of a guardian and of its standby, or of the last step, if this process was started as
/// one of them.
pub(crate) fn run_guardian_role() -> Option<ExitCode> {
    let mut args = env::args_os();
    match args.next()?.to_str()? {
        GUARDIAN => Some(guardian::main()),
        INTERRUPTED => Some(interrupt::main(args)),
        _ => None,
    }
}
