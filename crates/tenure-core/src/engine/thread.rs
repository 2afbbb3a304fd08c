//! Tenure's own thread, one for the whole process.

use std::{future::Future, io, sync::OnceLock};

use tokio::runtime::{Builder, Handle};

static ENGINE: OnceLock<Handle> = OnceLock::new();

/// Runs `engine` on tenure's own thread until it ends.
pub(crate) fn spawn(engine: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    let handle = match ENGINE.get() {
        Some(handle) => handle,
        None => start()?,
    };
    handle.spawn(engine);
    Ok(())
}

fn start() -> io::Result<&'static Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    std::thread::Builder::new()
        .name("tenure-engine".to_owned())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    // If two came here at once, the thread of the one that lost stays idle for ever.
    Ok(ENGINE.get_or_init(|| handle))
}
