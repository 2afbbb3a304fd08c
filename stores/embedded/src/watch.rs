//! Hints between processes: a datagram with the owner whose turn has come, or with the name whose
//! holders an operator evicted.
//!
//! They are hints (promise S6). One that is lost, or that finds a full queue, costs a waiter until
//! it looks by itself, and a holder until it renews.

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
    Evictions, HintBoard, LockName, Wakeups,
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

/// What stands in an owner's place where a name follows it.
const NOBODY: [u8; 16] = [0; 16];
/// The longest hint, and a byte more, by which longer ones are known.
const LONGEST: usize = NOBODY.len() + LockName::MAX_BYTES + 1;

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

    /// Registers the holders of this process, which starts the thread too: one that never waits is to
    /// hear of its eviction.
    pub(crate) fn evictions(&self) -> Evictions {
        self.started.get_or_init(|| self.start());
        self.board.evictions()
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

    /// Tells a process, this one or another, that it does not hold `name` any more.
    pub(crate) fn tell_evicted(&self, client: Client, name: &LockName) {
        if client == self.own {
            self.board.evicted(name);
            return;
        }
        // As above; it learns by its next renewal.
        let _ = self.send(client, &[&NOBODY, name.as_str().as_bytes()].concat());
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
        let mut message = [0; LONGEST];
        loop {
            let received = self.socket.recv(&mut message);
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            match received {
                Ok(length) => hear(board, message.get(..length).unwrap_or_default()),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    tracing::warn!(%error, "hints have stopped: waiters look by themselves");
                    return;
                }
                Err(_) => {}
            }
        }
    }
}

fn hear(board: &HintBoard, message: &[u8]) {
    let Some((owner, name)) = message.split_first_chunk::<16>() else { return };
    if name.is_empty() {
        board.wake(&Owner::from_bytes(*owner));
    } else if *owner == NOBODY
        && let Ok(name) = std::str::from_utf8(name)
        && let Ok(name) = LockName::new(name)
    {
        board.evicted(&name);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use tenure_core::Eviction;

    use super::*;

    fn heard(evictions: &mut Evictions) -> Option<LockName> {
        match evictions.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Eviction::Of(name)) => Some(name),
            _ => None,
        }
    }

    fn woken(wakeups: &mut Wakeups) -> bool {
        pin!(wakeups.next()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn only_what_is_an_owner_or_a_name_is_heard() {
        let board = HintBoard::new();
        let mut evictions = board.evictions();
        let named = |owner: [u8; 16], name: &[u8]| [&owner, name].concat();
        for message in [
            vec![],
            vec![0; 15],
            named([1; 16], b"a"),
            named(NOBODY, b"\xff"),
            named(NOBODY, b"line\nbreak"),
            named(NOBODY, &[b'a'; LockName::MAX_BYTES + 1]),
        ] {
            hear(&board, &message);
            assert_eq!(heard(&mut evictions), None, "{message:?}");
        }
        let longest = "a".repeat(LockName::MAX_BYTES);
        hear(&board, &named(NOBODY, longest.as_bytes()));
        assert_eq!(heard(&mut evictions).unwrap().as_str(), longest);

        let name = LockName::new("a").unwrap();
        let mut wakeups = board.listen(&name, &Owner::from_bytes([7; 16]));
        hear(&board, &[7; 17]);
        assert!(!woken(&mut wakeups));
        hear(&board, &[7; 16]);
        assert!(woken(&mut wakeups));
    }
}
