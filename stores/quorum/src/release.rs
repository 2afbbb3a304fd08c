//! Releasing everywhere.

use std::time::Duration;

use futures_util::StreamExt;
use tenure_core::{
    Fault, FaultKind, LockName, Owner,
    proto::{
        queue::Released,
        quorum::{Decision, Yesses},
    },
};

use crate::{
    QuorumStore,
    error::{Status, no_majority, too_long},
    members::{Told, ask_all},
    store::refuse_reserved,
};

impl QuorumStore {
    /// Releases at every member, also where no answer to the ask ever came. Answers as soon as a
    /// majority agrees.
    pub(crate) async fn release_everywhere(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        refuse_reserved(name)?;
        if keep > self.shared.charter.longest {
            return Err(too_long("a name kept after its release", keep, &self.shared.charter));
        }
        self.strike(name, owner);
        let options = &self.shared.options;
        let owner = self.shared.holds.releasing(owner, keep, options.now()).owner();
        let mut calls = ask_all(&self.members, &options.clock, options.member_limit, |member| {
            let name = name.clone();
            async move { member.release(&name, &owner, keep).await }
        });
        let mut count = Yesses::new(self.members.len());
        let mut statuses = vec![Status::Silent; self.members.len()];
        let mut in_doubt = false;
        let decision = loop {
            let decision = count.decision();
            if decision != Decision::Open {
                break decision;
            }
            let Some(Told { member, answer }) = calls.next().await else { break decision };
            let status = match answer {
                Ok(released) => {
                    count.said(released == Released::Released);
                    in_doubt |= released == Released::Released;
                    Status::Did
                }
                Err(fault) => {
                    in_doubt |= fault.kind() == FaultKind::InDoubt;
                    Status::of(&fault)
                }
            };
            if let Some(old) = statuses.get_mut(member) {
                *old = status;
            }
        };
        if !calls.is_empty() {
            self.shared.background.run(async move { while calls.next().await.is_some() {} });
        }
        match decision {
            Decision::Yes => {
                self.shared.board.wake_name(name);
                Ok(Released::Released)
            }
            Decision::No => Ok(Released::NotHeld),
            Decision::Open => {
                let places = &self.shared.places;
                Err(no_majority("released", Some(name), &statuses, places, in_doubt))
            }
        }
    }
}
