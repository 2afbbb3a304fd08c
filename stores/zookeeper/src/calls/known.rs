//! What this process knows of the owner that asks, and what it looks for at the servers where no answer told of it.

use tenure_core::{Fault, proto::queue::Mode};

use crate::{
    calls::asking::PendingAsk,
    contenders::{
        entries::{CreatedNode, OwnerState},
        node::{Node, NodePrefix},
    },
    error,
};

impl PendingAsk<'_> {
    /// What is known of the owner, once what ended is gone and what is in doubt was looked for.
    pub(crate) async fn owner_state(&self) -> Result<OwnerState, Fault> {
        let owner = &self.ask.owner;
        let seen = self.entries().with(owner, |entry| {
            let over = entry.session != self.session.number();
            let ended = entry.leaving || entry.until <= self.begun;
            let elsewhere = entry.name != *self.name;
            let placed = if entry.token.is_some() { entry.proof() } else { entry.place.as_ref() };
            let used_up = entry.place.iter().chain(&entry.leases).any(CreatedNode::is_used_up);
            let has = (entry.token, placed.cloned(), used_up);
            (over, ended, elsewhere, entry.in_doubt, entry.base, entry.mode, has)
        });
        let Some((over, ended, elsewhere, in_doubt, base, mode, has)) = seen else {
            return Ok(OwnerState::Nothing);
        };
        if over {
            self.entries().remove(owner);
            return Ok(OwnerState::Nothing);
        }
        if ended {
            while self.entries().with(owner, |_| ()).is_some() {
                self.shared.delete_owner_nodes(self.session, owner).await?;
            }
            return Ok(OwnerState::Nothing);
        }
        if elsewhere {
            return Err(error::other_name());
        }
        if in_doubt {
            self.find(base).await?;
            return Box::pin(self.owner_state()).await;
        }
        let (token, placed, used_up) = has;
        let is_downgrade = token.is_some() && base.downgraded() == Some(self.base);
        if base != self.base && !is_downgrade || takes(mode) != takes(self.ask.mode) {
            return Err(error::other_mode());
        }
        match (token, placed) {
            (Some(token), Some(proof)) => Ok(OwnerState::Holds(proof, token)),
            // It was made by a turn, or no answer told of it.
            (None, Some(_)) if used_up => Err(self.used_up()),
            (None, Some(placed)) => Ok(OwnerState::Queued(placed)),
            // What is left of it is no place in the line.
            _ => {
                while self.entries().with(owner, |_| ()).is_some() {
                    self.shared.delete_owner_nodes(self.session, owner).await?;
                }
                Ok(OwnerState::Nothing)
            }
        }
    }

    /// Looks for nodes of which no answer told, where they are by what the owner asked for then.
    async fn find(&self, base: NodePrefix) -> Result<(), Fault> {
        self.session.sync().await?;
        let owner = &self.ask.owner;
        let queue = self.nodes_of(&self.place.queue(base)).await?;
        let leases = if base == NodePrefix::Lease {
            self.nodes_of(&self.place.leases()).await?
        } else {
            Vec::new()
        };
        let found = queue.into_iter().next();
        let is_read = |placed: &CreatedNode| {
            Node::parse_any(placed.name()).is_some_and(|node| node.base().is_reader())
        };
        // A writer that became a reader.
        if base.downgraded().is_some()
            && let Some(reader) = found.clone().filter(is_read)
        {
            self.shared.record_downgrade(self.session, owner, reader);
            return Ok(());
        }
        self.entries().change(owner, |entry| {
            entry.place = found;
            entry.leases = leases;
            entry.in_doubt = false;
        });
        Ok(())
    }

    /// The owner's nodes in a directory, as far as they belong to this session.
    async fn nodes_of(&self, dir: &str) -> Result<Vec<CreatedNode>, Fault> {
        let mut found = Vec::new();
        for node in self.list_only(dir).await?.of_owner(&self.ask.owner) {
            let path = format!("{dir}/{}", node.name());
            let stat = self.session.read(self.session.client().check_stat(&path)).await?;
            // One of a session that is over is about to be gone.
            if let Ok(Some(stat)) = stat
                && stat.ephemeral_owner == self.session.client().session_id().0
            {
                found.push(CreatedNode { path, czxid: stat.czxid });
            }
        }
        Ok(found)
    }
}

/// How many permits a mode takes; nothing where it takes none.
const fn takes(mode: Mode) -> Option<u32> {
    match mode {
        Mode::Permits { take, .. } => Some(take),
        Mode::Exclusive | Mode::Shared => None,
    }
}
