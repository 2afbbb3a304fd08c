//! The plainest case.

use tenure::{Tenure, Token, locked, locked::current};

use crate::scene::{Done, holders, open};

#[locked(name = "pay", store = tenure)]
async fn pay(tenure: &Tenure, amount: u64) -> Done<(u64, usize)> {
    Ok((amount, holders(tenure, "pay").await))
}

#[tokio::test]
async fn the_body_runs_under_the_lock() {
    let tenure = open().await;
    assert_eq!(pay(&tenure, 42).await.unwrap(), (42, 1));
}

#[tokio::test]
async fn the_lock_is_free_as_soon_as_the_call_is_over() {
    let tenure = open().await;
    pay(&tenure, 42).await.unwrap();
    assert_eq!(holders(&tenure, "pay").await, 0);
}

#[tokio::test]
async fn nothing_is_acquired_before_the_call_is_awaited() {
    let tenure = open().await;
    let call = pay(&tenure, 42);
    assert_eq!(holders(&tenure, "pay").await, 0);
    drop(call);
}

#[tokio::test]
async fn a_call_that_is_dropped_lets_go() {
    #[locked(name = "hangs", store = tenure)]
    async fn hangs(tenure: &Tenure, started: tokio::sync::oneshot::Sender<()>) -> Done {
        started.send(()).unwrap();
        std::future::pending().await
    }
    let tenure = open().await;
    let (started, is_started) = tokio::sync::oneshot::channel();
    tokio::select! {
        _ = hangs(&tenure, started) => panic!("it never ends"),
        started = is_started => started.unwrap(),
    }
    crate::scene::free(&tenure, "hangs").await;
}

#[locked(name = "token", store = tenure)]
async fn token(tenure: &Tenure) -> Done<Token> {
    let hold = current().unwrap();
    assert_eq!(hold.name().as_str(), "token");
    Ok(hold.check()?)
}

#[tokio::test]
async fn the_token_is_reachable_inside_and_rises() {
    let tenure = open().await;
    let first = token(&tenure).await.unwrap();
    assert!(token(&tenure).await.unwrap() > first);
    assert!(current().is_none());
}

#[tokio::test]
async fn what_is_carried_out_of_a_call_is_lost() {
    #[locked(name = "carried", store = tenure)]
    async fn carried(tenure: &Tenure) -> Done<locked::Current> {
        Ok(current().unwrap())
    }
    let tenure = open().await;
    let hold = carried(&tenure).await.unwrap();
    assert_eq!(hold.check().unwrap_err().token, hold.token());
    assert_eq!(holders(&tenure, "carried").await, 0);
}

#[tokio::test]
async fn a_spawned_task_is_not_inside() {
    #[locked(name = "spawns", store = tenure)]
    async fn spawns(tenure: &Tenure) -> Done<bool> {
        Ok(tokio::spawn(async { current().is_none() }).await.unwrap())
    }
    assert!(spawns(&open().await).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_runs_at_a_time() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static INSIDE: AtomicUsize = AtomicUsize::new(0);

    #[locked(name = "one", store = tenure)]
    async fn one(tenure: Tenure) -> Done {
        assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0);
        tokio::task::yield_now().await;
        assert_eq!(INSIDE.fetch_sub(1, Ordering::SeqCst), 1);
        Ok(())
    }
    let tenure = open().await;
    let calls = (0..100).map(|_| tokio::spawn(one(tenure.clone())));
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
}
