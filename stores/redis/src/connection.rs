//! One connection that many tasks share: commands go out in the order of their calls, and each
//! reply goes to the call that is next in line.
//!
//! A call that finds the connection idle writes by itself, so that nobody has to be woken for it.
//! When others are under way it leaves its command to the driver, which writes what has gathered.

use std::{
    collections::VecDeque,
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::task::AtomicWaker;
use redis::{RedisError, Value};
use tokio::{sync::oneshot, task::AbortHandle};

use crate::{
    driver::Driver,
    stream::{Reader, Writer},
};

/// A server that leaves so many calls unanswered is not asked more: further ones fail at once.
const MOST_WAITING: usize = 65_536;

/// Is told what the server says of its own accord, on the task of the connection.
pub(crate) type Hear = Box<dyn Fn(&[Value]) + Send>;

pub(crate) type Answer = oneshot::Sender<Result<Value, RedisError>>;

/// A connection; dropping it closes it.
pub(crate) struct Connection {
    shared: Arc<Shared>,
    driver: AbortHandle,
}

/// What calls and the driver share.
pub(crate) struct Shared {
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

impl Connection {
    /// Drives a connection in the runtime of the caller. When no answer comes for as long as
    /// `patience`, it is closed.
    pub(crate) fn start(
        reader: Reader,
        writer: Writer,
        patience: Duration,
        hear: Option<Hear>,
    ) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            writer: Mutex::new(writer),
            driver: AtomicWaker::new(),
        });
        let driver = Driver::new(shared.clone(), reader, patience, hear);
        Self { shared, driver: tokio::spawn(driver).abort_handle() }
    }

    /// Sends the command that `write` writes, and waits for its reply.
    ///
    /// # Cancel safety
    /// When this is dropped, the command is sent all the same, now if it was not yet, and its reply
    /// goes nowhere.
    pub(crate) async fn call(&self, write: impl FnOnce(&mut Vec<u8>)) -> Result<Value, RedisError> {
        let (sender, answer) = oneshot::channel();
        self.shared.send(write, sender);
        let mut call = UnderWay { shared: &self.shared, answered: false };
        let answer = answer.await;
        call.answered = true;
        answer.unwrap_or_else(|_| Err(broken()))?.extract_error()
    }

    /// Whether nothing can be sent any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.lock().closed
    }
}

/// A call whose answer has not come.
struct UnderWay<'a> {
    shared: &'a Shared,
    answered: bool,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        // Else what takes this call back, over another connection, might overtake it.
        if !self.answered {
            self.shared.flush();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Shared {
    fn send(&self, write: impl FnOnce(&mut Vec<u8>), sender: Answer) {
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
    fn flush(&self) {
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
    pub(crate) fn close(&self, error: &RedisError) {
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

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connection ended.
pub(crate) fn broken() -> RedisError {
    RedisError::from(io::Error::from(io::ErrorKind::BrokenPipe))
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn a_server_that_never_answers_is_asked_only_so_often() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (reader, writer) = stream.into_split();
        let patience = Duration::from_secs(60);
        let connection = Connection::start(Box::new(reader), Writer::Tcp(writer), patience, None);
        let send = || {
            let (sender, answer) = oneshot::channel();
            connection.shared.send(|out| out.push(b'x'), sender);
            answer
        };
        let mut answers: Vec<_> = (0..MOST_WAITING).map(|_| send()).collect();
        let open = oneshot::error::TryRecvError::Empty;
        assert!(answers.iter_mut().all(|answer| answer.try_recv().err() == Some(open.clone())));
        let refused = send().try_recv().err();
        assert_eq!(refused, Some(oneshot::error::TryRecvError::Closed));
    }
}
