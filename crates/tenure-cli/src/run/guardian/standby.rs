//! The one that waits for the guardian's death and kills what it leaves.
//!
//! tenure does so too. But it may be stopped, or dead as well, and then the kernel kills the
//! command's main process alone.

use std::{
    env::ArgsOs,
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, ExitCode},
};

use nix::{
    errno::Errno,
    sys::wait::{Id, WaitPidFlag, waitid},
};

use super::{LOOK, group, remains::Remains};
use crate::run::signals::deaf_to;
use crate::{
    exit,
    run::{GUARDIAN, descriptors, own_program},
};

pub(crate) fn main(args: ArgsOs) -> ExitCode {
    match stand_by(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(exit::FAILED),
    }
}

fn stand_by(args: ArgsOs) -> io::Result<()> {
    deaf_to().thread_block()?;
    nix::sys::prctl::set_name(c"lock-standby")?;
    // What the guardian leaves becomes this process's own.
    group::adopt_orphans()?;
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // Kept to the very end: while this process has work to do, the store counts tenure as alive.
    let liveness = descriptors::receive(&socket)?;
    let mut guardian = Command::new(own_program()?)
        .arg0(GUARDIAN)
        .args(args)
        .stdin(OwnedFd::from(socket))
        .process_group(0)
        .spawn()?;
    // The socket is the guardian's alone: its end tells tenure of the guardian's.
    nix::unistd::dup2_stdin(File::open("/dev/null")?)?;
    guardian.wait()?;
    if childless() {
        return Ok(());
    }
    let mut remains = Remains::default();
    while !remains.end() {
        std::thread::sleep(LOOK);
    }
    drop(liveness);
    Ok(())
}

/// Whether there is nobody to collect, as after an orderly end. Cheaper than the list of all processes.
fn childless() -> bool {
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::All, look) == Err(Errno::ECHILD)
}
