//! Being told to end.

use std::{io::Result, pin::pin};

use futures_util::future::select;
use tokio::signal::unix::{SignalKind, signal};

/// Completes when the process is told to end. It is heard from the call on, not from the first poll.
pub(crate) fn end() -> Result<impl Future<Output = ()> + Send + 'static> {
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    Ok(async move {
        select(pin!(interrupted.recv()), pin!(terminated.recv())).await;
    })
}
