//! Looking at names, and taking them away: what a majority says.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    time::Duration,
};

use futures_util::{StreamExt, future::join};
use tenure_core::{
    Fault, FaultKind, HoldId, LockName,
    proto::{
        queue::{Contender, Snapshot},
        quorum::{
            agreed, agreed_holders, majority,
            mark::{Charter, Standing},
            witnesses,
        },
    },
    store::Listing,
};

use crate::{
    QuorumStore,
    error::{MemberStatus, no_majority},
    members::{Member, MemberAnswer, MemberCalls, ask_all, standing::look},
    store::{is_reserved, refuse_reserved},
};

/// How long a member may take to list its names.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a hold is evicted that comes back.
const ROUNDS: u32 = 5;

impl QuorumStore {
    pub(crate) async fn inspect_by_majority(&self, name: &LockName) -> Result<Snapshot, Fault> {
        let (options, charter) = (&self.shared.options, self.shared.charter);
        let calls = ask_all(&self.members, &options.clock, options.member_limit, |member| {
            let (name, counted) = (name.clone(), is_counted(charter, member.clone()));
            async move { with(member.inspect(&name), counted).await }
        });
        let seen = self.of_majority("showed", Some(name), calls).await?;
        let members = self.members.len();
        Ok(agreed(&witnesses(seen, members), members))
    }

    pub(crate) async fn list_agreed(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        let (clock, charter) = (&self.shared.options.clock, self.shared.charter);
        let calls = ask_all(&self.members, clock, PATIENCE, |member| {
            // The mark and the note may be among them.
            let (prefix, limit) = (prefix.to_owned(), limit.saturating_add(2));
            let counted = is_counted(charter, member.clone());
            async move { with(member.list(&prefix, limit), counted).await }
        });
        let listings = self.of_majority("listed names", None, calls).await?;
        let listings = witnesses(listings, self.members.len());
        // Of what comes behind the end of a list that was cut, that member said nothing.
        let ends = listings.iter().filter(|listing| listing.more);
        let end = ends.filter_map(|listing| listing.names.last().map(|(name, _)| name)).min();
        let mut seen: BTreeMap<&LockName, Vec<Snapshot>> = BTreeMap::new();
        for (name, snapshot) in listings.iter().flat_map(|listing| &listing.names) {
            seen.entry(name).or_default().push(snapshot.clone());
        }
        let mut result = Listing::new(Vec::new(), end.is_some());
        for (name, mut snapshots) in seen {
            if is_reserved(name) || end.is_some_and(|end| name > end) {
                continue;
            }
            snapshots.resize(listings.len(), Snapshot::default());
            let agreed = agreed(&snapshots, self.members.len());
            if agreed == Snapshot::default() {
                continue;
            }
            if result.names.len() == limit {
                result.more = true;
                break;
            }
            result.names.push((name.clone(), agreed));
        }
        Ok(result)
    }

    /// All who hold the name, or the one of this id.
    pub(crate) async fn evict_everywhere(
        &self,
        name: &LockName,
        hold: Option<HoldId>,
    ) -> Result<Vec<Contender>, Fault> {
        refuse_reserved(name)?;
        let options = &self.shared.options;
        let calls = ask_all(&self.members, &options.clock, options.member_limit, |member| {
            let name = name.clone();
            async move {
                match hold {
                    Some(hold) => {
                        member.evict_hold(&name, hold).await.map(|one| one.into_iter().collect())
                    }
                    None => member.evict(&name).await,
                }
            }
        });
        let evicted = self.of_majority("evicted", Some(name), calls).await?;
        let holders = agreed_holders(&evicted, self.members.len());
        let ids = holders.iter().filter_map(|holder| holder.id).collect();
        self.evict_what_came_back(name, &ids).await?;
        self.shared.board.wake_name(name);
        Ok(holders)
    }

    /// Hints to the holders of a name at each member: a majority of hints counts as one.
    pub(crate) async fn hint_everywhere(&self, name: &LockName) -> Result<(), Fault> {
        refuse_reserved(name)?;
        let options = &self.shared.options;
        let calls = ask_all(&self.members, &options.clock, options.member_limit, |member| {
            let name = name.clone();
            async move { member.hint_holders(&name).await }
        });
        self.of_majority("told its holders of", Some(name), calls).await?;
        Ok(())
    }

    /// A renewal between the evictions at two members gives the hold back to the first. So it is evicted until a
    /// majority has none of these at the same time.
    async fn evict_what_came_back(
        &self,
        name: &LockName,
        ids: &BTreeSet<HoldId>,
    ) -> Result<(), Fault> {
        let options = &self.shared.options;
        for _ in 0..ROUNDS {
            if ids.is_empty() {
                return Ok(());
            }
            let calls = ask_all(&self.members, &options.clock, options.member_limit, |member| {
                let (name, ids) = (name.clone(), ids.clone());
                async move {
                    let mut came_back = false;
                    for id in ids {
                        came_back |= member.evict_hold(&name, id).await?.is_some();
                    }
                    Ok(came_back)
                }
            });
            let came_back = self.of_majority("evicted", Some(name), calls).await?;
            if !came_back.contains(&true) {
                return Ok(());
            }
        }
        let what = format!(
            "the holder of {name:?} was evicted, but its renewals brought it back each time"
        );
        Err(Fault::new(
            FaultKind::InDoubt,
            what,
            "evict again, and see which members are unreachable",
        ))
    }

    /// What all members answer that answer in time, if they are a majority.
    async fn of_majority<T: Send + 'static>(
        &self,
        verb: &str,
        name: Option<&LockName>,
        mut calls: MemberCalls<MemberAnswer<T>>,
    ) -> Result<Vec<T>, Fault> {
        let mut answers = Vec::new();
        let mut statuses = vec![MemberStatus::Silent; self.members.len()];
        let mut in_doubt = false;
        while let Some(MemberAnswer { member, answer }) = calls.next().await {
            let status = match answer {
                Ok(answer) => {
                    answers.push(answer);
                    MemberStatus::Did
                }
                Err(fault) => {
                    in_doubt |= fault.kind() == FaultKind::InDoubt;
                    MemberStatus::of(&fault)
                }
            };
            if let Some(old) = statuses.get_mut(member) {
                *old = status;
            }
        }
        if answers.len() >= majority(self.members.len()) {
            return Ok(answers);
        }
        let in_doubt = in_doubt || !answers.is_empty();
        Err(no_majority(verb, name, &statuses, &self.shared.places, in_doubt))
    }
}

/// Whether the member's memory goes back so far that what it does not know was not there.
async fn is_counted(charter: Charter, member: Member) -> bool {
    look(&member, &charter).await.is_ok_and(|seen| seen.standing == Standing::Counted)
}

/// The answer, with what is found out beside it.
async fn with<T>(
    call: impl Future<Output = Result<T, Fault>>,
    beside: impl Future<Output = bool>,
) -> Result<(T, bool), Fault> {
    let (answer, counted) = join(call, beside).await;
    answer.map(|answer| (answer, counted))
}
