//! Tenure's own thread, one for the whole process, with a tokio runtime: for the engine, and for callers
//! that have no runtime.

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    sync::OnceLock,
};

use tokio::runtime::{Builder, Handle};

static OWN: OnceLock<Handle> = OnceLock::new();

/// Runs `engine` on tenure's own thread until it ends.
pub(crate) fn spawn(engine: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    own()?.spawn(engine);
    Ok(())
}

/// Does `work` on the executor of the caller, whichever that is.
///
/// What `work` needs of tokio, as timers, sockets and tasks in the background, it finds in the caller's
/// runtime, or in that of tenure's own thread if the caller has none. Each call to a store that a lock
/// makes is done in this way; only who calls a store directly needs it.
///
/// A runtime of the caller has to have timers, and for stores on servers I/O: `enable_all`.
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
    let own = if Handle::try_current().is_ok() { None } else { own().ok() };
    let mut work = pin!(work);
    poll_fn(|context| {
        let _entered = own.map(Handle::enter);
        work.as_mut().poll(context)
    })
    .await
}

fn own() -> io::Result<&'static Handle> {
    match OWN.get() {
        Some(handle) => Ok(handle),
        None => start(),
    }
}

fn start() -> io::Result<&'static Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    std::thread::Builder::new()
        .name("tenure-engine".to_owned())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    // If two came here at once, the thread of the one that lost stays idle for ever.
    Ok(OWN.get_or_init(|| handle))
}
