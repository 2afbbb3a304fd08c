//! The names that keys make.

use tenure::{AcquireError, Error, LockName, Tenure, locked, locked::current};

use crate::scene::{Done, open};

struct Order {
    id: u64,
    customer: (u32, String),
}

impl Order {
    fn region(&self) -> &'static str {
        "north"
    }
}

fn held() -> String {
    current().unwrap().name().to_string()
}

#[locked(name = "pay", key = "{order.id:04}-{order.customer.1}-{order.region()}", store = tenure)]
async fn pay(tenure: &Tenure, order: &Order) -> Done<String> {
    Ok(held())
}

#[locked(key = "{{{id}}}:{word:?}", store = tenure)]
async fn braces(tenure: &Tenure, id: u8, word: &str) -> Done<String> {
    Ok(held())
}

#[locked(name = "100%}", key = "{id}", store = tenure)]
async fn odd_name(tenure: &Tenure, id: u8) -> Done<String> {
    Ok(held())
}

#[locked(key = "moved:{id}", store = tenure)]
async fn moved(tenure: &Tenure, id: String) -> Done<(String, String)> {
    let mine = id;
    Ok((held(), mine))
}

#[locked(key = "pattern:{left}:{right}", store = tenure)]
async fn pattern(tenure: &Tenure, (left, mut right): (u8, u8)) -> Done<String> {
    right += left;
    assert_eq!(right, 3);
    Ok(held())
}

#[tokio::test]
async fn a_key_is_written_with_parameters_fields_and_methods() {
    let tenure = open().await;
    let order = Order { id: 42, customer: (7, "ada".to_owned()) };
    assert_eq!(pay(&tenure, &order).await.unwrap(), "pay:0042-ada-north");
    assert_eq!(braces(&tenure, 3, "x").await.unwrap(), "{3}:\"x\"");
    assert_eq!(odd_name(&tenure, 3).await.unwrap(), "100%}:3");
    assert_eq!(pattern(&tenure, (1, 2)).await.unwrap(), "pattern:1:2");
    let (key, mine) = moved(&tenure, "a".to_owned()).await.unwrap();
    assert_eq!((key.as_str(), mine.as_str()), ("moved:a", "a"));
}

#[tokio::test]
async fn a_key_that_cannot_be_a_name_is_an_error() {
    let tenure = open().await;
    let long = "x".repeat(LockName::MAX_BYTES);
    let error = moved(&tenure, long).await.unwrap_err();
    assert!(matches!(error, Error::Acquire(AcquireError::Name(_))), "{error:#}");
}

#[test]
fn the_longest_name_that_the_macro_lets_pass_is_the_longest_there_is() {
    assert_eq!(LockName::MAX_BYTES, 512);
}
