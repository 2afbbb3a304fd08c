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
    error::{MemberStatus, no_majority, too_long},
    holds::PendingRelease,
    members::{MemberAnswer, ask_all, background::MemberCleanup},
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
        self.withdraw_writer(name, owner);
        let options = &self.shared.options;
        let PendingRelease { attempt, lease, late } =
            self.shared.holds.begin_release(owner, keep, options.now());
        let owner = attempt.owner();
        // Where no answer came it is released again: else the member would keep the name taken until
        // the lease ends.
        let again = MemberCleanup {
            clock: options.clock.clone(),
            limit: options.member_limit,
            name: name.clone(),
            owner,
            ttl: lease.unwrap_or(self.shared.charter.longest),
            keep,
        };
        let mut calls = ask_all(&self.members, &options.clock, options.member_limit, |member| {
            let name = name.clone();
            async move { member.release(&name, &owner, keep).await }
        });
        let mut count = Yesses::new(self.members.len());
        let mut statuses = vec![MemberStatus::Silent; self.members.len()];
        let (mut in_doubt, mut failed) = (false, Vec::new());
        let decision = loop {
            let decision = count.decision();
            if decision != Decision::Open {
                break decision;
            }
            let Some(MemberAnswer { member, answer }) = calls.next().await else { break decision };
            let status = match answer {
                Ok(released) => {
                    count.said(released == Released::Released);
                    in_doubt |= released == Released::Released;
                    MemberStatus::Did
                }
                Err(fault) => {
                    failed.push(member);
                    in_doubt |= fault.kind() == FaultKind::InDoubt;
                    MemberStatus::of(&fault)
                }
            };
            if let Some(old) = statuses.get_mut(member) {
                *old = status;
            }
        };
        // Without a majority the caller releases again, and is to be told what became of it.
        if decision != Decision::Open {
            failed.retain(|member| !late.contains(member));
            failed.into_iter().for_each(|member| self.release_again(&again, member, false));
            // An ask that comes to a member after this release would hold the name for nobody. Not
            // before the member has answered: this release is to find what is there.
            let heard = |member: &usize| {
                statuses.get(*member).is_some_and(|status| !matches!(status, MemberStatus::Silent))
            };
            let heard = late.iter().copied().filter(heard);
            heard.for_each(|member| self.release_again(&again, member, true));
        } else if !self.shared.holds.record_unreleased(attempt, &failed) {
            failed.into_iter().for_each(|member| self.release_again(&again, member, true));
        }
        if !calls.is_empty() {
            let quorum = self.clone();
            drop(self.shared.background.run(async move {
                while let Some(MemberAnswer { member, answer }) = calls.next().await {
                    let late = late.contains(&member);
                    if answer.is_err() || late {
                        quorum.release_again(&again, member, late);
                    }
                }
            }));
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

    pub(crate) fn release_again(&self, again: &MemberCleanup, member: usize, in_doubt: bool) {
        if let Some(store) = self.members.get(member) {
            self.shared.background.take_back(again.clone(), member, store.clone(), in_doubt);
        }
    }
}
