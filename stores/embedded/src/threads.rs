//! Threads for calls that may block, on behalf of those who must not.

use std::io;

use tenure_core::runtime::{PerProcess, Workers};

/// How many calls of a process are on threads at the same time: where thousands of holds are dropped at once, they
/// take turns. Each takes microseconds, unless a process was stopped in the middle of a decision.
const MOST: usize = 16;

/// How many of them add to histories. They are others: a history that does not get on must not take a thread from a
/// lock.
const MOST_ON_HISTORIES: usize = 4;

/// How many of them read histories, which may be long. They are others again: a reader waits for no lock of a file, so
/// it must not wait for those who do.
const MOST_READING_HISTORIES: usize = 2;

static WORKERS: PerProcess<Workers> = PerProcess::new();
static ON_HISTORIES: PerProcess<Workers> = PerProcess::new();
static READING_HISTORIES: PerProcess<Workers> = PerProcess::new();

fn workers() -> io::Result<&'static Workers> {
    WORKERS.get(|| Ok(Workers::new("tenure-files", MOST)))
}

/// Sees that there is a thread for calls, which stays.
///
/// # Errors
/// The system allows no thread.
pub(crate) fn ensure_worker() -> io::Result<()> {
    workers()?.ready()
}

/// Does `work` on one of them.
///
/// # Errors
/// The system allows no thread, and there is none yet: then nothing is done.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    workers()?.done(work).await
}

/// Adds to a history, on a thread that no lock needs.
///
/// # Errors
/// As for [`run_blocking`].
pub(crate) async fn run_on_history<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    ON_HISTORIES.get(|| Ok(Workers::new("tenure-history", MOST_ON_HISTORIES)))?.done(work).await
}

/// Reads a history, on a thread that neither a lock nor who adds to histories needs.
///
/// # Errors
/// As for [`run_blocking`].
pub(crate) async fn run_reading_history<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let readers = || Ok(Workers::new("tenure-readers", MOST_READING_HISTORIES));
    READING_HISTORIES.get(readers)?.done(work).await
}
