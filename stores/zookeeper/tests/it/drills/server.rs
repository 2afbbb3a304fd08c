//! One server that stands still, dies, or forgets.

use tenure_core::Guard;
use tenure_servers::ZookeeperServer;

use crate::support::{PATIENCE, hold, lost, nodes_under, path, renewed, tenure, until};

/// Some holds of one session.
async fn holds(tenure: &tenure_core::Tenure) -> Vec<Guard> {
    let mut held = Vec::new();
    for number in 0..5 {
        held.push(hold(tenure, &format!("lock-{number}")).await);
    }
    held
}

/// Waits until all are renewed since now.
async fn all_renewed(held: &[Guard]) {
    let before: Vec<_> = held.iter().map(Guard::deadline).collect();
    until("all are renewed", async || {
        held.iter().zip(&before).all(|(guard, before)| guard.deadline() > *before)
    })
    .await;
    assert!(held.iter().all(|guard| guard.check().is_ok()));
}

async fn all_are_told(held: &[Guard]) {
    for guard in held {
        lost(guard).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_frozen_for_longer_than_the_session_loses_all_holds_and_is_used_again() {
    let server = ZookeeperServer::start();
    let url = format!("{}{}?session=2s&tick=500ms", server.url(), path());
    let tenure = tenure(&url);
    let held = holds(&tenure).await;
    let greatest = held.iter().map(Guard::token).max().unwrap();
    let frozen = server.freeze();
    all_are_told(&held).await;
    drop(frozen);
    // Their session may go on, if it is heard of before the server looks which have ended.
    hold(&tenure, "other").await.release().await.unwrap();
    assert!(held.iter().all(|guard| guard.check().is_err()));
    drop(held);
    let next = hold(&tenure, "lock-0").await;
    assert!(next.token() > greatest);
    renewed(&next).await;
    next.release().await.unwrap();
}

/// The second of two pauses ends when a write still counts from before the first one: a lease would end at once.
#[tokio::test(flavor = "multi_thread")]
async fn right_after_pauses_a_try_says_so_and_a_wait_gets_what_lasts() {
    let server = ZookeeperServer::start();
    let tenure = tenure(&format!("{}{}", server.url(), path()));
    for pause in 0..2 {
        let held = hold(&tenure, &format!("held-{pause}")).await;
        let frozen = server.freeze();
        lost(&held).await;
        drop(frozen);
    }
    let refused = tenure.mutex("lock").try_lock().await.unwrap_err();
    assert!(refused.to_string().contains("stood still"), "{refused:#}");
    let permits = tenure.semaphore("permits", 1);
    let permit = permits.acquire().wait(PATIENCE).await.unwrap();
    renewed(&hold(&tenure, "lock").await).await;
    permit.check().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_restarts_within_the_session_costs_no_hold() {
    let mut server = ZookeeperServer::with(&[("maxSessionTimeout", "60000")]);
    let path = path();
    let url = format!("{}{path}?session=20s&tick=500ms", server.url());
    let tenure = tenure(&url);
    let held = holds(&tenure).await;
    server.kill();
    server.restart();
    all_renewed(&held).await;
    let nodes = nodes_under(&server, &path);
    assert_eq!(nodes.iter().filter(|node| node.contains("lock-")).count(), 5, "{nodes:?}");
    for guard in held {
        guard.release().await.unwrap();
    }
    until("nothing is left", async || nodes_under(&server, &path).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_for_longer_than_the_session_loses_all_holds_and_is_used_again() {
    let mut server = ZookeeperServer::start();
    let path = path();
    let url = format!("{}{path}?session=2s&tick=500ms", server.url());
    let tenure = tenure(&url);
    let held = holds(&tenure).await;
    let greatest = held.iter().map(Guard::token).max().unwrap();
    server.kill();
    all_are_told(&held).await;
    server.restart();
    // The session begins anew at the server with its start, and its holds with it; they are let go.
    drop(held);
    let next = hold(&tenure, "lock-0").await;
    assert!(next.token() > greatest);
    until("the lost ones are gone", async || nodes_under(&server, &path).len() == 1).await;
    next.check().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_forgotten_everything_loses_all_holds() {
    let mut server = ZookeeperServer::start();
    let (path, url) = (path(), server.url());
    let tenure_of =
        |epoch: u32| tenure(&format!("{url}{path}?session=2s&tick=500ms&epoch={epoch}"));
    let (before, after) = (tenure_of(0), tenure_of(1_000));
    let held = holds(&before).await;
    server.wipe();
    all_are_told(&held).await;
    let next = hold(&before, "lock-1").await;
    let then = hold(&after, "lock-1000").await;
    assert!(then.token() > held[4].token() && then.token() > next.token());
}
