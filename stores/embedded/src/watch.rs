//! Wake-ups between processes: a datagram with the owner whose turn has come.
//!
//! They are hints (promise S6). One that is lost, or that finds a full queue, costs a waiter until
//! it looks by itself.

use std::{
    io,
    net::Shutdown,
    os::unix::net::UnixDatagram,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use tenure_core::{
    HintBoard, LockName, Wakeups,
    proto::{
        Owner,
        queue::{Client, Wake},
    },
};

use crate::{
    members::{Members, name_of},
    short_path::ShortPath,
    socket,
};

/// Sends and receives hints for one store.
#[derive(Debug)]
pub(crate) struct Watch {
    board: HintBoard,
    own: Client,
    members: Arc<Members>,
    dir: ShortPath,
    sender: io::Result<UnixDatagram>,
    receiver: io::Result<Arc<Receiver>>,
    started: OnceLock<bool>,
}

#[derive(Debug)]
struct Receiver {
    socket: UnixDatagram,
    stopping: AtomicBool,
}

impl Watch {
    /// Opens the store's socket. Without one its waiters look by themselves.
    pub(crate) fn open(members: Arc<Members>) -> Self {
        let own = members.own();
        let sender = UnixDatagram::unbound()
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
        let receiver = socket::bind(members.dir(), &name_of(own), members.layout().access())
            .map(|socket| Arc::new(Receiver { socket, stopping: AtomicBool::new(false) }));
        if let Err(error) = &receiver {
            tracing::debug!(%error, "no socket for hints: waiters look by themselves");
        }
        let (board, dir) = (HintBoard::new(), ShortPath::of(members.dir()));
        Self { board, own, members, dir, sender, receiver, started: OnceLock::new() }
    }

    /// Registers a waiter. The first one starts the thread that listens.
    pub(crate) fn listen(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.started.get_or_init(|| self.start());
        self.board.listen(name, owner)
    }

    /// Tells a waiter, here or in another process, that it should ask again.
    pub(crate) fn tell(&self, wake: &Wake) {
        if wake.client == self.own {
            self.board.wake(&wake.owner);
            return;
        }
        // Nobody there, or too many hints underway: the waiter looks by itself.
        let _ = self.send(wake.client, wake.owner.as_bytes());
    }

    fn send(&self, to: Client, hint: &[u8]) -> io::Result<()> {
        let Ok(sender) = &self.sender else { return Ok(()) };
        let access = self.members.layout().access();
        socket::send(sender, (self.members.dir(), &self.dir), &name_of(to), access, hint)
    }

    /// Why there are no hints, if there are none.
    pub(crate) fn trouble(&self) -> Option<String> {
        match (&self.receiver, self.started.get()) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(_), Some(false)) => Some("no thread could be started".to_owned()),
            (Ok(_), _) => self.sender.as_ref().err().map(ToString::to_string),
        }
    }

    fn start(&self) -> bool {
        let Ok(receiver) = &self.receiver else { return false };
        let (receiver, board) = (receiver.clone(), self.board.clone());
        thread::Builder::new()
            .name("tenure-hints".to_owned())
            .spawn(move || receiver.run(&board))
            .is_ok()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Ok(receiver) = &self.receiver else { return };
        // The child of a fork has the parent's very socket.
        if !self.members.are_ours() {
            return;
        }
        receiver.stopping.store(true, Ordering::Release);
        // Either of the two ends the thread's wait.
        let _ = self.send(self.own, &[]);
        let _ = receiver.socket.shutdown(Shutdown::Both);
    }
}

impl Receiver {
    fn run(&self, board: &HintBoard) {
        let mut message = [0; 17];
        loop {
            let received = self.socket.recv(&mut message);
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            match received {
                Ok(16) => {
                    let mut owner = [0; 16];
                    owner.copy_from_slice(message.get(..16).unwrap_or(&[0; 16]));
                    board.wake(&Owner::from_bytes(owner));
                }
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    tracing::warn!(%error, "hints have stopped: waiters look by themselves");
                    return;
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
}
