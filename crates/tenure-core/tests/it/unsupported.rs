//! Kinds of lock that a store lacks are refused before it is asked.

use std::sync::Arc;

use tenure_core::{
    AcquireError, DowngradeError, MemoryStore, Tenure,
    store::{Capabilities, Reason, Reasons},
};

use crate::flawed::Flawed;

fn tenure() -> Tenure {
    let mutexes_only = |can: &mut Capabilities| (can.shared, can.permits) = (false, false);
    Tenure::new(Arc::new(Flawed::new(MemoryStore::new()).without(mutexes_only)))
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, AcquireError>, says: &str) {
    let error = outcome.unwrap_err();
    assert!(matches!(error, AcquireError::Misconfigured(_)), "{error:?}");
    let text = format!("{error:#}");
    assert!(text.starts_with("lock \"a\" in flawed") && text.contains(says), "{text}");
}

#[tokio::test]
async fn readers_and_permits_are_refused_where_the_store_knows_none() {
    let tenure = tenure();
    refused(tenure.rwlock("a").read().await, "not support shared locks");
    refused(tenure.rwlock("a").try_read().await, "not support shared locks");
    refused(tenure.semaphore("a", 2).acquire().await, "not support semaphores");
    refused(tenure.semaphore("a", 2).try_acquire().await, "not support semaphores");
}

#[tokio::test]
async fn the_reasons_of_the_store_reach_its_users() {
    let reason = |what| Some(Reason { what, help: "go elsewhere" });
    let lacks = |can: &mut Capabilities| {
        (can.shared, can.permits, can.fifo) = (false, false, false);
        can.reasons = Reasons {
            shared: reason("one"),
            permits: reason("two"),
            fifo: reason("three"),
            detach: None,
            slot_records: None,
            history: None,
        };
    };
    let tenure = Tenure::new(Arc::new(Flawed::new(MemoryStore::new()).without(lacks)));
    refused(tenure.rwlock("a").read().await, "one; go elsewhere");
    refused(tenure.semaphore("a", 2).acquire().await, "two; go elsewhere");
    refused(tenure.mutex("a").fair().lock().await, "three; go elsewhere");
    refused(tenure.all(["a", "b"]).fair().lock().await, "three; go elsewhere");
}

#[tokio::test]
async fn a_writer_that_cannot_become_a_reader_goes_on_writing() {
    let tenure = tenure();
    let writer = tenure.rwlock("a").write().await.unwrap();
    let error = writer.downgrade().await.unwrap_err();
    let DowngradeError::StillWriting { guard, failure } = error else { panic!("{error:#}") };
    assert!(format!("{failure:#}").contains("not support shared locks"), "{failure:#}");
    assert!(tenure.mutex("a").try_lock().await.unwrap().is_none());
    guard.check().unwrap();
    guard.release().await.unwrap();
}
