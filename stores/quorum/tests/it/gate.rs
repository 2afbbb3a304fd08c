//! Neither readers nor writers starve on a quorum, although it keeps no queue.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    FaultKind, ManualClock, MemoryStore, RwLock, Store, Tenure, proto::quorum::gate,
};
use tenure_quorum::{QuorumOptions, QuorumStore};

use crate::support::{PATIENCE, until};

struct Scene {
    members: Vec<MemoryStore>,
    /// The members' clock. It stands still, so that nothing that is left there ends by itself.
    clock: ManualClock,
}

impl Scene {
    fn new() -> Self {
        let clock = ManualClock::new();
        let member = |_| MemoryStore::with_clock(Arc::new(clock.clone()));
        Self { members: (0..3).map(member).collect(), clock }
    }

    async fn store(&self) -> QuorumStore {
        let members =
            self.members.iter().map(|member| Arc::new(member.clone()) as Arc<dyn Store>).collect();
        QuorumStore::open(members, QuorumOptions::new()).await.unwrap()
    }

    /// One more process.
    async fn process(&self) -> Tenure {
        Tenure::new(Arc::new(self.store().await))
    }

    /// At how many members somebody signed.
    async fn signed(&self) -> usize {
        let mut count = 0;
        for member in &self.members {
            count += usize::from(!member.list(gate::PREFIX, 1).await.unwrap().names.is_empty());
        }
        count
    }
}

/// Readers of which each enters before the one before it leaves, until one is kept out.
async fn readers_until_kept_out(lock: RwLock) -> u32 {
    let mut reading = lock.read().await.unwrap();
    let mut count = 1;
    while let Ok(next) = lock.read().wait(Duration::from_millis(400)).await {
        tokio::time::sleep(Duration::from_millis(5)).await;
        reading.release().await.unwrap();
        reading = next;
        count += 1;
    }
    reading.release().await.unwrap();
    count
}

#[tokio::test]
async fn a_stream_of_readers_does_not_starve_a_writer() {
    let scene = Scene::new();
    let (readers, writer) = (scene.process().await, scene.process().await);
    let first = readers.rwlock("prices").read().await.unwrap();
    let stream = tokio::spawn(readers_until_kept_out(readers.rwlock("prices")));
    let writing = tokio::spawn(async move { writer.rwlock("prices").write().await.unwrap() });
    until("the writer has signed", async || scene.signed().await == 3).await;
    assert!(readers.rwlock("prices").try_read().await.unwrap().is_none());
    first.release().await.unwrap();
    let writing = tokio::time::timeout(PATIENCE, writing).await.unwrap().unwrap();
    assert!(stream.await.unwrap() > 0);
    // Once it has entered nothing of it is left that would keep readers out.
    until("what it signed is struck out", async || scene.signed().await == 0).await;
    writing.release().await.unwrap();
    assert!(readers.rwlock("prices").try_read().await.unwrap().is_some());
}

#[tokio::test]
async fn a_reader_that_was_there_first_is_not_kept_out_by_a_writer() {
    let scene = Scene::new();
    let (one, other) = (scene.process().await, scene.process().await);
    let (early, late) = (one.rwlock("prices"), other.rwlock("prices"));
    // The early reader looks when nobody has signed, and is kept waiting by somebody who writes.
    let writing = other.rwlock("prices").write().await.unwrap();
    let (busy, told) = std::sync::mpsc::channel();
    let early = tokio::spawn(async move {
        let tell = move |_: &tenure_core::Busy| {
            let _ = busy.send(());
        };
        early.read().on_busy(tell).await.unwrap()
    });
    until("the early reader has looked", async || told.try_recv().is_ok()).await;
    // Then one reads and another writer signs, behind whom later readers wait.
    let reading = writing.downgrade().await.unwrap();
    let writer = tokio::spawn(async move { late.write().await.unwrap() });
    let early = tokio::time::timeout(PATIENCE, early).await.unwrap().unwrap();
    until("the writer has signed", async || scene.signed().await == 3).await;
    assert!(one.rwlock("prices").try_read().await.unwrap().is_none());
    early.release().await.unwrap();
    reading.release().await.unwrap();
    drop(tokio::time::timeout(PATIENCE, writer).await.unwrap().unwrap());
}

#[tokio::test]
async fn a_writer_that_is_gone_keeps_nobody_out_for_long() {
    let scene = Scene::new();
    let (readers, writer) = (scene.process().await, scene.process().await);
    let reading = readers.rwlock("prices").read().await.unwrap();
    let lock = writer.rwlock("prices");
    let asking = tokio::spawn(async move { lock.write().await.map(drop) });
    until("the writer has signed", async || scene.signed().await == 3).await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    scene.clock.advance(gate::SIGNATURE);
    until("what it signed is over", async || scene.signed().await == 0).await;
    assert!(readers.rwlock("prices").try_read().await.unwrap().is_some());
    reading.release().await.unwrap();
}

#[tokio::test]
async fn the_names_of_gates_are_nobodys_to_lock_or_to_see() {
    let scene = Scene::new();
    let process = scene.process().await;
    let name = gate::name_of("prices", 512);
    let error = process.mutex(&name).try_lock().await.unwrap_err();
    let tenure_core::AcquireError::Misconfigured(error) = error else { panic!("{error:#}") };
    assert_eq!(error.fault.kind(), FaultKind::Misconfigured);
    let reading = process.rwlock("prices").read().await.unwrap();
    let lock = scene.process().await.rwlock("prices");
    let asking = tokio::spawn(async move { lock.write().await.map(drop) });
    until("the writer has signed", async || scene.signed().await == 3).await;
    let listed = scene.store().await.list("", 10).await.unwrap();
    assert_eq!(listed.names.len(), 1, "{listed:?}");
    asking.abort();
    reading.release().await.unwrap();
}
