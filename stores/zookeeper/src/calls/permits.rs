//! Permits, as Curator's `InterProcessSemaphoreV2` keeps them: whoever is first in the line of the inner mutex
//! makes a node for each permit, and waits until there are not too many.

use futures_util::future::{join, try_join3};
use tenure_core::{
    Fault,
    proto::queue::{Answer, Intent, Kind},
};

use crate::{
    calls::{asking::PendingAsk, granting::GrantProof},
    client::Error,
    contenders::{
        entries::CreatedNode,
        layout,
        node::NodePrefix,
        queue::{ContenderQueue, Standing},
    },
    error,
};

/// What stands in the directories of a name.
pub(crate) struct PermitQueues {
    queue: ContenderQueue,
    leases: ContenderQueue,
    beside: ContenderQueue,
}

impl PendingAsk<'_> {
    /// Nobody knows the owner yet.
    pub(crate) async fn begin_permits(&self) -> Result<Option<Answer>, Fault> {
        if self.ask.intent != Intent::Try {
            self.refuse_if_full().await?;
        }
        // What another kind made stands beside the two directories.
        let beside = self.list_only(&self.place.dir).await?;
        let tries_for_some = self.ask.intent == Intent::Try && beside.has_permits();
        let is_used = !beside.nodes().is_empty() || !beside.unknown().is_empty();
        if tries_for_some || is_used {
            // Unless this server is behind.
            self.session.sync().await?;
        }
        let beside = if is_used { self.list_only(&self.place.dir).await? } else { beside };
        self.refuse_other_programs(&[(&self.place.dir, &beside)]).await?;
        if let Some(other) = beside.other_than(Kind::Semaphore) {
            return Err(error::other_kind(other));
        }
        if self.ask.intent == Intent::Try && beside.has_permits() {
            let queue = self.list_only(&self.place.queue(NodePrefix::Lease)).await?;
            let leases = self.list_only(&self.place.leases()).await?;
            let [dir, of_leases] = self.place.of_permits();
            self.refuse_other_programs(&[(&dir, &queue), (&of_leases, &leases)]).await?;
            let (take, of) = layout::permits(self.ask.mode);
            if !queue.nodes().is_empty() || !fits(leases.nodes().len() + take as usize, of) {
                return self.busy_with_permits(&leases, queue.nodes().len()).await.map(Some);
            }
        }
        // All are under way at once: a session is answered in its order, so the line has the node in it.
        let (placed, looked) = join(self.create_queue_node(), self.look_at_permits()).await;
        self.stand_for_permits(&placed?, Some(looked?)).await
    }

    /// Looks at all directories of the name; what another kind or program made stands beside them.
    async fn look_at_permits(&self) -> Result<PermitQueues, Fault> {
        let [dir, leases] = self.place.of_permits();
        let beside = self.list(&self.place.dir);
        let (queue, leases, beside) =
            try_join3(self.list_only(&dir), self.list_only(&leases), beside).await?;
        Ok(PermitQueues { queue, leases, beside })
    }

    /// Looks where a place stands, and takes the permits if it is first. A new one comes with a look at it.
    pub(crate) async fn stand_for_permits(
        &self,
        placed: &CreatedNode,
        new: Option<PermitQueues>,
    ) -> Result<Option<Answer>, Fault> {
        let is_new = new.is_some();
        let looked = match new.filter(|looked| looked.queue.has(placed.name())) {
            Some(looked) => looked,
            // That look was too early: the directory had to be made first.
            None => self.look_at_permits().await?,
        };
        let PermitQueues { queue, leases, beside } = looked;
        let [dir, of_leases] = self.place.of_permits();
        let listed = [(&*self.place.dir, &beside), (&*dir, &queue), (&*of_leases, &leases)];
        self.refuse_other_programs(&listed).await?;
        if let Some(other) = beside.other_than(Kind::Semaphore).filter(|_| !self.is_checked()) {
            self.shared.delete_owner_nodes(self.session, &self.ask.owner).await?;
            return Err(error::other_kind(other));
        }
        if queue.has(placed.name()) && !self.check_tokens(placed, beside.tokens()).await? {
            return Ok(None);
        }
        match queue.standing(placed.name()) {
            Standing::Missing => {
                self.shared.delete_owner_nodes(self.session, &self.ask.owner).await?;
                Ok(None)
            }
            Standing::Has { others_wait } => self.take_permits(placed, others_wait).await,
            Standing::Behind { waits_for, ahead, .. } => {
                if self.only_tries() {
                    self.shared.delete_owner_nodes(self.session, &self.ask.owner).await?;
                    return self.busy_with_permits(&leases, ahead + 1).await.map(Some);
                }
                if is_new && ahead + 1 >= self.shared.options.max_waiters {
                    return Err(self.refuse_full().await);
                }
                let dir = self.place.queue(NodePrefix::Lease);
                if !is_new && !self.is_still_there(&dir, waits_for).await? {
                    return Ok(None);
                }
                let holder = match leases.nodes().first() {
                    Some(node) => self.look_at(&self.place.leases(), node).await?,
                    None => None,
                };
                // Who has the inner mutex waits, too.
                self.wait_behind(&dir, waits_for, holder, ahead + 1, placed).await
            }
        }
    }

    /// The inner mutex is ours.
    async fn take_permits(
        &self,
        placed: &CreatedNode,
        others_wait: bool,
    ) -> Result<Option<Answer>, Fault> {
        let (take, of) = layout::permits(self.ask.mode);
        let dir = self.place.leases();
        let made = self.entries().with(&self.ask.owner, |entry| entry.leases.len()).unwrap_or(0);
        let mut looked = None;
        for number in made..take as usize {
            let make = async {
                let lease = self.create(&dir, NodePrefix::Lease).await?;
                self.record(&lease, |entry| entry.leases.push(lease.clone())).await
            };
            let is_last = number + 1 == take as usize;
            let look =
                async { if is_last { self.list_only(&dir).await.map(Some) } else { Ok(None) } };
            let (kept, seen) = join(make, look).await;
            kept?;
            looked = seen?;
        }
        let all_there =
            |queue: &ContenderQueue| queue.of_owner(&self.ask.owner).count() >= take as usize;
        // Who gets in at once needs no watch, which would have to be taken back at the server.
        let mut leases = match looked.filter(all_there) {
            Some(leases) => leases,
            None => self.list_only(&dir).await?,
        };
        if !fits(leases.nodes().len(), of) {
            if made >= take as usize {
                // Nothing was made just now, so this server may be behind.
                self.session.sync().await?;
            }
            let watched = self.shared.watch_leases(self.session, &self.ask.owner, &dir).await?;
            let Some(watched) = watched else { return Ok(None) };
            leases = watched;
        }
        let mine = leases.of_owner(&self.ask.owner).count();
        if mine < take as usize {
            self.shared.delete_owner_nodes(self.session, &self.ask.owner).await?;
            return Ok(None);
        }
        if fits(leases.nodes().len(), of) {
            let last = self.entries().with(&self.ask.owner, |entry| entry.leases.last().cloned());
            let Some(Some(last)) = last else { return Ok(None) };
            // While it waits for that it keeps its place.
            if let GrantProof::TooSoon(answer) = self.proof(&last).await? {
                return Ok(Some(answer));
            }
            self.give_back_mutex(placed).await?;
            return self.grant(&last, others_wait).await;
        }
        let others = leases.nodes().len() - mine;
        if self.only_tries() {
            self.shared.delete_owner_nodes(self.session, &self.ask.owner).await?;
            return self.busy_with_permits(&leases, 0).await.map(Some);
        }
        let holder = match leases.nodes().iter().find(|node| !node.is_of(&self.ask.owner)) {
            Some(node) if others > 0 => self.look_at(&dir, node).await?,
            _ => None,
        };
        Ok(Some(self.waiting(holder, 0)))
    }

    /// The next in line may look for permits.
    async fn give_back_mutex(&self, placed: &CreatedNode) -> Result<(), Fault> {
        let deleted = self.session.client().delete(&placed.path, None);
        match self.session.write(deleted).await? {
            Ok(()) | Err(Error::NoNode) => {}
            Err(error) => return Err(self.session.fault(error, true)),
        }
        self.entries().change(&self.ask.owner, |entry| entry.place = None);
        Ok(())
    }

    async fn busy_with_permits(
        &self,
        leases: &ContenderQueue,
        ahead: usize,
    ) -> Result<Answer, Fault> {
        let holder = match leases.nodes().iter().find(|node| !node.is_of(&self.ask.owner)) {
            Some(node) => self.look_at(&self.place.leases(), node).await?,
            None => None,
        };
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        let retry_after = self.shared.options.session / 20;
        Ok(Answer::Busy { retry_after, ahead, holder, position: None })
    }
}

fn fits(taken: usize, of: u32) -> bool {
    u32::try_from(taken).is_ok_and(|taken| taken <= of)
}
