//! Steps that change one node into another: a writer that becomes a reader, and a turn.

use std::sync::Arc;

use tenure_core::{
    Clock, Fault, LockName, Owner, SystemClock,
    proto::queue::{Answer, Ask, Intent},
};
use tokio::time::timeout;

use crate::{
    client::{CreateMode, Error, MultiWriteError, MultiWriteResult},
    contenders::{
        entries::{Acquisition, CreatedNode},
        layout::LockPath,
        node::{self, Node, NodePrefix},
    },
    error,
    session::Session,
    store::Shared,
};

impl Shared {
    /// In one step a writer's node becomes a reader's, with its number, so that nobody comes between. It keeps the
    /// writer's token: who waits behind it has a greater one already.
    pub(crate) async fn downgrade(
        &self,
        session: &Arc<Session>,
        name: &LockName,
        ask: &Ask,
    ) -> Result<(), Fault> {
        let seen = self.entries.with(&ask.owner, |entry| (entry.place.clone(), entry.token));
        let Some((Some(writer), token)) = seen else { return Ok(()) };
        let Some(number) = Node::parse_any(writer.name()) else { return Ok(()) };
        let Some(base) = number.base().downgraded() else { return Ok(()) };
        let dir = LockPath::new(&self.options.base, name).dir;
        let path = format!("{dir}/{}{}", node::prefix(&ask.owner, base), number.number());
        let refused = |error| session.fault(error, true);
        let mut writer_of = session.client().new_multi_writer();
        let plain = session.creates(CreateMode::Ephemeral);
        let written = self.data_of(ask, token);
        writer_of.add_create(&path, &written, &plain).map_err(refused)?;
        writer_of.add_delete(&writer.path, None).map_err(refused)?;
        let stays = self.entries.change(&ask.owner, |entry| {
            (!entry.leaving).then(|| {
                // That the writer's node goes is no loss.
                entry.watched = None;
                // Until it is answered either node may be there.
                entry.record_send();
            })
        });
        if stays.flatten().is_none() {
            return Ok(());
        }
        let answer = timeout(session.limit(), writer_of.commit()).await;
        match answer.map_err(|_| error::timed_out(&self.place, true))? {
            // Or it was done by a call whose answer never came.
            Ok(_) | Err(MultiWriteError::OperationFailed { source: Error::NodeExists, .. }) => {
                let czxid = writer.czxid;
                self.record_downgrade(session, &ask.owner, CreatedNode { path, czxid });
                Ok(())
            }
            // The writer's node was taken away.
            Err(MultiWriteError::OperationFailed { source: Error::NoNode, .. }) => {
                self.delete_owner_nodes(session, &ask.owner).await
            }
            Err(error) => Err(session.fault(Error::from(error), true)),
        }
    }

    pub(crate) fn record_downgrade(&self, session: &Session, owner: &Owner, reader: CreatedNode) {
        self.entries.change(owner, |entry| {
            entry.base = entry.base.downgraded().unwrap_or(entry.base);
            entry.mode = entry.base.mode();
            entry.in_doubt = false;
            entry.place = Some(reader.clone());
            entry.watched = None;
        });
        self.watch_over(session, owner, &reader);
    }

    /// In one step the old owner's nodes go and the new owner stands at the end of the line.
    pub(crate) async fn turn(
        &self,
        name: &LockName,
        old: &Owner,
        ask: &Ask,
    ) -> Result<Answer, Fault> {
        let base = self.base_of(ask)?;
        let _alone = self.asks.lock_owner(&ask.owner).await;
        let session = self.sessions.get().await?;
        let nodes = self.entries.with(old, |entry| {
            let sound = entry.session == session.number() && entry.name == *name && !entry.in_doubt;
            if sound { entry.paths() } else { Vec::new() }
        });
        let nodes = nodes.unwrap_or_default();
        let is_known = self.entries.with(&ask.owner, |_| ()).is_some();
        if nodes.is_empty() || is_known {
            // Nothing to let go of, or that was done and the answer lost.
            self.release(name, old).await?;
            return self.ask_alone(name, ask).await;
        }
        let turned = self.take_turn(&session, name, (old, &nodes), ask, base).await;
        turned.map_err(|fault| self.in_doubt_if_there(&ask.owner, fault))?;
        self.ask_alone(name, ask).await
    }

    async fn take_turn(
        &self,
        session: &Arc<Session>,
        name: &LockName,
        (old, nodes): (&Owner, &[String]),
        ask: &Ask,
        base: NodePrefix,
    ) -> Result<(), Fault> {
        let dir = LockPath::new(&self.options.base, name).queue(base);
        let first = if base == NodePrefix::Lease { NodePrefix::Lock } else { base };
        let prefix = format!("{dir}/{}", node::prefix(&ask.owner, first));
        let refused = |error| session.fault(error, true);
        let mut writer = session.client().new_multi_writer();
        let options = session.creates(CreateMode::EphemeralSequential);
        let written = self.data_of(ask, None);
        writer.add_create(&prefix, &written, &options).map_err(refused)?;
        for node in nodes {
            writer.add_delete(node, None).map_err(refused)?;
        }
        let sent = SystemClock.now();
        let until = sent.saturating_add(self.options.session);
        let mut entry = Acquisition::new(name.clone(), base, ask.mode, session.number(), until);
        entry.tries = ask.intent == Intent::Try;
        entry.record_send();
        self.entries.insert(ask.owner, entry);
        // Until it is answered the old one may be there as well.
        self.entries.change(old, Acquisition::record_send);
        let answer = timeout(session.limit(), writer.commit()).await;
        match answer.map_err(|_| error::timed_out(&self.place, true))? {
            Ok(results) => {
                self.entries.remove(old);
                let Some(MultiWriteResult::Create { path, .. }) = results.into_iter().next() else {
                    return Ok(());
                };
                // What stands in the answer to several writes is not the node's.
                let stat = session.read(session.client().check_stat(&path)).await?;
                if let Ok(Some(stat)) = stat {
                    session.record_commit(sent, stat.ephemeral_owner)?;
                    self.entries.change(&ask.owner, |entry| {
                        entry.in_doubt = false;
                        entry.place = Some(CreatedNode { path, czxid: stat.czxid });
                    });
                }
                Ok(())
            }
            // Somebody took the old node away, or there is no directory: it is an ask like any other.
            Err(MultiWriteError::OperationFailed { source: Error::NoNode, .. }) => {
                self.entries.remove(&ask.owner);
                self.delete_owner_nodes(session, old).await
            }
            Err(error) => {
                let fault = session.fault(Error::from(error), true);
                // What was refused for good changed nothing.
                if !fault.is_transient() {
                    self.entries.remove(&ask.owner);
                    self.entries.change(old, |entry| entry.in_doubt = false);
                }
                Err(fault)
            }
        }
    }
}
