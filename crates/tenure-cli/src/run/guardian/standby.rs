//! The one that waits for the guardian's death and kills what it leaves.
//!
//! tenure does so too. But it may be stopped, or dead as well, and then the kernel kills the
//! command's main process alone.

use std::{fs::File, io, process};

use fork::{Fork, fork, waitpid};
use nix::{
    errno::Errno,
    sys::wait::{Id, WaitPidFlag, waitid},
    unistd::{Pid, dup2_stdin, setpgid},
};

use super::{
    GuardianFiles, LOOK, be_guardian, group, remains::RemainingProcesses, report_not_started,
};
use crate::exit;

/// Starts the guardian and stands by until nothing of its work is left.
///
/// The guardian is a copy of this process, made before there is any runtime or thread, and shares its
/// command line. To start the program once more would cost more than all that both of them do.
pub(super) fn stand_by(handed: GuardianFiles) -> io::Result<()> {
    // Nothing that can fail comes after the fork: without this process a guardian would be alone.
    let nothing = File::open("/dev/null").inspect_err(report_not_started)?;
    let guardian = match fork().inspect_err(report_not_started)? {
        Fork::Child => process::exit(match become_guardian(handed) {
            Ok(()) => 0,
            Err(_) => exit::FAILED.into(),
        }),
        Fork::Parent(guardian) => guardian,
    };
    let GuardianFiles { stdin, liveness } = handed;
    drop(stdin);
    // The socket is the guardian's alone: its end tells tenure of the guardian's.
    let _ = dup2_stdin(nothing);
    let _ = waitpid(guardian);
    if childless() {
        return Ok(());
    }
    let mut remains = RemainingProcesses::default();
    while !remains.kill_and_reap() {
        std::thread::sleep(LOOK);
    }
    // Kept to the very end: while this process has work to do, the store counts tenure as alive.
    drop(liveness);
    Ok(())
}

fn become_guardian(handed: GuardianFiles) -> io::Result<()> {
    nix::sys::prctl::set_name(c"lock-guardian")?;
    // Whoever kills the standby's group is not to kill the guardian with it.
    let this = Pid::from_raw(0);
    setpgid(this, this)?;
    // That is not inherited.
    group::adopt_orphans()?;
    be_guardian(handed)
}

/// Whether there is nobody to collect, as after an orderly end. Cheaper than the list of all processes.
fn childless() -> bool {
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::All, look) == Err(Errno::ECHILD)
}
