//! Where a thread that blocks hears itself that its turn has come.

use std::{
    io,
    os::{fd::AsFd, unix::net::UnixDatagram},
    sync::Arc,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use tenure_core::threads::HintSource;

use crate::{
    hints::{ear::HintSocket, hint},
    members::Members,
};

/// The socket of a store's waiters, and a way to call back who listens there.
#[derive(Debug)]
pub(crate) struct BlockingHintSource {
    ear: Arc<HintSocket>,
    members: Arc<Members>,
    interrupt: UnixDatagram,
    interrupted: UnixDatagram,
}

impl BlockingHintSource {
    pub(crate) fn new(ear: &Arc<HintSocket>, members: &Arc<Members>) -> io::Result<Self> {
        let (interrupt, interrupted) = UnixDatagram::pair()?;
        interrupt.set_nonblocking(true)?;
        interrupted.set_nonblocking(true)?;
        let (ear, members) = (ear.clone(), members.clone());
        Ok(Self { ear, members, interrupt, interrupted })
    }
}

impl HintSource for BlockingHintSource {
    fn wait(&self, until: Option<Instant>) -> io::Result<()> {
        // The child of a fork would take its parent's hints.
        if !self.members.are_ours() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let watched = [&self.ear.socket, &self.interrupted];
        let mut watched = watched.map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN));
        match poll(&mut watched, timeout(until)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [hint, interruption] = watched.map(|socket| socket.any().unwrap_or(true));
        if interruption {
            while unless_empty(self.interrupted.recv(&mut [0]))?.is_some() {}
        }
        let mut message = [0; hint::LONGEST];
        if hint && let Some(length) = unless_empty(self.ear.socket.recv(&mut message))? {
            hint::dispatch_hint(&self.ear.board, message.get(..length).unwrap_or_default());
        }
        Ok(())
    }

    fn interrupt(&self) {
        // One that finds a full queue is not needed, and one for which there is no memory is lost.
        let _ = self.interrupt.send(&[0]);
    }
}

/// In whole milliseconds, rather too late than too early: who is woken early waits again.
fn timeout(until: Option<Instant>) -> PollTimeout {
    let Some(until) = until else { return PollTimeout::NONE };
    let left = until.saturating_duration_since(Instant::now());
    let left = left.saturating_add(Duration::from_nanos(999_999));
    PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
}

/// What was received; nothing if others took it, or nothing had come.
fn unless_empty(received: io::Result<usize>) -> io::Result<Option<usize>> {
    match received {
        Ok(length) => Ok(Some(length)),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        },
    }
}
