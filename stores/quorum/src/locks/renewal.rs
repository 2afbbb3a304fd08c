//! Renewing a majority.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tenure_core::{
    Fault,
    proto::{
        Renewed,
        quorum::{RenewalTally, mark::Standing},
        rule::{Rule, kept},
    },
    store::Renewal,
};

use crate::{
    QuorumStore,
    error::{MemberStatus, no_majority},
    locks::repair::{DecidedRenewal, FollowUp, HoldRenewal, MemberReport},
    members::{MemberCall, MemberCalls, background::MemberCleanup, standing::look, within},
};

/// Which holds which members have lost that are to get them back.
fn members_to_repair(holds: &[HoldRenewal], after: &[FollowUp]) -> Vec<(usize, usize)> {
    let of_hold = |(at, (hold, after)): (usize, (&HoldRenewal, &FollowUp))| -> Vec<(usize, usize)> {
        let is_lost = |(_, answer): &&(usize, Result<Renewed, Fault>)| {
            *after == FollowUp::BringBack && matches!(answer, Ok(Renewed::Lost))
        };
        hold.answers.iter().filter(is_lost).map(|(member, _)| (at, *member)).collect()
    };
    holds.iter().zip(after).enumerate().flat_map(of_hold).collect()
}

impl QuorumStore {
    pub(crate) async fn renew_by_majority(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        let Some(shortest) = holds.iter().map(|hold| hold.ttl).min() else { return Vec::new() };
        let now = self.shared.options.now();
        let longest = self.shared.charter.longest;
        let mut holds: Vec<HoldRenewal> = holds
            .iter()
            .map(|hold| {
                let (attempt, held) = self.shared.holds.begin_renewal(&hold.owner, now, hold.ttl);
                let ttl = hold.ttl.min(longest);
                let renewal = Renewal { name: hold.name.clone(), owner: attempt.owner(), ttl };
                let tally = RenewalTally::new(self.members.len());
                HoldRenewal { renewal, attempt, held, tally, answers: Vec::new() }
            })
            .collect();
        let limit = self.shared.options.limit(shortest);
        let mut reports = self.ask_to_renew(&holds, limit);
        let undecided = |holds: &[HoldRenewal]| {
            holds.iter().any(|hold| hold.tally.result() == Renewed::Unknown)
        };
        let mut unmarked = false;
        while undecided(&holds) {
            let Some(report) = reports.next().await else { break };
            unmarked |= tally_report(&mut holds, report);
        }
        while let Some(Some(report)) = reports.next().now_or_never() {
            unmarked |= tally_report(&mut holds, report);
        }
        let (said, after): (Vec<_>, Vec<_>) = holds.iter().map(|hold| self.conclude(hold)).unzip();
        if unmarked {
            self.assemble_later();
        }
        let lost = members_to_repair(&holds, &after);
        if !reports.is_empty() || !lost.is_empty() {
            let late =
                DecidedRenewal { quorum: self.clone(), holds: holds.into(), after, unmarked };
            // What is refused for want of room is done with the next renewal.
            drop(self.shared.background.run(late.process_reports(reports, lost)));
        }
        said
    }

    fn ask_to_renew(&self, holds: &[HoldRenewal], limit: Duration) -> MemberCalls<MemberReport> {
        let renewals: Vec<_> = holds.iter().map(|hold| hold.renewal.clone()).collect();
        let charter = self.shared.charter;
        let each = self.members.iter().cloned().enumerate().map(|(member, store)| {
            let (clock, renewals) = (self.shared.options.clock.clone(), renewals.clone());
            Box::pin(async move {
                let renew = async { Ok(store.renew(&renewals).await) };
                let renew = within(clock.clone(), limit, renew);
                let look = within(clock.clone(), limit, look(&store, &charter));
                let (answers, seen) = futures_util::future::join(renew, look).await;
                let standing = seen.ok().map(|seen| seen.standing);
                MemberReport { member, answers: answers.unwrap_or_default(), standing }
            }) as MemberCall<_>
        });
        each.collect()
    }

