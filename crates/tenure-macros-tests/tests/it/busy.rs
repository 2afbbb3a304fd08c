//! What happens when somebody else has the lock.

use tenure::{AcquireError, Error, Tenure, locked};

use crate::scene::{Done, open};

#[locked(name = "job", on_busy = skip, store = tenure)]
async fn job(tenure: &Tenure) -> Done<Option<u32>> {
    Ok(Some(1))
}

#[locked(name = "job", on_busy = skip, wait = "20ms", store = tenure)]
async fn patient_job(tenure: &Tenure, done: &mut bool) -> Done {
    *done = true;
    Ok(())
}

#[locked(name = "job", on_busy = skip, store = tenure)]
fn blocking_job(tenure: &Tenure) -> Done<Option<u32>> {
    Ok(Some(1))
}

#[locked(name = "job", wait = "20ms", store = tenure)]
async fn important_job(tenure: &Tenure) -> Done {
    Ok(())
}

#[tokio::test]
async fn a_busy_lock_is_skipped_or_an_error() {
    let tenure = open().await;
    let held = tenure.mutex("job").lock().await.unwrap();
    let mut done = false;
    assert_eq!(job(&tenure).await.unwrap(), None);
    patient_job(&tenure, &mut done).await.unwrap();
    assert!(!done, "the body ran without the lock");
    assert_eq!(blocking_job(&tenure).unwrap(), None);
    let error = important_job(&tenure).await.unwrap_err();
    assert!(matches!(error, Error::Acquire(AcquireError::TimedOut(_))), "{error:#}");

    held.release().await.unwrap();
    assert_eq!(job(&tenure).await.unwrap(), Some(1));
    patient_job(&tenure, &mut done).await.unwrap();
    assert!(done);
    assert_eq!(blocking_job(&tenure).unwrap(), Some(1));
    important_job(&tenure).await.unwrap();
}

#[tokio::test]
async fn only_a_busy_lock_is_skipped() {
    let tenure = open().await;
    tenure.shutdown(crate::scene::PATIENCE).await.unwrap();
    let error = job(&tenure).await.unwrap_err();
    assert!(matches!(error, Error::Acquire(AcquireError::ShutDown { .. })), "{error:#}");
}
