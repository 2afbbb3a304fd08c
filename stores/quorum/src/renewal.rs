//! Renewing a majority, and bringing back members that lost a hold.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tenure_core::{
    Fault,
    proto::{
        Renewed,
        queue::{Answer, Ask, Intent, Order},
        quorum::{RenewalTally, mark::Standing},
        rule::{Rule, kept},
    },
    store::Renewal,
};

use crate::{
    QuorumStore,
    background::TakingBack,
    error::{Status, no_majority},
    holds::{Attempt, Held},
    members::{Call, Calls, Member, within},
    standing::look,
};

/// What one member answered for all holds, and whether it is counted.
struct Report {
    member: usize,
    answers: Vec<Result<Renewed, Fault>>,
    standing: Option<Standing>,
}

impl Report {
    fn needs_mark(&self) -> bool {
        self.standing.as_ref().is_some_and(Standing::needs_mark)
    }
}

/// One hold under renewal.
struct Hold {
    renewal: Renewal,
    attempt: Attempt,
    held: Option<Held>,
    tally: RenewalTally,
    answers: Vec<(usize, Result<Renewed, Fault>)>,
}

impl QuorumStore {
    pub(crate) async fn renew_by_majority(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        let Some(shortest) = holds.iter().map(|hold| hold.ttl).min() else { return Vec::new() };
        let now = self.shared.options.now();
        let longest = self.shared.charter.longest;
        let mut holds: Vec<Hold> = holds
            .iter()
            .map(|hold| {
                let (attempt, held) = self.shared.holds.renewing(&hold.owner, now, hold.ttl);
                let ttl = hold.ttl.min(longest);
                let renewal = Renewal { name: hold.name.clone(), owner: attempt.owner(), ttl };
                let tally = RenewalTally::new(self.members.len());
                Hold { renewal, attempt, held, tally, answers: Vec::new() }
            })
            .collect();
        let limit = self.shared.options.limit(shortest);
        let mut reports = self.ask_to_renew(&holds, limit);
        let undecided =
            |holds: &[Hold]| holds.iter().any(|hold| hold.tally.result() == Renewed::Unknown);
        let mut unmarked = false;
        while undecided(&holds) {
            let Some(report) = reports.next().await else { break };
            unmarked |= note(&mut holds, report);
        }
        while let Some(Some(report)) = reports.next().now_or_never() {
            unmarked |= note(&mut holds, report);
        }
        if !reports.is_empty() {
            // A member that is slow is to renew all the same, and to have a mark.
            let quorum = self.clone();
            drop(self.shared.background.run(async move {
                let mut unmarked = false;
                while let Some(report) = reports.next().await {
                    unmarked |= report.needs_mark();
                }
                if unmarked {
                    quorum.assemble_later();
                }
            }));
        }
        if unmarked {
            self.assemble_later();
        }
        holds.into_iter().map(|hold| self.conclude(hold)).collect()
    }