    /// What a hold came to, and what follows at each member from its answer, whenever that comes.
    fn conclude(&self, hold: &HoldRenewal) -> (Result<Renewed, Fault>, FollowUp) {
        let result = hold.tally.result();
        let after = self.choose_follow_up(hold, result);
        if after == FollowUp::TakeBack {
            for (member, answer) in &hold.answers {
                self.take_back_left(hold, *member, answer);
            }
        }
        match result {
            Renewed::Unknown => (Err(self.not_renewed(hold)), after),
            said => (Ok(said), after),
        }
    }

    fn choose_follow_up(&self, hold: &HoldRenewal, result: Renewed) -> FollowUp {
        let holds = &self.shared.holds;
        match (result, &hold.held) {
            // Its release is under way, and has to find what is there.
            (Renewed::Lost, Some(_)) if !holds.is_held(hold.attempt) => FollowUp::Nothing,
            // A detached hold, or one that this process does not know, is not its own to take back: it may be
            // changing hands just now. Its lease ends what is left of it.
            (_, None) => FollowUp::Nothing,
            (_, Some(held)) if held.detached => FollowUp::Nothing,
            (Renewed::Lost, Some(_)) => {
                let now = self.shared.options.now();
                let late = holds.begin_release(&hold.attempt.of(), Duration::ZERO, now).late;
                // What comes late must not stand in others' way.
                for member in late {
                    self.take_back(hold, member, true);
                }
                FollowUp::TakeBack
            }
            (Renewed::Unknown, _) if kept(Rule::RenewalMakesNoMajority) => FollowUp::Nothing,
            (Renewed::Renewed { .. } | Renewed::Unknown, Some(_)) => FollowUp::BringBack,
        }
    }

    /// What is left of a hold that is lost must not stand in others' way.
    pub(crate) fn take_back_left(
        &self,
        hold: &HoldRenewal,
        member: usize,
        answer: &Result<Renewed, Fault>,
    ) {
        if matches!(answer, Ok(Renewed::Renewed { .. })) {
            self.take_back(hold, member, false);
        }
    }

    pub(crate) fn take_back(&self, hold: &HoldRenewal, member: usize, in_doubt: bool) {
        let Some(store) = self.members.get(member).cloned() else { return };
        let taking_back = self.taking_back(&hold.renewal);
        self.shared.background.take_back(taking_back, member, store, in_doubt);
    }

    fn not_renewed(&self, hold: &HoldRenewal) -> Fault {
        let mut statuses = vec![MemberStatus::Silent; self.members.len()];
        for (member, answer) in &hold.answers {
            if let Some(status) = statuses.get_mut(*member) {
                *status = match answer {
                    Ok(Renewed::Renewed { .. }) => MemberStatus::Did,
                    Ok(Renewed::Lost) => MemberStatus::NotHeld,
                    Ok(Renewed::Unknown) => MemberStatus::Silent,
                    Err(fault) => MemberStatus::of(fault),
                };
            }
        }
        no_majority("renewed", Some(&hold.renewal.name), &statuses, &self.shared.places, true)
    }

    pub(crate) fn taking_back(&self, renewal: &Renewal) -> MemberCleanup {
        MemberCleanup {
            clock: self.shared.options.clock.clone(),
            limit: self.shared.options.limit(renewal.ttl),
            name: renewal.name.clone(),
            owner: renewal.owner,
            ttl: renewal.ttl,
            keep: Duration::ZERO,
        }
    }
}

/// Counts what a member reported; says whether it needs a mark.
fn tally_report(holds: &mut [HoldRenewal], report: MemberReport) -> bool {
    let needs_mark = report.needs_mark();
    let MemberReport { member, answers, standing } = report;
    let counted = standing == Some(Standing::Counted);
    for (hold, answer) in holds.iter_mut().zip(answers) {
        hold.tally.answered(*answer.as_ref().unwrap_or(&Renewed::Unknown), counted);
        hold.answers.push((member, answer));
    }
    needs_mark
}
