//! Checks of passwords that rotate, for any store that logs in with one.

use std::time::{Duration, Instant};

use tenure_core::{AcquireError, Guard, LockName, Tenure};

use crate::Vault;

const TTL: Duration = Duration::from_secs(12);
const PATIENCE: Duration = Duration::from_secs(60);

/// Holds a lock by `one`, and has somebody wait for it by `other`, while `change` changes the password and cuts all
/// connections.
///
/// # Panics
/// If the lock is lost, or nobody gets it afterwards.
#[allow(clippy::panic, clippy::unwrap_used, reason = "a check fails by panics")]
pub async fn outlasts(one: Tenure, other: Tenure, change: impl AsyncFnOnce()) {
    let held = hold(&one).await;
    let waits = tokio::spawn(async move { hold(&other).await.token() });
    let name = LockName::new(LOCK).unwrap();
    until("it waits", async || {
        one.store().inspect(&name).await.is_ok_and(|seen| seen.waiters.len() == 1)
    })
    .await;
    change().await;
    for _ in 0..2 {
        renewed(&held).await;
    }
    held.check().unwrap();
    let token = held.token();
    held.release().await.unwrap();
    assert!(waits.await.unwrap() > token);
}

/// Holds a lock by `one` while `change` changes the password at the server to `new`, and cuts all connections: what was
/// right before may be so again, and whoever waits by `was_in`, which has the same password, goes on until `vault` hands
/// out the new one. What `change` returns has a password that was never taken, and fails at once. Errors say `refusal`.
/// It is called again while a login gets in that was under way.
///
/// # Panics
/// If that is not so.
#[allow(clippy::panic, clippy::unwrap_used, reason = "a check fails by panics")]
#[allow(clippy::future_not_send, reason = "a test awaits it where it is")]
pub async fn refusals_pass(
    (one, was_in): (Tenure, Tenure),
    (vault, new): (&Vault, &str),
    refusal: &str,
    change: impl AsyncFn() -> Tenure,
) {
    let held = hold(&one).await;
    let never_in = change().await;
    let says = |error: &AcquireError| {
        let said = format!("{error:#} {error:?}");
        assert!(!said.contains("s3ntinel"), "{said}");
        said.contains(refusal) && said.contains("where")
    };
    let error = never_in.mutex("other").lock().wait(PATIENCE).await.unwrap_err();
    assert!(matches!(error, AcquireError::Misconfigured { .. }), "{error:?}");
    assert!(says(&error), "{error:#}");
    let mut logins_under_way = 0;
    until("it is refused", async || match was_in.mutex("other").try_lock().await {
        Err(error) => {
            assert!(matches!(error, AcquireError::Unreachable { .. }), "{error:?}");
            // The first may be told of a connection that was cut.
            says(&error)
        }
        // A login that was under way when the password changed is no connection that could be cut: it is one now.
        Ok(held) => {
            if let Some(held) = held {
                held.release().await.unwrap();
            }
            logins_under_way += 1;
            assert!(logins_under_way <= 2, "connections stay that were to be cut");
            change().await;
            false
        }
    })
    .await;
    let asked = vault.asked();
    let waits = tokio::spawn(async move { hold_as(&was_in, "other").await.token() });
    until("it asks for the password", async || vault.asked() > asked).await;
    vault.set(new);
    waits.await.unwrap();
    renewed(&held).await;
    held.release().await.unwrap();
}

const LOCK: &str = "lock";

async fn hold(tenure: &Tenure) -> Guard {
    hold_as(tenure, LOCK).await
}

#[allow(clippy::unwrap_used, reason = "a check fails by panics")]
async fn hold_as(tenure: &Tenure, name: &str) -> Guard {
    tenure.mutex(name).lock().ttl(TTL).wait(PATIENCE).await.unwrap()
}

async fn renewed(held: &Guard) {
    let before = held.deadline();
    until("it is renewed", async || held.deadline() > before).await;
}

async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
