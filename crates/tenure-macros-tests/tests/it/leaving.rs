//! Every way out of a body lets the lock go.

use tenure::{LockedError, Tenure, locked};

use crate::scene::{free, holders, open};

#[derive(Debug)]
enum PayError {
    Refused,
    Locked,
}

impl From<LockedError> for PayError {
    fn from(_: LockedError) -> Self {
        Self::Locked
    }
}

fn bank(refuses: bool) -> Result<u32, PayError> {
    if refuses { Err(PayError::Refused) } else { Ok(1) }
}

#[locked(name = "leaving", store = tenure)]
async fn leaves(tenure: &Tenure, how: &str) -> Result<u32, PayError> {
    assert_eq!(holders(tenure, "leaving").await, 1);
    if how == "early" {
        return Ok(0);
    }
    assert_ne!(how, "by panicking");
    let paid = bank(how == "by ?")?;
    Ok(paid)
}

#[tokio::test]
async fn an_early_return_lets_go() {
    let tenure = open().await;
    assert_eq!(leaves(&tenure, "early").await.unwrap(), 0);
    assert_eq!(holders(&tenure, "leaving").await, 0);
    assert_eq!(leaves(&tenure, "late").await.unwrap(), 1);
    assert_eq!(holders(&tenure, "leaving").await, 0);
}

#[tokio::test]
async fn a_question_mark_lets_go() {
    let tenure = open().await;
    assert!(matches!(leaves(&tenure, "by ?").await, Err(PayError::Refused)));
    assert_eq!(holders(&tenure, "leaving").await, 0);
}

#[tokio::test]
async fn a_panic_lets_go() {
    let tenure = open().await;
    let panics = tenure.clone();
    let task = tokio::spawn(async move { leaves(&panics, "by panicking").await });
    assert!(task.await.unwrap_err().is_panic());
    free(&tenure, "leaving").await;
}

#[tokio::test]
async fn a_lock_that_is_not_acquired_keeps_the_body_from_running() {
    let tenure = open().await;
    tenure.shutdown(crate::scene::PATIENCE).await.unwrap();
    assert!(matches!(leaves(&tenure, "by panicking").await, Err(PayError::Locked)));
}
