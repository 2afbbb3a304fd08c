//! Each kind of lock.

use tenure::{Tenure, locked};

use crate::scene::{Done, free, holders, open};

#[locked(name = "config", kind = read, on_busy = skip, store = tenure)]
async fn read(tenure: &Tenure) -> Done<Option<usize>> {
    Ok(Some(holders(tenure, "config").await))
}

#[locked(name = "config", kind = write, on_busy = skip, store = tenure)]
async fn write(tenure: &Tenure) -> Done<Option<usize>> {
    Ok(Some(holders(tenure, "config").await))
}

#[tokio::test]
async fn readers_share_and_a_writer_does_not() {
    let tenure = open().await;
    assert_eq!(write(&tenure).await.unwrap(), Some(1));
    let reader = tenure.rwlock("config").read().await.unwrap();
    assert_eq!(read(&tenure).await.unwrap(), Some(2));
    assert_eq!(write(&tenure).await.unwrap(), None);
    drop(reader);
    free(&tenure, "config").await;
    let writer = tenure.rwlock("config").write().await.unwrap();
    assert_eq!(read(&tenure).await.unwrap(), None);
    drop(writer);
}

const SLOTS: u32 = 2;

#[locked(name = "slots", kind = semaphore(SLOTS), on_busy = skip, store = tenure)]
async fn slot(tenure: &Tenure, deep: u32) -> Done<Option<u32>> {
    if deep == 0 {
        return Ok(Some(0));
    }
    let inner = Box::pin(slot(tenure, deep - 1)).await?;
    Ok(Some(inner.map_or(0, |inner| inner + 1)))
}

#[tokio::test]
async fn each_call_takes_one_permit() {
    let tenure = open().await;
    assert_eq!(slot(&tenure, 1).await.unwrap(), Some(1));
    assert_eq!(slot(&tenure, 5).await.unwrap(), Some(1), "more calls than permits");
}

#[locked(name = "plain", kind = mutex, on_busy = skip, store = tenure)]
async fn plain(tenure: &Tenure, again: bool) -> Done<Option<bool>> {
    let inner = if again { Box::pin(plain(tenure, false)).await? } else { None };
    Ok(Some(inner.is_some()))
}

#[tokio::test]
async fn a_plain_mutex_is_not_entered_again() {
    assert_eq!(plain(&open().await, true).await.unwrap(), Some(false));
}

#[locked(
    name = "all",
    ttl = "15s",
    wait = "5s",
    max_hold = "10m",
    hold_at_least = "10ms",
    grace = "1s",
    label = "worker-7",
    fair,
    kind = mutex,
    on_busy = error,
    store = tenure
)]
async fn all(tenure: &Tenure) -> Done<String> {
    let seen = tenure.store().inspect(&crate::scene::name("all")).await.unwrap();
    Ok(seen.holders[0].label.clone())
}

#[tokio::test]
async fn every_setting_can_be_said() {
    assert_eq!(all(&open().await).await.unwrap(), "worker-7");
}
