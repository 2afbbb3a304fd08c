//! Hints between processes, by datagrams: each store has a socket where it hears of evictions, and once it
//! waits for something another one where it hears of its turns.
//!
//! They are hints (promise [S6](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s6-wake-ups-are-hints)). One that is lost, or that finds a full queue, costs a waiter until
//! it looks by itself, and a holder until it renews.

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use tenure_core::{
    Evictions, HintBoard, LockName, Wakeups,
    proto::{
        Owner,
        queue::{Client, Wake},
    },
};

use crate::{
    files::layout::{SOCKET, WAKE_SOCKET},
    hints::{hint, listening::HintListener, sender::HintSender, socket},
    members::{Members, name_of},
};

/// Sends and receives hints for one store.
#[derive(Debug)]
pub(crate) struct HintChannel {
    board: HintBoard,
    own: Client,
    sender: HintSender,
    /// Where holders are told, and waiters by whoever finds no other socket of theirs.
    receiver: io::Result<Arc<HintListener>>,
    is_listening: AtomicBool,
    /// Kept for those who begin to wait.
    _waiting: Arc<WaiterSocket>,
}

/// Where waiters are told, once there are some.
#[derive(Debug)]
struct WaiterSocket {
    members: Arc<Members>,
    board: HintBoard,
    receiver: OnceLock<Option<Arc<HintListener>>>,
}

impl HintChannel {
    /// Opens the store's socket. Without one its waiters look by themselves.
    pub(crate) fn open(members: Arc<Members>) -> Self {
        let (own, board) = (members.own(), HintBoard::new());
        let receiver = bind(&members, SOCKET, &board);
        if let Err(error) = &receiver {
            tracing::debug!(%error, "no socket for hints: waiters ask on their own");
        }
        let waiting = Arc::new(WaiterSocket {
            members: members.clone(),
            board: board.clone(),
            receiver: OnceLock::new(),
        });
        let begins = Arc::downgrade(&waiting);
        board.on_wait(move || {
            if let Some(waiting) = begins.upgrade() {
                waiting.prepare_wait();
            }
        });
        let sender = HintSender::new(members.clone());
        Self {
            board,
            own,
            sender,
            receiver,
            is_listening: AtomicBool::new(false),
            _waiting: waiting,
        }
    }

    /// Registers a waiter.
    pub(crate) fn register_waiter(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.start();
        self.board.listen(name, owner)
    }

    /// Registers the holders of this process: one that never waits is to hear of its eviction.
    pub(crate) fn register_holders(&self) -> Evictions {
        self.start();
        self.board.evictions()
    }

    /// Tells a waiter, here or in another process, that it should ask again.
    pub(crate) fn notify_waiter(&self, wake: &Wake) {
        if wake.client == self.own {
            self.board.wake(&wake.owner);
            return;
        }
        // Nobody there, or too many hints underway: the waiter looks by itself.
        let _ = self.sender.to_waiters(wake.client, wake.owner.as_bytes());
    }

    /// Tells a process, this one or another, that it does not hold `name` any more.
    pub(crate) fn tell_evicted(&self, client: Client, name: &LockName) {
        if client == self.own {
            self.board.evicted(name);
            return;
        }
        // As above; it learns by its next renewal.
        let _ = self.sender.to_holders(client, &hint::of_eviction(name));
    }

    /// Why there are no hints, if there are none.
    pub(crate) fn unavailable_reason(&self) -> Option<String> {
        match (&self.receiver, self.is_listening.load(Ordering::Relaxed)) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(receiver), true) if !receiver.is_heard_on_own_thread() => {
                Some("the system provided no thread or no file for listening".to_owned())
            }
            (Ok(_), _) => self.sender.send_error().map(ToString::to_string),
        }
    }

    fn start(&self) {
        self.is_listening.store(true, Ordering::Relaxed);
        self.receiver.iter().for_each(HintListener::ensure_thread_listener);
    }
}

impl WaiterSocket {
    /// Somebody is about to wait: it is to be woken where it waits.
    fn prepare_wait(&self) {
        let receiver = self.receiver.get_or_init(|| {
            // The child of a fork would take its parent's place.
            if !self.members.are_ours() {
                return None;
            }
            let bound = bind(&self.members, WAKE_SOCKET, &self.board);
            // What is told at the other socket wakes it too, a little later.
            bound.inspect_err(|error| tracing::debug!(%error, "no socket for waiters")).ok()
        });
        if let Some(receiver) = receiver {
            receiver.ensure_listener();
        }
    }
}

fn bind(members: &Arc<Members>, ending: &str, board: &HintBoard) -> io::Result<Arc<HintListener>> {
    let name = format!("{}{ending}", name_of(members.own()));
    let socket = socket::bind(members.dir(), &name, members.layout().access())?;
    // Who holds is told also if there are no more files by then. A waiter looks by itself.
    let spare = (ending == SOCKET).then(|| socket.try_clone()).transpose()?;
    HintListener::new(socket, spare, board, members)
}
