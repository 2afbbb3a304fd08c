//! A look at each member, and at what they come to.

use std::time::Duration;

use futures_util::StreamExt;
use tenure_core::{
    Fault,
    proto::quorum::{majority, mark::Standing},
    store::{Finding, Weight},
};

use crate::{
    QuorumStore,
    assembly::SAME_RULES,
    members::{Told, ask_all},
    standing::look,
};

/// How long a look at one member may take.
const PATIENCE: Duration = Duration::from_secs(8);

/// What to do about a member that restarted, and about one that came back empty.
const RESTARTED: &str = "wait; if every member writes what it confirms before it says so (Redis: \
                         appendfsync always), say durable_members=yes at all clients";
const NEW: &str = "wait; make its data outlive a restart";

impl QuorumStore {
    /// The members one after the other, and first what they come to.
    pub(crate) async fn look_at_members(&self) -> Vec<Finding> {
        let assembled = self.assemble_once().await;
        let charter = self.shared.charter;
        let mut looks =
            ask_all(&self.members, &self.shared.options.clock, PATIENCE, |member| async move {
                let findings = member.health().await?;
                // Who cannot be reached has said so by then, and why.
                Ok((look(&member, &charter).await.map(|look| look.standing), findings))
            });
        let mut each: Vec<Vec<Finding>> = vec![Vec::new(); self.members.len()];
        let (mut counted, mut unmarked) = (0, false);
        while let Some(Told { member, answer }) = looks.next().await {
            let place = self.shared.places.get(member).map_or("", String::as_str);
            let findings = match answer {
                Ok((standing, findings)) => {
                    let failed = findings.iter().any(|finding| finding.weight == Weight::Bad);
                    let memory = match standing {
                        Ok(standing) => {
                            counted += usize::from(standing == Standing::Counted);
                            unmarked |= standing.needs_mark();
                            Some(memory(place, &standing, charter.keep_out()))
                        }
                        Err(_) if failed => None,
                        Err(fault) => Some(unreached(place, &fault)),
                    };
                    let lost = memory.is_none();
                    let own = findings.into_iter().map(|finding| Finding {
                        what: format!("{place}: {}", finding.what),
                        // A minority may be missing; whether it is more, the sum says.
                        weight: if lost {
                            finding.weight.min(Weight::Warning)
                        } else {
                            finding.weight
                        },
                        ..finding
                    });
                    memory.into_iter().chain(own).collect()
                }
                Err(fault) => vec![unreached(place, &fault)],
            };
            if let Some(of_member) = each.get_mut(member) {
                *of_member = findings;
            }
        }
        if unmarked {
            self.assemble_later();
        }
        let mut all = vec![self.sum(counted)];
        if let Err(fault) = assembled {
            let what = "rules".to_owned();
            all.push(finding(Weight::Bad, what, fault.what_and_why(), fault.cure()));
        }
        if self.members.len().is_multiple_of(2) {
            let found = format!("{} members survive no more losses than one fewer", each.len());
            let what = "number of members".to_owned();
            all.push(finding(Weight::Warning, what, found, "take an odd number"));
        }
        all.extend(each.into_iter().flatten());
        all
    }

    fn sum(&self, counted: usize) -> Finding {
        let (members, needed) = (self.members.len(), majority(self.members.len()));
        let found = format!("{counted} of {members} members are counted, {needed} are needed");
        let what = "majority".to_owned();
        if counted == members {
            return Finding { weight: Weight::Good, what, found, promise: None, cure: None };
        }
        let cure = "bring back the members that are missing; those that are kept out come back by \
                    themselves";
        let weight = if counted < needed { Weight::Bad } else { Weight::Warning };
        finding(weight, what, found, cure)
    }
}

fn unreached(place: &str, fault: &Fault) -> Finding {
    let what = format!("{place}: reach");
    finding(Weight::Warning, what, fault.what_and_why(), fault.cure())
}

fn memory(place: &str, standing: &Standing, keep_out: Duration) -> Finding {
    let what = format!("{place}: memory");
    match standing {
        Standing::Counted => {
            let found = "reaches back further than the longest lease".to_owned();
            Finding { weight: Weight::Good, what, found, promise: None, cure: None }
        }
        Standing::KeptOut { rest, restarted } => {
            let since = keep_out.saturating_sub(*rest);
            let why = if *restarted { "it restarted" } else { "its memory is new" };
            let found = format!("{why}, seen {since:.0?} ago; counts in {rest:.0?}");
            finding(Weight::Warning, what, found, if *restarted { RESTARTED } else { NEW })
        }
        Standing::Restarted => {
            let found =
                "it restarted, and may have forgotten its newest holds; it is marked anew by \
                         the next use and counts one longest_lease later"
                    .to_owned();
            finding(Weight::Warning, what, found, RESTARTED)
        }
        Standing::Unmarked | Standing::Claimed => {
            let found = "it has no mark yet".to_owned();
            finding(Weight::Warning, what, found, "look again in a moment")
        }
        Standing::Foreign(words) => {
            let found = format!("it belongs to a {words:?}");
            finding(Weight::Bad, what, found, SAME_RULES)
        }
    }
}

fn finding(weight: Weight, what: String, found: String, cure: &str) -> Finding {
    Finding { weight, what, found, promise: Some("S1"), cure: Some(cure.to_owned()) }
}
