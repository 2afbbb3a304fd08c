//! What a connection is told without having asked.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tenure_core::store::HintBoard;
use tokio::sync::{Notify, watch};
use tokio_postgres::{
    AsyncMessage,
    error::{DbError, Severity},
};

use crate::{
    error,
    protocol::tls::PolledConnection,
    tables::messages::{self, Message},
};

/// The function of the server that waits until a replica has what was committed. No translation changes its name.
const WAITS_FOR_REPLICAS: &str = "SyncRepWaitForLSN";

/// What one connection was told.
#[derive(Debug, Default)]
pub(crate) struct ConnectionNotices {
    /// How often a commit may be on this server alone.
    doubts: AtomicU64,
    is_over: watch::Sender<bool>,
}

impl ConnectionNotices {
    /// How often it was said of a commit that no replica may have it. What was under way meanwhile is in doubt.
    pub(crate) fn doubts(&self) -> u64 {
        self.doubts.load(Ordering::Acquire)
    }

    pub(crate) fn end(&self) {
        self.is_over.send_replace(true);
    }

    /// Waits until the connection is over, or given up.
    pub(crate) async fn wait_until_over(&self) {
        let _ = self.is_over.subscribe().wait_for(|is_over| *is_over).await;
    }
}

/// Messages from other processes, over whichever connection they come.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    pub(crate) board: HintBoard,
    /// Called when one has come that this process sent to itself.
    pub(crate) hello: Arc<Notify>,
}

impl Inbox {
    fn dispatch_notification(&self, payload: &str) {
        match messages::read(payload) {
            Message::Wake(owner) => self.board.wake(&owner),
            Message::Eviction(name) => self.board.evicted(&name),
            Message::Hello => self.hello.notify_one(),
        }
    }
}

/// Keeps a connection alive, and hears what comes over it.
pub(crate) async fn drive_connection(
    mut polled: PolledConnection,
    heard: Arc<ConnectionNotices>,
    mail: Inbox,
) {
    while let Some(message) = poll_fn(|context| polled.poll(context)).await {
        let message = match message {
            Ok(message) => message,
            Err(error) => {
                if let Some(refused) = error::refused(&error) {
                    tracing::warn!(store = "postgres", "a connection was ended: {refused:#}");
                }
                break;
            }
        };
        match message {
            AsyncMessage::Notification(message) => mail.dispatch_notification(message.payload()),
            // It comes before the end of the answer, which is handed on after this.
            AsyncMessage::Notice(notice) if is_replication_wait_canceled(&notice) => {
                heard.doubts.fetch_add(1, Ordering::AcqRel);
                tracing::warn!(store = "postgres", "{}", notice.message());
            }
            _ => {}
        }
    }
    heard.end();
}

/// Whether this says that a commit was not waited for until a replica had it. One that does not say where it comes
/// from may say so.
fn is_replication_wait_canceled(notice: &DbError) -> bool {
    // The word for people is in the language of the server.
    let is_warning = notice.parsed_severity().is_none_or(|severity| severity == Severity::Warning);
    is_warning && notice.routine().is_none_or(|routine| routine == WAITS_FOR_REPLICAS)
}
