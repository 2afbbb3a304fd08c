//! One ask of an owner at a time: two would make a node each, of which one is forgotten.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tenure_core::Owner;
use tokio::sync::OwnedMutexGuard;

type OwnerMutex = Arc<tokio::sync::Mutex<()>>;

/// The owners that are asked for at this moment.
#[derive(Debug, Default)]
pub(crate) struct OwnerLocks(Mutex<BTreeMap<Owner, OwnerMutex>>);

/// Nobody else asks for this owner until it is dropped.
pub(crate) struct OwnerGuard<'a> {
    asks: &'a OwnerLocks,
    owner: Owner,
    one: Option<OwnerMutex>,
    turn: Option<OwnedMutexGuard<()>>,
}

impl OwnerLocks {
    /// Waits for its turn.
    pub(crate) async fn lock_owner(&self, owner: &Owner) -> OwnerGuard<'_> {
        let one = self.lock().entry(*owner).or_default().clone();
        let mut alone =
            OwnerGuard { asks: self, owner: *owner, one: Some(one.clone()), turn: None };
        alone.turn = Some(one.lock_owned().await);
        alone
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Owner, OwnerMutex>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OwnerGuard<'_> {
    fn drop(&mut self) {
        let mut all = self.asks.lock();
        self.turn = None;
        self.one = None;
        // Others are counted under this lock, too.
        if all.get(&self.owner).is_some_and(|one| Arc::strong_count(one) == 1) {
            all.remove(&self.owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin, task::Poll};

    use super::*;

    #[tokio::test]
    async fn one_is_alone_until_it_is_dropped_and_nothing_is_remembered_of_it() {
        let (asks, owner) = (OwnerLocks::default(), Owner::from_bytes([1; 16]));
        let first = asks.lock_owner(&owner).await;
        drop(asks.lock_owner(&Owner::from_bytes([2; 16])).await);
        {
            let mut given_up = pin!(asks.lock_owner(&owner));
            let ready = poll_fn(|context| Poll::Ready(given_up.as_mut().poll(context).is_ready()));
            assert!(!ready.await);
        }
        assert_eq!(asks.lock().len(), 1);
        let mut second = pin!(asks.lock_owner(&owner));
        let ready = poll_fn(|context| Poll::Ready(second.as_mut().poll(context).is_ready()));
        assert!(!ready.await);
        drop(first);
        assert_eq!(asks.lock().len(), 1);
        drop(second.await);
        assert!(asks.lock().is_empty());
    }
}
