//! Watches: for the node in front, for permits that are given back, and over what is held.

use std::{pin::pin, sync::Arc, time::Duration};

use tenure_core::{Fault, Owner};

use crate::{
    client::{Client, Error, EventType, OneshotWatcher},
    contenders::{
        data,
        entries::{Acquisitions, CreatedNode, WatchTask},
        queue::ContenderQueue,
    },
    session::Session,
    store::Shared,
};

/// What is held for a shorter time is not watched over, so short holds cost nothing for it.
const SOON: Duration = Duration::from_millis(50);
/// How often a holder is told of a request that stands: what it was told can be missed.
const AGAIN: Duration = Duration::from_secs(1);

impl Shared {
    /// Whether a node that was made is there, by a write that the ensemble commits.
    pub(crate) async fn verify_exists(
        &self,
        session: &Session,
        placed: &CreatedNode,
    ) -> Result<bool, Fault> {
        let there = session.prove(&[&placed.path]).await?;
        Ok(there == [true])
    }

    /// Sees to it that `owner` is woken when this node is gone; `false` if it is gone already.
    pub(crate) async fn watch_for(
        &self,
        session: &Arc<Session>,
        owner: &Owner,
        path: &str,
    ) -> Result<bool, Fault> {
        let same = |watched: &WatchTask| watched.path == path && !watched.task.is_finished();
        if self.entries.with(owner, |entry| entry.watched.as_ref().is_some_and(same)) == Some(true)
        {
            return Ok(true);
        }
        // Data, not existence: a watch for something to come would be left behind at the server.
        let looked = session.read(session.client().get_and_watch_data(path)).await?;
        let Ok((_, _, watcher)) = looked else { return Ok(false) };
        self.wake_after(owner, path, async move {
            watcher.changed().await;
        });
        Ok(true)
    }

    /// The permits of a name, and sees to it that `owner` is woken when they change. Nothing if there is no such
    /// directory.
    pub(crate) async fn watch_leases(
        &self,
        session: &Arc<Session>,
        owner: &Owner,
        dir: &str,
    ) -> Result<Option<ContenderQueue>, Fault> {
        let looked = session.read(session.client().list_and_watch_children(dir)).await?;
        let Ok((children, watcher)) = looked else { return Ok(None) };
        self.wake_after(owner, dir, async move {
            watcher.changed().await;
        });
        Ok(Some(self.queue_of(children)))
    }

    fn wake_after(
        &self,
        owner: &Owner,
        path: &str,
        changed: impl Future<Output = ()> + Send + 'static,
    ) {
        let (board, woken) = (self.sessions.board.clone(), *owner);
        let task = self.sessions.home.spawn(async move {
            changed.await;
            board.wake(&woken);
        });
        let watched = WatchTask { path: path.to_owned(), task: task.abort_handle() };
        self.entries.change(owner, |entry| entry.watched = Some(watched));
    }

    /// Tells of a hold that is taken away, and of who asks that it be let go.
    pub(crate) fn watch_over(&self, session: &Session, owner: &Owner, placed: &CreatedNode) {
        let over = WatchedHold {
            client: session.client().clone(),
            entries: self.entries.clone(),
            board: self.sessions.board.clone(),
            owner: *owner,
            path: placed.path.clone(),
            complies: self.options.complies,
        };
        let task = self.sessions.home.spawn(over.watch());
        let watched = WatchTask { path: placed.path.clone(), task: task.abort_handle() };
        self.entries.change(owner, |entry| entry.watched = Some(watched));
    }
}

/// A hold that is watched over.
struct WatchedHold {
    client: Client,
    entries: Acquisitions,
    board: tenure_core::HintBoard,
    owner: Owner,
    path: String,
    complies: bool,
}

impl WatchedHold {
    async fn watch(self) {
        tokio::time::sleep(SOON).await;
        let (mut told, mut version) = (false, 0);
        while self.is_held() {
            match self.client.get_and_watch_data(&self.path).await {
                Ok((data, stat, watcher)) => {
                    let asked = data == data::REVOKE;
                    // Whoever writes the same again says that there is something to hear.
                    if std::mem::replace(&mut version, stat.version) != stat.version && !asked {
                        self.report_eviction();
                    }
                    // Whoever writes it again and again keeps the engine from nothing.
                    if asked && !std::mem::replace(&mut told, true) {
                        self.board.release_requested(&self.owner);
                    }
                    if asked && self.complies {
                        if self.revoke().await {
                            return;
                        }
                        // It could not be done now.
                        tokio::time::sleep(SOON * 10).await;
                        continue;
                    }
                    if self.changes(watcher, asked).await == EventType::NodeDeleted {
                        self.report_eviction();
                    }
                }
                Err(Error::NoNode) => {
                    self.report_eviction();
                    return;
                }
                // The session's own watch tells what becomes of it.
                Err(error) if self.client.state().is_terminated() => {
                    let _ = error;
                    return;
                }
                Err(_) => tokio::time::sleep(SOON * 10).await,
            }
        }
    }

    fn is_held(&self) -> bool {
        self.entries.with(&self.owner, |entry| entry.token.is_some() && !entry.leaving)
            == Some(true)
    }

    fn report_eviction(&self) {
        let name = self.entries.with(&self.owner, |entry| entry.name.clone());
        if let (true, Some(name)) = (self.is_held(), name) {
            self.board.evicted(&name);
        }
    }

    /// What becomes of the node that was looked at.
    async fn changes(&self, watcher: OneshotWatcher, asked: bool) -> EventType {
        if !asked {
            return watcher.changed().await.event_type;
        }
        let mut change = pin!(watcher.changed());
        loop {
            if let Ok(change) = tokio::time::timeout(AGAIN, &mut change).await {
                return change.event_type;
            }
            self.board.release_requested(&self.owner);
        }
    }

    /// Lets it go, as somebody asks by Curator's `Revoker`. Whether it was done.
    async fn revoke(&self) -> bool {
        let deleted = self.client.delete(&self.path, None).await;
        self.report_eviction();
        deleted.is_ok()
    }
}
