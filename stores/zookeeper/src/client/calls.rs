//! What callers want, and what they get.

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::{
    Result,
    events::{EventType, WatchedEvent},
    wire::Writer,
};

/// How many calls may be under way, and as many may wait to be sent.
pub(super) const ROOM: usize = 16 * 1024;
/// What callers want.
pub(crate) enum Command {
    Call(Call),
    /// A change is not waited for any more.
    Forget(WatchRegistration),
}

pub(crate) struct Call {
    pub(super) op: i32,
    pub(super) body: Writer,
    pub(super) watch: Option<(WatchKind, String)>,
    pub(super) answer: ReplySender,
}

pub(super) type ReplySender = oneshot::Sender<Result<(Bytes, Option<OneshotWatcher>)>>;

/// What of a node is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WatchKind {
    Data,
    Child,
}

impl WatchKind {
    /// As a request to forget it has it.
    pub(super) const fn number(self) -> i32 {
        match self {
            Self::Child => 1,
            Self::Data => 2,
        }
    }
}

/// One who waits.
#[derive(Debug)]
pub(crate) struct WatchRegistration {
    pub(super) kind: WatchKind,
    pub(super) path: String,
    pub(super) number: u64,
}

/// Tells once what becomes of a node, also over other connections of the session. Dropped, it is not waited for any
/// more, and the server is told so.
pub(crate) struct OneshotWatcher {
    pub(super) told: oneshot::Receiver<EventType>,
    pub(super) watched: Option<WatchRegistration>,
    pub(super) forgets: mpsc::WeakSender<Command>,
}

impl OneshotWatcher {
    pub(crate) async fn changed(mut self) -> WatchedEvent {
        let event_type = (&mut self.told).await.unwrap_or(EventType::Session);
        self.watched = None;
        WatchedEvent { event_type }
    }
}

impl Drop for OneshotWatcher {
    fn drop(&mut self) {
        if let (Some(watched), Some(forgets)) = (self.watched.take(), self.forgets.upgrade()) {
            // Where there is no room the server tells of it once, and nobody heeds that.
            let _ = forgets.try_send(Command::Forget(watched));
        }
    }
}
