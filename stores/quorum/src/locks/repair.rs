//! What follows at each member when a renewal is decided: who lost the hold gets it back, also a member that answers
//! after the majority did.

use std::{future::Future, sync::Arc};

use futures_util::{
    StreamExt,
    stream::{self, FuturesUnordered},
};
use tenure_core::{
    Fault,
    proto::{
        Renewed,
        queue::{Answer, Ask, Intent, Order},
        quorum::{RenewalTally, majority, mark::Standing},
    },
    store::Renewal,
};

use crate::{
    QuorumStore,
    holds::{Attempt, GrantedHold},
    members::{MemberAnswer, MemberCalls, ask_all, within},
};

/// How many holds are brought back to members at the same time.
const AT_ONCE: usize = 256;

/// What one member answered for all holds, and whether it is counted.
pub(crate) struct MemberReport {
    pub(crate) member: usize,
    pub(crate) answers: Vec<Result<Renewed, Fault>>,
    pub(crate) standing: Option<Standing>,
}

impl MemberReport {
    pub(crate) fn needs_mark(&self) -> bool {
        self.standing.as_ref().is_some_and(Standing::needs_mark)
    }
}

/// One hold under renewal.
pub(crate) struct HoldRenewal {
    pub(crate) renewal: Renewal,
    pub(crate) attempt: Attempt,
    pub(crate) held: Option<GrantedHold>,
    pub(crate) tally: RenewalTally,
    pub(crate) answers: Vec<(usize, Result<Renewed, Fault>)>,
}

/// What follows at a member from what it answers about a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowUp {
    Nothing,
    /// Who lost it gets it back: a majority has renewed.
    BringBack,
    /// Who has it is to let go of it: it is lost.
    TakeBack,
}

/// A renewal that is decided, while members are still to answer: those that are slower than a majority, always or
/// this time.
pub(crate) struct DecidedRenewal {
    pub(crate) quorum: QuorumStore,
    pub(crate) holds: Arc<[HoldRenewal]>,
    pub(crate) after: Vec<FollowUp>,
    /// Whether it was seen that a member is to have a mark.
    pub(crate) unmarked: bool,
}

impl DecidedRenewal {
    /// Brings back what members have lost, and does the same with what the others answer.
    pub(crate) async fn process_reports(
        mut self,
        mut reports: MemberCalls<MemberReport>,
        lost: Vec<(usize, usize)>,
    ) {
        let mut repairs = FuturesUnordered::new();
        repairs.push(self.repair(lost, false));
        loop {
            tokio::select! {
                biased;
                Some(report) = reports.next() => {
                    let lost = self.missing_holds(report);
                    repairs.push(self.repair(lost, true));
                }
                Some(()) = repairs.next() => {}
                else => break,
            }
        }
    }

    /// Which holds a member has lost that it is to get back, by what it reports.
    fn missing_holds(&mut self, report: MemberReport) -> Vec<(usize, usize)> {
        if report.needs_mark() && !std::mem::replace(&mut self.unmarked, true) {
            self.quorum.assemble_later();
        }
        let mut lost = Vec::new();
        let each = self.holds.iter().zip(&self.after).zip(&report.answers).enumerate();
        for (at, ((hold, after), answer)) in each {
            match after {
                FollowUp::Nothing => {}
                FollowUp::BringBack if matches!(answer, Ok(Renewed::Lost)) => {
                    lost.push((at, report.member));
                }
                FollowUp::BringBack => {}
                FollowUp::TakeBack => self.quorum.take_back_left(hold, report.member, answer),
            }
        }
        lost
    }

    /// Brings these holds back to these members. Of what a member says late it is looked first whether a majority
    /// still has the hold: otherwise this could make one that is not there any more.
    fn repair(&self, lost: Vec<(usize, usize)>, is_late: bool) -> impl Future<Output = ()> + use<> {
        let (quorum, holds) = (self.quorum.clone(), self.holds.clone());
        async move {
            let each = stream::iter(lost).for_each_concurrent(AT_ONCE, |(hold, member)| {
                let (quorum, holds) = (&quorum, &holds);
                async move {
                    if let Some(hold) = holds.get(hold)
                        && (!is_late || quorum.has_other_majority(hold, member).await)
                    {
                        quorum.bring_back(hold, member).await;
                    }
                }
            });
            each.await;
        }
    }
}

impl QuorumStore {
    /// Whether a majority has the hold just now, without this member.
    async fn has_other_majority(&self, hold: &HoldRenewal, member: usize) -> bool {
        let options = &self.shared.options;
        let others: Vec<_> = (0..)
            .zip(self.members.iter())
            .filter(|(at, _)| *at != member)
            .map(|(_, other)| other.clone())
            .collect();
        let limit = options.limit(hold.renewal.ttl);
        let mut calls = ask_all(&others, &options.clock, limit, |other| {
            let renewal = hold.renewal.clone();
            async move { other.renew(&[renewal]).await.pop().unwrap_or(Ok(Renewed::Unknown)) }
        });
        let mut have = 0;
        while let Some(MemberAnswer { answer, .. }) = calls.next().await {
            have += usize::from(matches!(answer, Ok(Renewed::Renewed { .. })));
            if have >= majority(self.members.len()) {
                return true;
            }
        }
        false
    }

    /// A member that lost the hold is asked to take it back. It repairs a majority that renewed, and never makes one.
    async fn bring_back(&self, hold: &HoldRenewal, member: usize) {
        let (holds, attempt) = (&self.shared.holds, hold.attempt);
        // It may have ended by now, or be held in another way.
        let (Some(held), Some(store)) = (holds.held(attempt), self.members.get(member)) else {
            return;
        };
        let ask = Ask {
            owner: hold.renewal.owner,
            kind: held.kind,
            mode: held.mode,
            order: Order::Barging,
            intent: Intent::Try,
            ttl: hold.renewal.ttl,
            label: held.label,
        };
        let taking_back = self.taking_back(&hold.renewal);
        let (clock, limit) = (&taking_back.clock, taking_back.limit);
        let name = &taking_back.name;
        let granted = within(clock.clone(), limit, store.acquire(name, &ask)).await;
        let in_doubt = match granted {
            Ok(Answer::Granted { token: own, .. }) => {
                holds.record_join(attempt, member, own, held.token);
                let raise = store.raise(name, &ask.owner, held.token);
                let _ = within(clock.clone(), limit, raise).await;
                false
            }
            Ok(Answer::Busy { .. }) => return,
            Err(_) => true,
        };
        if in_doubt {
            let until = clock.now().saturating_add(ask.ttl);
            holds.record_unanswered(attempt, [member], until);
        }
        if !holds.is_held(attempt) {
            self.take_back(hold, member, in_doubt);
        }
    }
}
