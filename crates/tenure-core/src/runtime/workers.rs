//! Threads for work that may block.
//!
//! An executor's blocking threads panic in the caller if the system has no thread to spare. Here, once one thread
//! exists, one stays for good, so that all work is done in the end. If there is none, that is an error.

use std::{
    any::Any,
    collections::VecDeque,
    io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tokio::sync::oneshot;

use super::PerProcess;

/// How long a thread without work stays, unless it is the last one.
const IDLE: Duration = Duration::from_secs(10);
/// The maximum number of jobs that wait for a thread.
const MOST_WAITING: usize = 65_536;
/// The maximum number of threads for [`may_block`]. Work that is stuck, such as a host name look-up whose server is
/// silent, must leave room for the rest.
const MOST: usize = 256;
/// The maximum number of threads for [`may_block_to_renew`].
const RENEWERS: usize = 8;

type Job = Box<dyn FnOnce() + Send>;

/// Threads for work that may block, with a maximum number.
#[derive(Debug)]
pub struct Workers {
    name: &'static str,
    most: usize,
    /// How long a thread without work stays.
    stays: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    threads: usize,
    /// One waker for each thread without work. The last one to become idle is the first to get work, so that threads
    /// that are not needed stay idle, and end.
    idle: Vec<Arc<Condvar>>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { waiting, threads, idle } = self;
        let (waiting, idle) = (waiting.len(), idle.len());
        write!(f, "{waiting} wait for {threads} threads, {idle} of them idle")
    }
}

impl Workers {
    /// Makes threads of this name, at most `most` at a time.
    #[must_use]
    pub fn new(name: &'static str, most: usize) -> Self {
        Self { name, most, stays: IDLE, state: Mutex::default() }
    }

    /// Ensures that there is a thread, which stays.
    ///
    /// # Errors
    /// The system allows no thread.
    pub fn ready(&'static self) -> io::Result<()> {
        let mut state = self.state();
        if state.threads > 0 { Ok(()) } else { self.grow(&mut state) }
    }

    /// Runs `work` on one of the threads, as soon as one has time for it.
    ///
    /// # Errors
    /// The system allows no thread and there is none yet, or too much work waits already. Then nothing is done.
    pub fn submit(&'static self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut state = self.state();
        if state.waiting.len() >= MOST_WAITING {
            return Err(io::Error::other("too much work waits for a thread"));
        }
        let idle = state.idle.pop();
        if idle.is_none() && state.threads < self.most {
            let grown = self.grow(&mut state);
            // The existing threads will do it.
            grown.or_else(|error| if state.threads > 0 { Ok(()) } else { Err(error) })?;
        }
        state.waiting.push_back(Box::new(work));
        drop(state);
        idle.iter().for_each(|idle| idle.notify_one());
        Ok(())
    }

