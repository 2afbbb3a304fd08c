//! A look at each member, and at what they come to.

use std::time::Duration;

use futures_util::StreamExt;
use tenure_core::{
    proto::quorum::{majority, mark::Standing},
    store::{Finding, Weight},
};

use crate::{
    QuorumStore,
    members::{Told, ask_all, mark_name},
};

/// How long a look at one member may take.
const PATIENCE: Duration = Duration::from_secs(8);

impl QuorumStore {
    /// The members one after the other, and first what they come to.
    pub(crate) async fn look_at_members(&self) -> Vec<Finding> {
        let assembled = self.assemble_once().await;
        let charter = self.shared.charter;
        let mut looks =
            ask_all(&self.members, &self.shared.options.clock, PATIENCE, |member| async move {
                let name = mark_name()?;
                let standing = charter.standing(&member.inspect(&name).await?);
                Ok((standing, member.health().await?))
            });
        let mut each: Vec<Vec<Finding>> = vec![Vec::new(); self.members.len()];
        let mut counted = 0;
        while let Some(Told { member, answer }) = looks.next().await {
            let place = self.shared.places.get(member).map_or("", String::as_str);
            let findings = match answer {
                Ok((standing, findings)) => {
                    counted += usize::from(standing == Standing::Counted);
                    let own = findings.into_iter().map(|finding| Finding {
                        what: format!("{place}: {}", finding.what),
                        ..finding
                    });
                    std::iter::once(memory(place, &standing)).chain(own).collect()
                }
                Err(fault) => vec![finding(
                    Weight::Warning,
                    format!("{place}: reach"),
                    fault.what().to_owned(),
                    fault.cure(),
                )],
            };
            if let Some(of_member) = each.get_mut(member) {
                *of_member = findings;
            }
        }
        let mut all = vec![self.sum(counted)];
        if let Err(fault) = assembled {
            let what = "rules".to_owned();
            all.push(finding(Weight::Bad, what, fault.what().to_owned(), fault.cure()));
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

fn memory(place: &str, standing: &Standing) -> Finding {
    let what = format!("{place}: memory");
    match standing {
        Standing::Counted => {
            let found = "reaches back further than the longest lease".to_owned();
            Finding { weight: Weight::Good, what, found, promise: None, cure: None }
        }
        Standing::KeptOut(rest) => {
            let found = format!("new, so it is kept out for another {rest:.0?}");
            finding(Weight::Warning, what, found, "wait; make its data outlive a restart")
        }
        Standing::Unmarked | Standing::Claimed => {
            let found = "it has no mark yet".to_owned();
            finding(Weight::Warning, what, found, "look again in a moment")
        }
        Standing::Foreign(words) => {
            let found = format!("it belongs to a {words:?}");
            let cure = "give all clients the same members and the same longest_lease";
            finding(Weight::Bad, what, found, cure)
        }
    }
}

fn finding(weight: Weight, what: String, found: String, cure: &str) -> Finding {
    Finding { weight, what, found, promise: Some("S1"), cure: Some(cure.to_owned()) }
}
