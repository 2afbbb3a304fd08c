//! The calls of one connection that are under way: what is to be sent, and whose replies are to come.

use std::{
    collections::VecDeque,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures_util::task::AtomicWaker;
use tokio::sync::oneshot;

use crate::{failure::Failure, protocol::Value, stream::Writer};

/// A server that leaves so many calls unanswered is not asked more: further ones fail at once.
pub(crate) const MOST_WAITING: usize = 65_536;

/// Is told what the server says of its own accord, on the task of the connection.
pub(crate) type Hear = Box<dyn Fn(&[Value]) + Send>;

pub(crate) type Answer = oneshot::Sender<Result<Value, Failure>>;

/// What calls and the driver share.
pub(crate) struct Pipeline {
    state: Mutex<State>,
    /// Used by whoever has set [`State::writing`].
    pub(crate) writer: Mutex<Writer>,
    pub(crate) driver: AtomicWaker,
}

#[derive(Default)]
pub(crate) struct State {
    /// Commands that nobody writes yet.
    pub(crate) out: Vec<u8>,
    /// Whose replies are to come, in their order.
    pub(crate) waiting: VecDeque<Answer>,
    /// How many replies have come.
    pub(crate) answered: u64,
    /// Somebody is writing.
    pub(crate) writing: bool,
    /// The driver was told that there is something to write.
    pub(crate) told: bool,
    /// The driver looks from time to time whether replies come.
    pub(crate) watched: bool,
    closed: bool,
}

impl Pipeline {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { state: Mutex::default(), writer: Mutex::new(writer), driver: AtomicWaker::new() }
    }

    /// Adds the command that `write` writes; its reply goes to `sender`.
    pub(crate) fn send(&self, write: impl FnOnce(&mut Vec<u8>), sender: Answer) {
        let mut state = self.lock();
        if state.closed || state.waiting.len() >= MOST_WAITING {
            return;
        }
        let idle = state.waiting.is_empty() && state.out.is_empty() && !state.writing;
        write(&mut state.out);
        state.waiting.push_back(sender);
        let mut wake = !std::mem::replace(&mut state.watched, true);
        if idle {
            state.writing = true;
            let out = std::mem::take(&mut state.out);
            drop(state);
            wake |= self.write_now(out);
        } else {
            wake |= !std::mem::replace(&mut state.told, true);
            drop(state);
        }
        if wake {
            self.driver.wake();
        }
    }

    /// Writes what has gathered, unless somebody is writing.
    pub(crate) fn flush(&self) {
        let mut state = self.lock();
        if state.closed || state.writing || state.out.is_empty() {
            return;
        }
        state.writing = true;
        let out = std::mem::take(&mut state.out);
        drop(state);
        if self.write_now(out) {
            self.driver.wake();
        }
    }

    /// Writes what the socket takes at once; `true` when the driver has to write the rest.
    fn write_now(&self, mut out: Vec<u8>) -> bool {
        // Should the socket be broken, the driver finds that too.
        let written = lock(&self.writer).write_now(&out).unwrap_or(0);
        let mut state = self.lock();
        state.writing = false;
        out.drain(..written);
        if out.is_empty() {
            // What came meanwhile is kept, and the room for it otherwise.
            if state.out.is_empty() {
                state.out = out;
                return false;
            }
        } else {
            out.append(&mut state.out);
            state.out = out;
        }
        !std::mem::replace(&mut state.told, true)
    }

    /// Nothing is sent or answered any more, and every call under way fails.
    pub(crate) fn close(&self, error: &Failure) {
        let waiting = {
            let mut state = self.lock();
            state.closed = true;
            state.out = Vec::new();
            std::mem::take(&mut state.waiting)
        };
        for answer in waiting {
            // Whoever asked may be gone.
            let _ = answer.send(Err(error.clone()));
        }
    }

    /// Whether nothing can be sent any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection ended.
pub(crate) fn broken() -> Failure {
    io::ErrorKind::BrokenPipe.into()
}