    /// Runs `work` on one of the threads and returns its result.
    ///
    /// # Errors
    /// As for [`Workers::submit`].
    ///
    /// # Panics
    /// As `work` does.
    ///
    /// # Cancel safety
    /// As for [`may_block`].
    pub async fn done<T: Send + 'static>(
        &'static self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let (tells, told) = oneshot::channel::<Result<T, Box<dyn Any + Send>>>();
        self.submit(move || {
            if !tells.is_closed() {
                let _ = tells.send(catch_unwind(AssertUnwindSafe(work)));
            }
        })?;
        match told.await {
            Ok(done) => Ok(done.unwrap_or_else(|panic| resume_unwind(panic))),
            Err(_) => Err(io::Error::other("nobody does this work")),
        }
    }

    fn grow(&'static self, state: &mut State) -> io::Result<()> {
        thread::Builder::new().name(self.name.to_owned()).spawn(|| self.work())?;
        state.threads += 1;
        Ok(())
    }

    fn work(&'static self) {
        let wakes = Arc::new(Condvar::new());
        let mut state = self.state();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                // It may be the only one because no other thread was available before.
                if !state.waiting.is_empty() && state.idle.is_empty() && state.threads < self.most {
                    let _ = self.grow(&mut state);
                }
                drop(state);
                // The waiting caller learns of a panic, which ends no thread.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.state();
                continue;
            }
            state.idle.push(wakes.clone());
            let waited = wakes.wait_timeout(state, self.stays);
            let (back, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = back;
            // A caller that gives it work removes it from there.
            let still = state.idle.iter().position(|idle| Arc::ptr_eq(idle, &wakes));
            if let Some(index) = still {
                state.idle.remove(index);
                if timeout.timed_out() && state.waiting.is_empty() && state.threads > 1 {
                    state.threads -= 1;
                    return;
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static WORKERS: PerProcess<Workers> = PerProcess::new();
static FOR_RENEWALS: PerProcess<Workers> = PerProcess::new();

fn workers() -> io::Result<&'static Workers> {
    WORKERS.get(|| Ok(Workers::new("tenure-worker", MOST)))
}

fn renewers() -> io::Result<&'static Workers> {
    FOR_RENEWALS.get(|| Ok(Workers::new("tenure-renewer", RENEWERS)))
}

/// Ensures that the process has a thread for [`may_block`] and one for [`may_block_to_renew`], which stay. Use this for
/// a store that must continue to work when the system has no threads to spare.
///
/// # Errors
/// The system allows no thread.
pub fn ready_to_block() -> io::Result<()> {
    workers()?.ready()?;
    renewers()?.ready()
}

/// Runs `work`, which may block, on one of tenure's own threads, without waiting for it.
///
/// # Errors
/// The system allows no thread and there is none yet. Then nothing is done.
pub fn begin_to_block(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    workers()?.submit(work)
}

/// Runs `work`, which may block, on one of tenure's own threads, whatever runtime the caller has.
///
/// # Errors
/// The system allows no thread and there is none yet. Then nothing is done.
///
/// # Panics
/// As `work` does.
///
/// # Cancel safety
/// If the future is dropped before the work has begun, the work never begins. Work that has begun continues.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let lines = tenure_core::may_block(|| std::fs::read_to_string("/proc/self/status")).await??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn may_block<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    workers()?.done(work).await
}

/// Runs `work` like [`may_block`], but on threads reserved for renewals, so that other work that is stuck does not
/// delay them.
///
/// # Errors
/// As for [`may_block`].
///
/// # Panics
/// As `work` does.
///
/// # Cancel safety
/// As for [`may_block`].
pub async fn may_block_to_renew<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    renewers()?.done(work).await
}

/// Returns the addresses of `host` that the system knows, with this port.
///
/// Unlike tokio's function, it does not panic if the system has no thread to spare.
///
/// # Errors
/// The system's error, or an error because there is no thread to ask it on.
///
/// # Cancel safety
/// Cancel-safe.
pub async fn addresses(host: &str, port: u16) -> io::Result<Vec<std::net::SocketAddr>> {
    use std::net::{IpAddr, ToSocketAddrs};
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let host = host.to_owned();
    may_block(move || (host.as_str(), port).to_socket_addrs()).await?.map(Iterator::collect)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use std::{sync::mpsc, time::Instant};

    use super::*;

    #[test]
    fn threads_that_are_one_too_many_end_although_there_is_always_some_work() {
        let workers = Workers { stays: Duration::from_millis(200), ..Workers::new("test", 32) };
        let workers: &'static Workers = Box::leak(Box::new(workers));
        let (ends, until) = mpsc::channel::<()>();
        let until = Arc::new(Mutex::new(until));
        for _ in 0..32 {
            let until = until.clone();
            let stands_still = move || {
                until.lock().unwrap().recv().unwrap_err();
            };
            workers.submit(stands_still).unwrap();
        }
        assert_eq!(workers.state().threads, 32);
        drop(ends);
        let begun = Instant::now();
        while workers.state().threads > 2 {
            assert!(begun.elapsed() < Duration::from_secs(30), "{workers:?}");
            let (tells, told) = mpsc::channel();
            workers.submit(move || tells.send(()).unwrap()).unwrap();
            told.recv().unwrap();
            thread::yield_now();
        }
    }

    #[test]
    fn work_that_comes_as_a_thread_is_about_to_end_is_done() {
        let workers = Workers { stays: Duration::from_micros(50), ..Workers::new("test", 4) };
        let workers: &'static Workers = Box::leak(Box::new(workers));
        let (tells, told) = mpsc::channel();
        for _ in 0..5_000 {
            let tells = tells.clone();
            workers.submit(move || tells.send(()).unwrap()).unwrap();
            told.recv_timeout(Duration::from_secs(30)).unwrap();
        }
    }
}
