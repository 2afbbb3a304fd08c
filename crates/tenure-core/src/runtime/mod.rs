//! tenure's own threads. One thread per process has a tokio runtime, for the engine and for callers without a runtime.
//! Others do work that may block.
//!
//! If the system has no thread to spare, that is an error here, never a panic.

mod per_process;
mod workers;

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    io,
    pin::pin,
    sync::mpsc,
    task::Poll,
    thread,
    time::Duration,
};

use futures_util::future::BoxFuture;
pub use per_process::PerProcess;
use tokio::{
    runtime::{Builder, Handle},
    task::JoinHandle,
};
pub use workers::{
    Workers, addresses, begin_to_block, may_block, may_block_to_renew, ready_to_block,
};

static OWN: PerProcess<Handle> = PerProcess::new();

/// Runs `work` on tenure's own thread. There is one per process; it has timers and I/O, and outlasts all runtimes of
/// callers. Use this for background work of a store that never blocks.
///
/// # Errors
/// The system allows no more threads or files.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// assert_eq!(tenure_core::in_background(async { 7 })?.await?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn in_background<W>(work: W) -> io::Result<JoinHandle<W::Output>>
where
    W: Future<Output: Send> + Send + 'static,
{
    // The code of tokio for a task is compiled once for each outcome, instead of once for each
    // task.
    let work: BoxFuture<'static, W::Output> = Box::pin(work);
    Ok(own()?.spawn(work))
}

/// Runs `work` on the caller's executor, whichever that is.
///
/// For timers, sockets and background tasks of tokio, `work` uses the caller's runtime, or that of tenure's own thread
/// if the caller has none. Every call that a lock makes to a store is made in this way. You need this only if you call
/// a store directly.
///
/// A runtime of the caller must have timers and I/O (`enable_all`), and it must be driven. A thread that is inside a
/// runtime and blocks in another executor waits for ever, because its runtime's timers do not run. Callers that block
/// use `tenure::blocking`.
///
/// # Cancel safety
/// As for `work`.
///
/// ```
/// use std::time::Duration;
///
/// // A timer of tokio is made when it is awaited, and needs a runtime then.
/// let waits = async { tokio::time::sleep(Duration::from_millis(1)).await };
/// futures_executor::block_on(tenure_core::within_runtime(waits));
/// ```
pub async fn within_runtime<W: Future>(work: W) -> W::Output {
    let (mut work, mut own) = (pin!(work), None);
    poll_fn(|context| {
        // It may be polled by another executor than before.
        if Handle::try_current().is_err() && own.is_none() {
            match self::own() {
                Ok(handle) => own = Some(handle),
                // Without a runtime, tokio would panic. Nothing here could wake the task, so this
                // thread polls.
                Err(error) => {
                    tracing::debug!(%error, "tenure's own thread cannot be started yet");
                    thread::sleep(LOOK);
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        }
        let _entered = own.as_ref().map(Handle::enter);
        work.as_mut().poll(context)
    })
    .await
}

/// The runtime of tenure's own thread.
pub(crate) fn own() -> io::Result<Handle> {
    OWN.get(|| start("tenure-engine")).cloned()
}

/// Starts tenure's own thread if it does not run. The holds of this process are renewed on it.
///
/// # Errors
/// The system allows no more threads or files.
pub fn ready() -> io::Result<()> {
    own().map(drop)
}

/// Starts a thread of this name with a separate runtime, for as long as the process lives. It is one of tenure's own,
/// for [`is_own_thread`].
///
/// # Errors
/// The system allows no more threads or files.
pub fn start(name: &str) -> io::Result<Handle> {
    begin(name, false, std::future::pending())
}

/// How often a caller without a runtime checks whether a thread is available.
const LOOK: Duration = Duration::from_millis(20);
/// The maximum number of threads on which drivers look up host names.
const LOOKUPS: usize = 4;
const FOR_EVER: Duration = Duration::from_secs(u32::MAX as u64);

/// The same until `end` is ready. If drivers look up host names there, it has a thread for that from the beginning,
/// which stays: tokio panics if there is none and the system has none to spare.
pub(crate) fn begin(
    name: &str,
    looks_up_names: bool,
    end: impl Future<Output = ()> + Send + 'static,
) -> io::Result<Handle> {
    let (told, hears) = mpsc::sync_channel(1);
    // The runtime is made and dropped on this thread. It must not be dropped in a task of another
    // runtime, and tokio panics if there is no file for the signals of the process.
    let run = move || {
        IS_OWN.set(true);
        let mut builder = Builder::new_current_thread();
        builder.max_blocking_threads(LOOKUPS).thread_keep_alive(FOR_EVER);
        let runtime = match builder.enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(told.send(Err(error))),
        };
        if looks_up_names {
            // `spawn_blocking` below reports a lack of threads only by a panic.
            let spare = thread::Builder::new().spawn(|| {}).and_then(|spare| {
                spare.join().map_err(|_| io::Error::other("a thread without work panicked"))
            });
            if let Err(error) = spare {
                return drop(told.send(Err(error)));
            }
            drop(runtime.spawn_blocking(|| {}));
        }
        let _ = told.send(Ok(runtime.handle().clone()));
        drop(told);
        runtime.block_on(end);
    };
    thread::Builder::new().name(name.to_owned()).spawn(run)?;
    let panicked =
        |_| io::Error::other("it panicked at its start: is the limit of open files too low?");
    hears.recv().map_err(panicked)?
}

thread_local! {
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread is one of tenure's own, on which others depend. Such a thread must not wait for them.
#[must_use]
pub fn is_own_thread() -> bool {
    // This is not known of a thread that is ending, but none of ours ends with work left.
    IS_OWN.try_with(Cell::get).unwrap_or_default()
}
