//! Locked functions that call locked functions.

use std::sync::atomic::{AtomicUsize, Ordering};

use tenure::{Error, Tenure, Token, locked, locked::current, reentrant::scope};

use crate::scene::{Done, holders, open};

fn token() -> Token {
    current().unwrap().token()
}

#[locked(name = "ledger", store = tenure)]
async fn transfer(tenure: &Tenure) -> Done<(Token, Token)> {
    let inner = book(tenure).await?;
    assert_eq!(holders(tenure, "ledger").await, 1, "the inner call let the lock go");
    Ok((token(), inner))
}

#[locked(name = "ledger", wait = "1s", ttl = "10ms", store = tenure)]
async fn book(tenure: &Tenure) -> Done<Token> {
    Ok(token())
}

#[tokio::test]
async fn a_nested_call_enters_again_and_keeps_the_token() {
    let tenure = open().await;
    let (outer, inner) = transfer(&tenure).await.unwrap();
    assert_eq!(outer, inner);
    assert_eq!(holders(&tenure, "ledger").await, 0);
}

static INSIDE: AtomicUsize = AtomicUsize::new(0);

#[locked(name = "one", store = tenure)]
async fn one(tenure: &Tenure) -> Done {
    assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0, "two calls are inside");
    tokio::task::yield_now().await;
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    Ok(())
}

#[locked(name = "batch", store = tenure)]
async fn batch(tenure: &Tenure) -> Done {
    let (left, right) = tokio::join!(one(tenure), one(tenure));
    left.and(right)
}

#[tokio::test]
async fn calls_side_by_side_exclude_each_other_also_inside_another() {
    let tenure = open().await;
    batch(&tenure).await.unwrap();
    scope(async { tokio::join!(one(&tenure), one(&tenure)) }).await.0.unwrap();
}

#[locked(name = "handle", store = tenure)]
async fn by_handle(tenure: &Tenure) -> Done<bool> {
    let guard = tenure.mutex("handle").reentrant().lock().await?;
    Ok(guard.token() == token())
}

#[tokio::test]
async fn a_reentrant_handle_enters_what_a_call_holds() {
    assert!(by_handle(&open().await).await.unwrap());
}

#[tokio::test]
async fn a_call_enters_what_a_scope_holds() {
    let tenure = open().await;
    scope(async {
        let guard = tenure.mutex("ledger").reentrant().lock().await?;
        assert_eq!(book(&tenure).await?, guard.token());
        Ok::<_, Error>(())
    })
    .await
    .unwrap();
}

#[locked(name = "late", store = tenure)]
async fn makes_a_call_for_later<'a>(
    tenure: &'a Tenure,
) -> Done<std::pin::Pin<Box<dyn Future<Output = Done<Token>> + Send + 'a>>> {
    Ok(Box::pin(late(tenure)))
}

#[locked(name = "late", store = tenure)]
async fn late(tenure: &Tenure) -> Done<Token> {
    assert_eq!(holders(tenure, "late").await, 1);
    Ok(token())
}

#[tokio::test]
async fn a_call_that_is_awaited_later_acquires_by_itself() {
    let tenure = open().await;
    let call = makes_a_call_for_later(&tenure).await.unwrap();
    assert_eq!(holders(&tenure, "late").await, 0);
    call.await.unwrap();
}
