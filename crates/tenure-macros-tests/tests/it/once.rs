//! Work that is done once per slot.

use tenure::{Error, LockedError, OnceError, Tenure, locked, locked::Current};

use crate::scene::{Done, free, open};

#[locked(name = "digest", once_per = "366d", store = tenure)]
async fn digest(tenure: &Tenure, fails: bool) -> Done<Option<u32>> {
    if fails { Err(broken()) } else { Ok(Some(1)) }
}

fn broken() -> Error {
    tenure::LockName::new("").unwrap_err().into()
}

#[locked(name = "digest", once_per = "366d", store = tenure)]
fn blocking_digest(tenure: &Tenure) -> Done<Option<u32>> {
    Ok(Some(1))
}

#[locked(key = "digest:{of}", once_per = "366d", on_busy = skip, store = tenure)]
async fn digest_of(tenure: &Tenure, of: u32, #[hold] hold: &Current) -> Done<Option<u32>> {
    hold.check()?;
    // Others have nothing to do meanwhile.
    assert_eq!(Box::pin(digest_of(tenure, of)).await?, None);
    Ok(Some(of))
}

#[locked(name = "digest", once_per = "366d", store = tenure)]
async fn digest_that_loses(tenure: &Tenure) -> Result<(), LockedError> {
    let seen = tenure.inspect("digest").await.unwrap();
    tenure.evict_seen("digest", &seen).await.unwrap();
    Ok(())
}

#[tokio::test]
async fn a_function_runs_once_per_slot() {
    let tenure = open().await;
    assert_eq!(digest(&tenure, false).await.unwrap(), Some(1));
    assert_eq!(digest(&tenure, false).await.unwrap(), None);
    assert_eq!(blocking_digest(&tenure).unwrap(), None);
    free(&tenure, "digest").await;
    assert_eq!(digest_of(&tenure, 1).await.unwrap(), Some(1));
    assert_eq!(digest_of(&tenure, 1).await.unwrap(), None);
    assert_eq!(digest_of(&tenure, 2).await.unwrap(), Some(2));
}

#[tokio::test]
async fn one_that_fails_leaves_its_slot_open() {
    let tenure = open().await;
    digest(&tenure, true).await.unwrap_err();
    free(&tenure, "digest").await;
    assert_eq!(blocking_digest(&tenure).unwrap(), Some(1));
    assert_eq!(digest(&tenure, false).await.unwrap(), None);
}

#[tokio::test]
async fn one_that_loses_its_lock_leaves_its_slot_open() {
    let tenure = open().await;
    assert!(digest_that_loses(&tenure).await.unwrap_err().is_lost());
    assert_eq!(digest(&tenure, false).await.unwrap(), Some(1));
}

#[tokio::test]
async fn another_schedule_is_an_error() {
    let tenure = open().await;
    let day = tenure::once::NamedSlot::new("2026-11-28").unwrap();
    let tenure::once::Begun::Run(run) = tenure.mutex("digest").once(day).begin().await.unwrap()
    else {
        panic!("it is the first one")
    };
    run.finish().await.unwrap();
    let error = digest(&tenure, false).await.unwrap_err();
    assert!(matches!(error, Error::Once(OnceError::Record(_))), "{error:#}");
    assert!(error.to_string().contains("another schedule"), "{error:#}");
}
