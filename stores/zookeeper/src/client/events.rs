//! What a client is told without asking.

use tokio::sync::watch;

use super::Error;

/// How a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionState {
    Disconnected,
    SyncConnected,
    AuthFailed,
    /// A server went on with it that does not know the password.
    Unproven,
    Expired,
    Closed,
}

impl SessionState {
    /// Whether it stays so.
    pub(crate) const fn is_terminated(self) -> bool {
        matches!(self, Self::AuthFailed | Self::Unproven | Self::Expired | Self::Closed)
    }

    pub(super) const fn error(self) -> Error {
        match self {
            Self::Disconnected | Self::SyncConnected => Error::ConnectionLoss,
            Self::AuthFailed => Error::AuthFailed,
            Self::Unproven => Error::Unproven,
            Self::Expired => Error::SessionExpired,
            Self::Closed => Error::ClientClosed,
        }
    }
}

/// Tells how a session stands.
pub(crate) struct StateWatcher(watch::Receiver<SessionState>);

impl StateWatcher {
    pub(super) fn new(states: &watch::Receiver<SessionState>) -> Self {
        let mut states = states.clone();
        states.mark_unchanged();
        Self(states)
    }

    /// Waits for the next change. There is none after the end of a session.
    pub(crate) async fn changed(&mut self) -> SessionState {
        match self.0.changed().await {
            Ok(()) => *self.0.borrow_and_update(),
            Err(_) => std::future::pending().await,
        }
    }
}

/// What became of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventType {
    /// Nothing, but the session is over.
    Session,
    NodeCreated,
    NodeDeleted,
    NodeDataChanged,
    NodeChildrenChanged,
}

impl EventType {
    pub(super) const fn of(number: i32) -> Option<Self> {
        match number {
            1 => Some(Self::NodeCreated),
            2 => Some(Self::NodeDeleted),
            3 => Some(Self::NodeDataChanged),
            4 => Some(Self::NodeChildrenChanged),
            _ => None,
        }
    }
}

/// What was waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchedEvent {
    pub(crate) event_type: EventType,
}