    fn ask_to_renew(&self, holds: &[Hold], limit: Duration) -> Calls<Report> {
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
                Report { member, answers: answers.unwrap_or_default(), standing }
            }) as Call<_>
        });
        each.collect()
    }

    fn conclude(&self, hold: Hold) -> Result<Renewed, Fault> {
        let result = hold.tally.result();
        let stores = |which: fn(&Renewed) -> bool| -> Vec<(usize, Member)> {
            let answers = hold.answers.iter();
            let members = answers.filter(|(_, answer)| answer.as_ref().is_ok_and(which));
            members
                .filter_map(|(member, _)| Some((*member, self.members.get(*member)?.clone())))
                .collect()
        };
        let holds = &self.shared.holds;
        match result {
            // Its release is under way, and has to find what is there.
            Renewed::Lost if hold.held.is_some() && !holds.is_held(hold.attempt) => {}
            // A detached hold, or one that this process does not know, is not its own to take back: it may be
            // changing hands just now. Its lease ends what is left of it.
            Renewed::Lost if hold.held.as_ref().is_none_or(|held| held.detached) => {}
            Renewed::Lost => {
                let now = self.shared.options.now();
                let late = holds.releasing(&hold.attempt.of(), Duration::ZERO, now).late;
                // What is left of it, or comes late, must not stand in others' way.
                let left = stores(|answer| matches!(answer, Renewed::Renewed { .. }));
                let left = left.into_iter().map(|(member, store)| (member, store, false));
                let late =
                    late.iter().filter_map(|at| Some((*at, self.members.get(*at)?.clone(), true)));
                for (member, store, in_doubt) in left.chain(late) {
                    let taking_back = self.taking_back(&hold.renewal);
                    self.shared.background.take_back(taking_back, member, store, in_doubt);
                }
            }
            Renewed::Unknown if kept(Rule::RenewalMakesNoMajority) => {}
            Renewed::Renewed { .. } | Renewed::Unknown => {
                let lost = stores(|answer| *answer == Renewed::Lost);
                let held = hold.held.as_ref().filter(|held| !lost.is_empty() && !held.detached);
                if let Some(held) = held {
                    self.bring_back(&hold, held, lost);
                }
            }
        }
        match result {
            Renewed::Unknown => Err(self.not_renewed(&hold)),
            said => Ok(said),
        }
    }

    fn not_renewed(&self, hold: &Hold) -> Fault {
        let mut statuses = vec![Status::Silent; self.members.len()];
        for (member, answer) in &hold.answers {
            if let Some(status) = statuses.get_mut(*member) {
                *status = match answer {
                    Ok(Renewed::Renewed { .. }) => Status::Did,
                    Ok(Renewed::Lost) => Status::NotHeld,
                    Ok(Renewed::Unknown) => Status::Silent,
                    Err(fault) => Status::of(fault),
                };
            }
        }
        no_majority("renewed", Some(&hold.renewal.name), &statuses, &self.shared.places, true)
    }

    /// Members that lost the hold are asked to take it back. They repair a majority that renewed,
    /// and never make one.
    fn bring_back(&self, hold: &Hold, held: &Held, lost: Vec<(usize, Member)>) {
        let ask = Ask {
            owner: hold.renewal.owner,
            kind: held.kind,
            mode: held.mode,
            order: Order::Barging,
            intent: Intent::Try,
            ttl: hold.renewal.ttl,
            label: held.label.clone(),
        };
        let (token, attempt) = (held.token, hold.attempt);
        for (member, store) in lost {
            let taking_back = self.taking_back(&hold.renewal);
            let (shared, ask) = (self.shared.clone(), ask.clone());
            // What is refused for want of room is done with the next renewal.
            drop(self.shared.background.run(async move {
                let (clock, limit) = (&taking_back.clock, taking_back.limit);
                let name = &taking_back.name;
                let granted = within(clock.clone(), limit, store.acquire(name, &ask)).await;
                let in_doubt = match granted {
                    Ok(Answer::Granted { token: own, .. }) => {
                        shared.holds.joins(attempt, member, own, token);
                        let raise = store.raise(name, &ask.owner, token);
                        let _ = within(clock.clone(), limit, raise).await;
                        false
                    }
                    Ok(Answer::Busy { .. }) => return,
                    Err(_) => true,
                };
                if in_doubt {
                    let until = clock.now().saturating_add(ask.ttl);
                    shared.holds.may_come_late(attempt, [member], until);
                }
                if !shared.holds.is_held(attempt) {
                    shared.background.take_back(taking_back, member, store, in_doubt);
                }
            }));
        }
    }

    fn taking_back(&self, renewal: &Renewal) -> TakingBack {
        TakingBack {
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
fn note(holds: &mut [Hold], report: Report) -> bool {
    let needs_mark = report.needs_mark();
    let Report { member, answers, standing } = report;
    let counted = standing == Some(Standing::Counted);
    for (hold, answer) in holds.iter_mut().zip(answers) {
        hold.tally.answered(*answer.as_ref().unwrap_or(&Renewed::Unknown), counted);
        hold.answers.push((member, answer));
    }
    needs_mark
}
