//! Tenure's own thread, one for the whole process, with a tokio runtime: for the engine, and for callers
//! that have no runtime.

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    process,
    sync::{Mutex, OnceLock, PoisonError},
};

use tokio::{
    runtime::{Builder, Handle},
    task::JoinHandle,
};

static OWN: OnceLock<Own> = OnceLock::new();
/// A forked child has the one above, and neither its thread nor a right to the sockets of its parent.
static OF_CHILD: Mutex<Option<Own>> = Mutex::new(None);

/// The runtime of tenure's own thread, and the process that has it.
struct Own {
    handle: Handle,
    process: u32,
}

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
            own = self::own().ok();
        }
        let _entered = own.as_ref().map(Handle::enter);
        work.as_mut().poll(context)
    })
    .await
}

fn own() -> io::Result<Handle> {
    let own = match OWN.get() {
        Some(own) => own,
        // If two come here at once, the thread of the one that loses stays idle for ever.
        None => OWN.get_or_init({
            let own = start()?;
            || own
        }),
    };
    if own.process == process::id() {
        return Ok(own.handle.clone());
    }
    let mut own = OF_CHILD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(own) = own.as_ref().filter(|own| own.process == process::id()) {
        return Ok(own.handle.clone());
    }
    let new = start()?;
    let handle = new.handle.clone();
    // What is dropped of its parent's the child would take from that.
    std::mem::forget(own.replace(new));
    Ok(handle)
}

fn start() -> io::Result<Own> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    std::thread::Builder::new()
        .name("tenure-engine".to_owned())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    Ok(Own { handle, process: process::id() })
}
