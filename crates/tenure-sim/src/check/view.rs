//! What the store really keeps of a name, beside what its holders believe.

use tenure_core::{Timestamp, Token, proto::queue::Snapshot};

use super::watched::HoldRecord;

/// A lease that the store keeps.
#[derive(Clone, Copy, Debug)]
struct Lease {
    time: u64,
    ends: Timestamp,
}

/// The leases of one name at one moment of true time.
#[derive(Debug)]
pub(super) struct LeaseSnapshot {
    leases: Vec<Lease>,
}

impl LeaseSnapshot {
    pub(super) fn new(snapshot: &Snapshot, now: Timestamp) -> Self {
        let lease =
            |token: Token, left| Lease { time: token.time(), ends: now.saturating_add(left) };
        let leases = snapshot
            .holders
            .iter()
            .filter(|holder| !holder.lingering)
            .filter_map(|holder| Some(lease(holder.token?, holder.left?)))
            .collect();
        Self { leases }
    }

    /// Whether the store has the lease of this hold.
    pub(super) fn has(&self, hold: &HoldRecord) -> bool {
        self.lease_end(hold).is_some()
    }

    /// When the lease of this hold ends in the store.
    fn lease_end(&self, hold: &HoldRecord) -> Option<Timestamp> {
        let time = hold.watched.token.time();
        // Two readers of a quorum may have one token.
        self.leases.iter().filter(|lease| lease.time == time).map(|lease| lease.ends).max()
    }

    /// What is wrong with a hold that its process counts on, if anything is.
    pub(super) fn lease_violation(&self, hold: &HoldRecord) -> Option<String> {
        let (process, token) = (hold.watched.process, hold.watched.token);
        let Some(ends) = self.lease_end(hold) else {
            return Some(format!(
                "process {process} counts on token {token}, of which the store knows nothing"
            ));
        };
        let deadline = hold.deadline()?.saturating_add(hold.watched.grace);
        (deadline > ends).then(|| {
            let longer = deadline.since(ends);
            format!("process {process} counts on token {token} for {longer:?} longer than it may")
        })
    }
}
