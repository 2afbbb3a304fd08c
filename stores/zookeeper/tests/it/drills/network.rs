//! The network between a client and its server, cut one way and both.

use std::time::Duration;

use tenure_core::LostReason;
use tenure_testkit::fault::{Proxy, Weather};

use crate::support::{
    PATIENCE, hold, lost, name, nodes_under, path, quiet_server, renewed, tenure, until, waiting,
};

/// What can happen to a network that keeps its connections: requests lost, replies lost, both.
const CUTS: [(bool, bool); 3] = [(true, false), (false, true), (true, true)];

struct Far {
    proxy: Proxy,
    path: String,
    url: String,
}

/// The quiet server through a proxy.
fn far(session: u64) -> Far {
    let proxy = Proxy::start(quiet_server().address(), 1).unwrap();
    let path = path();
    let settings = format!("session={session}s&tick=500ms");
    let url = format!("zookeeper://{}{path}?{settings}", proxy.address());
    Far { proxy, path, url }
}

impl Far {
    fn swallow(&self, (requests, replies): (bool, bool)) {
        self.proxy.set(Weather {
            requests_swallowed: requests,
            replies_swallowed: replies,
            ..Weather::default()
        });
    }

    /// What was swallowed is missing on the connections that there are.
    fn heal(&self) {
        self.proxy.set(Weather::default());
        self.proxy.cut();
    }

    fn near(&self) -> String {
        format!("{}{}?session=2s&tick=500ms", quiet_server().url(), self.path)
    }

    fn nodes(&self) -> Vec<String> {
        nodes_under(quiet_server(), &self.path)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_shorter_than_the_validity_is_ridden_out() {
    let fars: Vec<_> = CUTS.iter().map(|cut| (far(10), *cut)).collect();
    let mut held = Vec::new();
    for (far, _) in &fars {
        held.push(hold(&tenure(&far.url), "lock").await);
    }
    fars.iter().for_each(|(far, cut)| far.swallow(*cut));
    tokio::time::sleep(Duration::from_secs(2)).await;
    fars.iter().for_each(|(far, _)| far.heal());
    for guard in &held {
        renewed(guard).await;
    }
    for (guard, (far, _)) in held.into_iter().zip(&fars) {
        let nodes = far.nodes();
        assert_eq!(nodes.iter().filter(|node| node.contains("/lock/")).count(), 1, "{nodes:?}");
        guard.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_costs_nothing() {
    let far = far(4);
    let tenure = tenure(&far.url);
    let held = hold(&tenure, "held").await;
    for _ in 0..5 {
        let guard = hold(&tenure, "lock").await;
        far.proxy.cut();
        guard.release().await.unwrap();
    }
    renewed(&held).await;
    held.release().await.unwrap();
    until("nothing is left", async || far.nodes().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_cut_off_is_lost_before_the_next_grant_and_leaves_nothing_after_its_session() {
    let all = CUTS.map(|cut| async move {
        let far = far(2);
        let (cut_off, near) = (tenure(&far.url), tenure(&far.near()));
        let held = hold(&cut_off, "lock").await;
        let waits = tokio::spawn({
            let near = near.clone();
            async move {
                let guard = hold(&near, "lock").await;
                (crate::support::now(), guard)
            }
        });
        until("it waits", async || waiting(&near, "lock").await == 1).await;
        renewed(&held).await;
        far.swallow(cut);
        let (granted, next) = waits.await.unwrap();
        assert_eq!(lost(&held).await, LostReason::Deadline);
        assert!(held.deadline() < granted, "{cut:?}: two holders");
        assert!(next.token() > held.token());
        until("its session left nothing", async || far.nodes().len() == 1).await;
        far.heal();
        // The lost hold does not come back, and its release touches nobody.
        let again = hold(&cut_off, "other").await;
        assert!(held.check().is_err());
        drop(held);
        renewed(&again).await;
        next.check().unwrap();
        again.release().await.unwrap();
        next.release().await.unwrap();
        until("nothing is left", async || far.nodes().is_empty()).await;
    });
    futures_util::future::join_all(all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_while_the_server_is_away_is_made_up_for_when_it_is_back() {
    let far = far(10);
    let cut_off = tenure(&far.url);
    let lock = |nodes: &[String]| nodes.iter().filter(|node| node.contains("/lock/")).count();
    let held = hold(&cut_off, "lock").await;
    let session = crate::support::ephemerals(&quiet_server().four_letters("dump"));
    far.swallow((true, true));
    // In doubt or unreachable, or taken over by the engine: it was told the truth in any case.
    let _ = held.release().await;
    assert_eq!(lock(&far.nodes()), 1, "the server was not told");
    far.heal();
    until("it is gone", async || lock(&far.nodes()) == 0).await;
    // Its session is the same, so it was not that which took it away.
    let guard = hold(&cut_off, "lock").await;
    let now = crate::support::ephemerals(&quiet_server().four_letters("dump"));
    let of = |nodes: &std::collections::BTreeMap<String, String>| {
        nodes
            .iter()
            .find(|(node, _)| node.starts_with(&far.path))
            .map(|(_, session)| session.clone())
    };
    assert_eq!(of(&session), of(&now));
    guard.release().await.unwrap();
}

/// The same where the answer alone was lost: then it is gone already, and whoever is next has the lock.
#[tokio::test(flavor = "multi_thread")]
async fn an_acquire_whose_answer_is_lost_is_taken_back() {
    let far = far(10);
    let (cut_off, near) = (tenure(&far.url), tenure(&far.near()));
    hold(&cut_off, "lock").await.release().await.unwrap();
    until("nothing is left", async || far.nodes().is_empty()).await;
    far.swallow((false, true));
    let error = cut_off.mutex("lock").try_lock().await.unwrap_err();
    assert!(
        matches!(
            error,
            tenure_core::AcquireError::InDoubt(_) | tenure_core::AcquireError::Unreachable(_)
        ),
        "{error:?}"
    );
    far.heal();
    let next = hold(&near, "lock").await;
    until("nothing else is left", async || {
        let seen = near.store().inspect(&name("lock")).await.unwrap();
        seen.holders.len() == 1 && seen.waiters.is_empty()
    })
    .await;
    next.release().await.unwrap();
}

/// Its session goes on, since the server hears of it, and so does its node: its ttl ends it.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_was_lost_ends_with_its_ttl_although_its_guard_is_kept() {
    let far = far(2);
    let (cut_off, near) = (tenure(&far.url), tenure(&far.near()));
    let held = cut_off.mutex("lock").lock().ttl(PATIENCE / 8).await.unwrap();
    far.swallow((false, true));
    assert_eq!(lost(&held).await, LostReason::Deadline);
    far.heal();
    let next = hold(&near, "lock").await;
    assert!(held.deadline() < crate::support::now());
    assert!(next.token() > held.token() && held.check().is_err());
}
