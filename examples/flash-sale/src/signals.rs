//! Being told to end.

use std::{io::Result, pin::pin};

use futures_util::future::{Either, select};
use tokio::signal::unix::{SignalKind, signal};

/// Completes when the process is told to end, with the exit code that says so. It is heard from the call on, not
/// from the first poll.
pub(crate) fn end() -> Result<impl Future<Output = u8> + Send + 'static> {
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    Ok(async move {
        match select(pin!(interrupted.recv()), pin!(terminated.recv())).await {
            Either::Left(_) => 130,
            Either::Right(_) => 143,
        }
    })
}
