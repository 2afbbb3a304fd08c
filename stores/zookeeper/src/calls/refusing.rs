//! Names that an ask does not get, whoever waits: others use them as something else.

use tenure_core::{Fault, proto::queue::Kind};

use crate::{calls::asking::PendingAsk, contenders::queue::ContenderQueue, error};

impl PendingAsk<'_> {
    /// Refuses a name that others use as another kind of lock.
    pub(crate) async fn refuse_other_kinds(&self, queue: &ContenderQueue) -> Result<(), Fault> {
        if let Some(other) = queue.other_than(self.base.kind()) {
            self.shared.delete_owner_nodes(self.session, &self.ask.owner).await?;
            return Err(error::other_kind(other));
        }
        if !queue.has_permits() {
            return Ok(());
        }
        for dir in self.place.of_permits() {
            let queue = self.list_only(&dir).await?;
            self.refuse_other_programs(&[(&dir, &queue)]).await?;
            if !queue.nodes().is_empty() {
                self.shared.delete_owner_nodes(self.session, &self.ask.owner).await?;
                return Err(error::other_kind(Kind::Semaphore));
            }
        }
        Ok(())
    }

    /// Refuses a name that a program uses which knows nothing of tenure's nodes.
    pub(crate) async fn refuse_other_programs(
        &self,
        listed: &[(&str, &ContenderQueue)],
    ) -> Result<(), Fault> {
        let Some(stranger) = self.shared.first_foreign_node(self.session, listed).await? else {
            return Ok(());
        };
        self.shared.delete_owner_nodes(self.session, &self.ask.owner).await?;
        Err(stranger.refusal())
    }
}
