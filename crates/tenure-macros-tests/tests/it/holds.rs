//! Functions that are given their hold.

use std::pin::Pin;

use tenure::{
    Error, Tenure, Token, locked,
    locked::{Current, current},
};

use crate::scene::open;

#[locked(key = "order:{order}", store = tenure)]
async fn pay(tenure: &Tenure, #[hold] hold: &Current, order: u64) -> Result<Token, Error> {
    tokio::task::yield_now().await;
    assert_eq!(hold.name().as_str(), format!("order:{order}"));
    assert_eq!(current().map(|hold| hold.token()), Some(hold.token()));
    Ok(hold.check()?)
}

#[locked(name = "blocking", kind = mutex, store = tenure)]
fn block(tenure: &Tenure, #[hold] hold: &Current) -> Result<Token, Error> {
    Ok(hold.check()?)
}

#[locked(name = "future", store = tenure)]
fn future<'a>(
    tenure: &'a Tenure,
    #[hold] hold: &Current,
) -> Pin<Box<dyn Future<Output = Result<Token, Error>> + Send + 'a>> {
    Box::pin(async move { Ok(hold.check()?) })
}

struct Till {
    tenure: Tenure,
}

impl Till {
    #[locked(name = "till", store = self.tenure)]
    async fn open(&self, #[hold] hold: &Current) -> Result<Token, Error> {
        Ok(hold.check()?)
    }
}

#[tokio::test]
async fn the_body_is_given_its_hold_and_the_caller_gives_none() {
    let tenure = open().await;
    let first = pay(&tenure, 1).await.unwrap();
    assert!(pay(&tenure, 1).await.unwrap() > first);
    block(&tenure).unwrap();
    future(&tenure).await.unwrap();
    Till { tenure }.open().await.unwrap();
}
