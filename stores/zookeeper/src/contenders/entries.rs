//! What this process has at the ensemble: each acquisition with its nodes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tenure_core::{LockName, Owner, Timestamp, Token, proto::queue::Mode};
use tokio::{sync::Notify, task::AbortHandle};

use crate::contenders::node::{Node, NodePrefix};

/// One acquisition.
#[derive(Debug)]
pub(crate) struct Acquisition {
    pub(crate) name: LockName,
    pub(crate) base: NodePrefix,
    pub(crate) mode: Mode,
    /// The session that its nodes belong to.
    pub(crate) session: u64,
    /// Whether a node may be there of which nobody knows: a call that creates was sent and not answered.
    pub(crate) in_doubt: bool,
    /// Which call was the last that may have made a node, of all in this process.
    pub(crate) sent: u64,
    /// How often its nodes were looked for since it was let go.
    pub(crate) looked: u32,
    /// Whether it was only tried for, so that nothing of it may stay in the line.
    pub(crate) tries: bool,
    /// Whether it was seen, with its node there, that nobody uses the name as another kind.
    pub(crate) checked: bool,
    /// Its place in the line.
    pub(crate) place: Option<CreatedNode>,
    /// Its permits.
    pub(crate) leases: Vec<CreatedNode>,
    /// The token, once it is granted.
    pub(crate) token: Option<Token>,
    /// Whether it was let go, and its nodes are only to be gone.
    pub(crate) leaving: bool,
    /// When it ends by itself.
    pub(crate) until: Timestamp,
    /// What is being watched for it, and the task that does.
    pub(crate) watched: Option<WatchTask>,
}

/// A node that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CreatedNode {
    pub(crate) path: String,
    pub(crate) czxid: i64,
}

impl CreatedNode {
    /// Its name without its directory.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether nobody can tell by its number who came first.
    pub(crate) fn is_used_up(&self) -> bool {
        Node::parse_any(self.name()).is_none_or(|node| node.is_used_up())
    }
}

/// A watch that somebody waits for, until this is dropped.
#[derive(Debug)]
pub(crate) struct WatchTask {
    pub(crate) path: String,
    pub(crate) task: AbortHandle,
}

impl Drop for WatchTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Acquisition {
    pub(crate) fn new(
        name: LockName,
        base: NodePrefix,
        mode: Mode,
        session: u64,
        until: Timestamp,
    ) -> Self {
        Self {
            name,
            base,
            mode,
            session,
            in_doubt: false,
            sent: next(),
            looked: 0,
            tries: false,
            checked: false,
            place: None,
            leases: Vec::new(),
            token: None,
            leaving: false,
            until,
            watched: None,
        }
    }

    /// A call is sent that may make a node.
    pub(crate) fn record_send(&mut self) {
        self.in_doubt = true;
        self.sent = next();
    }

    /// What has to be there for as long as it holds the name: all its permits, or the place at the head of the line.
    pub(crate) fn proofs(&self) -> Vec<String> {
        if self.leases.is_empty() {
            return self.paths();
        }
        self.leases.iter().map(|lease| lease.path.clone()).collect()
    }

    /// The paths of its nodes.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.place.iter().chain(&self.leases).map(|placed| placed.path.clone()).collect()
    }

    /// The node that proves the hold: a permit, or the place at the head of the line.
    pub(crate) fn proof(&self) -> Option<&CreatedNode> {
        self.leases.last().or(self.place.as_ref())
    }
}

/// A number that no call had before.
fn next() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    CALLS.fetch_add(1, Ordering::Relaxed)
}

/// Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acquisitions(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    all: Mutex<AcquisitionMap>,
    /// Somebody ends earlier than all others did.
    earlier: Notify,
}

#[derive(Debug, Default)]
struct AcquisitionMap {
    of: BTreeMap<Owner, Acquisition>,
    ends: BTreeSet<(Timestamp, Owner)>,
}

impl AcquisitionMap {
    fn put(&mut self, owner: Owner, entry: Acquisition) -> bool {
        self.take(&owner);
        let first = self.ends.first().is_none_or(|(first, _)| entry.until < *first);
        self.ends.insert((entry.until, owner));
        self.of.insert(owner, entry);
        first
    }

    fn take(&mut self, owner: &Owner) -> Option<Acquisition> {
        let entry = self.of.remove(owner)?;
        self.ends.remove(&(entry.until, *owner));
        Some(entry)
    }
}

impl Acquisitions {
    pub(crate) fn insert(&self, owner: Owner, entry: Acquisition) {
        if self.lock().put(owner, entry) {
            self.0.earlier.notify_one();
        }
    }

    pub(crate) fn remove(&self, owner: &Owner) -> Option<Acquisition> {
        self.lock().take(owner)
    }

    /// Forgets one, if it is still what was seen.
    pub(crate) fn remove_if(&self, owner: &Owner, is_same: impl FnOnce(&Acquisition) -> bool) {
        let mut all = self.lock();
        if all.of.get(owner).is_some_and(is_same) {
            all.take(owner);
        }
    }

    /// Forgets all, and ends what is being watched for them.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.lock());
        drop(all);
    }

    /// Looks at one, if it is there.
    pub(crate) fn with<T>(&self, owner: &Owner, look: impl FnOnce(&Acquisition) -> T) -> Option<T> {
        self.lock().of.get(owner).map(look)
    }

    /// Changes one, if it is there.
    pub(crate) fn change<T>(
        &self,
        owner: &Owner,
        change: impl FnOnce(&mut Acquisition) -> T,
    ) -> Option<T> {
        let mut all = self.lock();
        let mut entry = all.take(owner)?;
        let changed = change(&mut entry);
        let first = all.put(*owner, entry);
        drop(all);
        if first {
            self.0.earlier.notify_one();
        }
        Some(changed)
    }

    /// Who has this node, if it is held in this process.
    pub(crate) fn is_hold_node(&self, path: &str) -> bool {
        let all = self.lock();
        all.of.values().any(|entry| {
            entry.token.is_some() && entry.proof().is_some_and(|proof| proof.path == path)
        })
    }

    /// Who ends by `now`, and when the next one does.
    pub(crate) fn expired_owners(&self, now: Timestamp) -> (Vec<Owner>, Option<Timestamp>) {
        let all = self.lock();
        let ended = all.ends.iter().take_while(|(end, _)| *end <= now).map(|(_, owner)| *owner);
        let next = all.ends.iter().map(|(end, _)| *end).find(|end| *end > now);
        (ended.collect(), next)
    }

    pub(crate) async fn wait_for_earlier(&self) {
        self.0.earlier.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, AcquisitionMap> {
        self.0.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What this process knows of an owner.
pub(crate) enum OwnerState {
    Nothing,
    /// It has a place in the line.
    Queued(CreatedNode),
    /// It has the name, by this node.
    Holds(CreatedNode, Token),
}
