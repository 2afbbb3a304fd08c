//! A downgrade on a store that does not do it, does it unheard, or can do little else.

use std::{sync::Arc, time::Duration};

use tenure_core::{DowngradeError, MemoryStore, Store, Tenure, proto::queue::Mode};

use crate::{
    STEP, ends_within,
    flawed::{Flawed, on_flawed},
};

const TTL: Duration = Duration::from_secs(60);
/// How long the store is asked for it.
const PATIENCE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_downgrade_that_is_refused_is_given_up_in_time_and_the_writer_goes_on_alone() {
    let (tenure, store, clock) = on_flawed();
    let writer = tenure.rwlock("a").ttl(TTL).write().await.unwrap();
    store.refuse_asks(true);
    let downgrading = tokio::spawn(writer.downgrade());
    assert!(!ends_within(PATIENCE / 2, &downgrading, &clock).await);
    assert!(ends_within(PATIENCE / 2 + STEP, &downgrading, &clock).await);
    let error = downgrading.await.unwrap().unwrap_err();
    let DowngradeError::StillWriting { guard, .. } = error else { panic!("{error:#}") };
    assert!(store.asks()[0] > 2, "it was not asked again");
    guard.check().unwrap();
    assert_eq!(store.inspect(guard.name()).await.unwrap().holders[0].mode, Mode::Exclusive);
    store.refuse_asks(false);
    guard.downgrade().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_downgrade_that_is_not_answered_leaves_what_is_certain() {
    let (tenure, store, clock) = on_flawed();
    let writer = tenure.rwlock("a").ttl(TTL).write().await.unwrap();
    store.fall_silent(true);
    let downgrading = tokio::spawn(writer.downgrade());
    assert!(ends_within(PATIENCE, &downgrading, &clock).await);
    let error = downgrading.await.unwrap().unwrap_err();
    let DowngradeError::InDoubt { guard, .. } = error else { panic!("{error:#}") };
    guard.check().unwrap();
    assert_eq!(store.inspect(guard.name()).await.unwrap().holders[0].mode, Mode::Shared);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_downgrade_is_known_by_the_whole_token_where_no_part_of_it_is_for_passes() {
    let store = Flawed::new(MemoryStore::new()).without(|can| can.pass_bits = false);
    let tenure = Tenure::new(Arc::new(store));
    let writer = tenure.rwlock("a").write().await.unwrap();
    let token = writer.token();
    let reader = writer.downgrade().await.unwrap();
    assert_eq!(reader.token(), token);
    assert!(tenure.rwlock("a").try_read().await.unwrap().is_some());
}
