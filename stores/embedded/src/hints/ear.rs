//! A socket of this store, for all who listen there.

use std::{os::unix::net::UnixDatagram, sync::atomic::AtomicBool};

use tenure_core::HintBoard;
use tokio::sync::Notify;

/// A socket, and who is told what it says.
#[derive(Debug)]
pub(crate) struct HintSocket {
    pub(crate) socket: UnixDatagram,
    pub(crate) board: HintBoard,
    /// No hint is to be heard any more.
    pub(crate) over: AtomicBool,
    pub(crate) ended: Notify,
}
