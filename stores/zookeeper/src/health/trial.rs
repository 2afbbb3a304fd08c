//! A lock that is tried, as this very user.

use std::sync::Arc;

use tenure_core::{Fault, trial::TrialLock};

use crate::{ZookeeperStore, contenders::layout::LockPath, session::Session, store::Shared};

impl Shared {
    /// Everything that a lock does: nodes are made, read, watched, seen to be there, and removed.
    pub(crate) async fn try_everything(self: &Arc<Self>, session: &Session) -> Result<(), Fault> {
        let trial = TrialLock::new()?;
        // What is only looked at is not to be claimed for tokens of one form.
        self.tokens.begin_trial(trial.name());
        let outcome = trial.run(&ZookeeperStore { shared: self.clone() }).await;
        self.tokens.end_trial(trial.name());
        // As empty as it is the server takes it away, only later.
        let dir = LockPath::new(&self.options.base, trial.name()).dir;
        let _ = session.write(session.client().delete(&dir, None)).await;
        outcome.map(drop)
    }
}
