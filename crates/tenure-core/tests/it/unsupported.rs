//! Kinds of lock that a store lacks are refused before it is asked.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tenure_core::{
    AcquireError, Fault, LockName, MemoryStore, Owner, Store, Tenure, Token, Wakeups,
    proto::{
        Renewed,
        queue::{Answer, Ask, Contender, Mode, Raised, Released, Snapshot},
    },
    store::{Capabilities, Finding, Listing, Renewal},
};

/// A memory store that knows mutexes alone, and panics when it is asked for anything else.
#[derive(Debug)]
struct MutexesOnly {
    store: MemoryStore,
    can: Capabilities,
}

#[async_trait]
impl Store for MutexesOnly {
    fn kind(&self) -> &'static str {
        "plain"
    }

    fn location(&self) -> String {
        "here".to_owned()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.can
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        self.store.for_engine()
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.store.wakeups(name, owner)
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        assert_eq!(ask.mode, Mode::Exclusive, "asked for what it cannot do");
        self.store.acquire(name, ask).await
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Renewed> {
        self.store.renew(holds).await
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        self.store.release(name, owner, keep).await
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.store.turn(name, owner, ask).await
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        self.store.raise(name, owner, token).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        self.store.inspect(name).await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        self.store.list(prefix, limit).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        self.store.evict(name).await
    }

    async fn health(&self) -> Result<Vec<Finding>, Fault> {
        self.store.health().await
    }

    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        None
    }
}

fn tenure() -> Tenure {
    let store = MemoryStore::new();
    let can = Capabilities { shared: false, permits: false, ..store.capabilities().clone() };
    Tenure::new(Arc::new(MutexesOnly { store, can }))
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, AcquireError>, says: &str) {
    let error = outcome.unwrap_err();
    assert!(matches!(error, AcquireError::Misconfigured(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with("lock \"a\" in plain:here: ") && text.contains(says), "{text}");
}

#[tokio::test]
async fn readers_and_permits_are_refused_where_the_store_knows_none() {
    let tenure = tenure();
    refused(tenure.rwlock("a").read().await, "no readers");
    refused(tenure.rwlock("a").try_read().await, "no readers");
    refused(tenure.semaphore("a", 2).acquire().await, "no permits");
    refused(tenure.semaphore("a", 2).try_acquire().await, "no permits");
}

#[tokio::test]
async fn a_writer_that_cannot_become_a_reader_goes_on_writing() {
    let tenure = tenure();
    let writer = tenure.rwlock("a").write().await.unwrap();
    let error = writer.downgrade().await.unwrap_err();
    let tenure_core::DowngradeError::StillWriting { guard, trouble } = error else {
        panic!("{error}")
    };
    assert!(trouble.to_string().contains("no readers"), "{trouble}");
    assert!(tenure.mutex("a").try_lock().await.unwrap().is_none());
    guard.check().unwrap();
    guard.release().await.unwrap();
}
