//! Tenure's own threads. One for the whole process has a tokio runtime, for the engine and for callers that have no
//! runtime; others do what may block.
//!
//! That the system has no thread to spare is an error here, and never a panic.

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

/// Does `work` on tenure's own thread, one for the whole process, which has timers and I/O and outlasts all
/// runtimes of callers. For what a store does in the background and that never blocks.
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
    // What a task needs of tokio is compiled once for each outcome, instead of once for each task.
    let work: BoxFuture<'static, W::Output> = Box::pin(work);
    Ok(own()?.spawn(work))
}

/// Does `work` on the executor of the caller, whichever that is.
///
/// What `work` needs of tokio, as timers, sockets and tasks in the background, it finds in the caller's
/// runtime, or in that of tenure's own thread if the caller has none. Each call to a store that a lock
/// makes is done in this way; only who calls a store directly needs it.
///
/// A runtime of the caller has to have timers and I/O: `enable_all`. It has to be
/// driven, too: a thread that is inside a runtime and blocks in another executor waits for ever, as nobody
/// keeps its time. Callers that block use `tenure::blocking`.
///
/// # Cancel safety
/// That of `work`.
///
/// ```
/// use std::time::Duration;
///
/// // A timer of tokio's is made when it is awaited, and needs a runtime then.
/// let waits = async { tokio::time::sleep(Duration::from_millis(1)).await };
/// futures_executor::block_on(tenure_core::within_runtime(waits));
/// ```
pub async fn within_runtime<W: Future>(work: W) -> W::Output {
    let (mut work, mut own) = (pin!(work), None);
    poll_fn(|context| {
        // It may be polled elsewhere than before.
        if Handle::try_current().is_err() && own.is_none() {
            match self::own() {
                Ok(handle) => own = Some(handle),
                // Without one tokio would panic. Here is nothing that could wake it, so this thread looks again.
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

/// That of tenure's own thread.
pub(crate) fn own() -> io::Result<Handle> {
    OWN.get(|| start("tenure-engine")).cloned()
}

/// Sees that tenure's own thread runs, on which the holds of this process are renewed.
///
/// # Errors
/// The system allows no more threads or files.
pub fn ready() -> io::Result<()> {
    own().map(drop)
}

/// Starts a thread of this name with a runtime of its own, for as long as the process lives. It is one of tenure's
/// own, as [`is_own_thread`] says.
///
/// # Errors
/// The system allows no more threads or files.
pub fn start(name: &str) -> io::Result<Handle> {
    begin(name, false, std::future::pending())
}

/// How often a caller without a runtime looks whether there is a thread to be had.
const LOOK: Duration = Duration::from_millis(20);
/// Threads on which drivers look up names, at most.
const LOOKUPS: usize = 4;
const FOR_EVER: Duration = Duration::from_secs(u32::MAX as u64);

/// The same for as long as `end` is not there. Where drivers look up names there, it has a thread for that from the
/// beginning, which stays: tokio panics where there is none and the system has none to spare.
pub(crate) fn begin(
    name: &str,
    looks_up_names: bool,
    end: impl Future<Output = ()> + Send + 'static,
) -> io::Result<Handle> {
    let (told, hears) = mpsc::sync_channel(1);
    // It is made and dropped there: in a task of another runtime it must not be dropped, and where there is no file
    // for the signals of the process tokio panics.
    let run = move || {
        IS_OWN.set(true);
        let mut builder = Builder::new_current_thread();
        builder.max_blocking_threads(LOOKUPS).thread_keep_alive(FOR_EVER);
        let runtime = match builder.enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(told.send(Err(error))),
        };
        if looks_up_names {
            // What this finds out that finds out by a panic.
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

/// Whether this thread is one of tenure's own, on which others depend: it must not wait for them.
#[must_use]
pub fn is_own_thread() -> bool {
    // Of a thread that ends nobody can say it; none of ours does so with work left.
    IS_OWN.try_with(Cell::get).unwrap_or_default()
}
