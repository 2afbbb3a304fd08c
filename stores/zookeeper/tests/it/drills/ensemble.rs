//! An ensemble that loses its leader, a member, or everything.

use tenure_core::Guard;

use crate::support::{ensemble, hold, lost, path, renewed, tenure, until, waiting};

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_survives_its_ensembles_leader_and_a_waiter_still_gets_its_turn() {
    let mut ensemble = ensemble().await;
    let leader = ensemble.leader();
    let url = format!("{}{}?session=10s&tick=500ms", ensemble.url(), path());
    let (one, other) = (tenure(&url), tenure(&url));
    let held = hold(&one, "lock").await;
    let token = held.token();
    let waits = tokio::spawn({
        let other = other.clone();
        async move { hold(&other, "lock").await }
    });
    until("it waits", async || waiting(&one, "lock").await == 1).await;
    ensemble.kill(leader);
    let _ = ensemble.another_leader_than(leader);
    renewed(&held).await;
    renewed(&held).await;
    held.release().await.unwrap();
    let next = waits.await.unwrap();
    assert!(next.token() > token);
    ensemble.restart(leader);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_survives_the_server_that_its_session_is_connected_to() {
    let mut ensemble = ensemble().await;
    let path = path();
    let url = format!("{}{path}?session=10s&tick=500ms", ensemble.url());
    let tenure = tenure(&url);
    let held = hold(&tenure, "lock").await;
    let dump = ensemble.four_letters(ensemble.leader(), "dump");
    let nodes = crate::support::ephemerals(&dump);
    let (_, session) = nodes.iter().find(|(node, _)| node.starts_with(&path)).unwrap();
    let has = |ensemble: &tenure_servers::ZookeeperEnsemble, member: usize| {
        ensemble.four_letters(member, "cons").contains(&format!("sid={session},"))
    };
    let member = (0..3).find(|member| has(&ensemble, *member)).unwrap();
    ensemble.kill(member);
    renewed(&held).await;
    renewed(&held).await;
    let moved = (0..3).filter(|other| *other != member).any(|member| has(&ensemble, member));
    assert!(moved, "it is the same session, elsewhere");
    let guard = hold(&tenure, "other").await;
    guard.release().await.unwrap();
    held.release().await.unwrap();
    ensemble.restart(member);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuilt_ensemble_has_no_hold_of_before_and_its_tokens_rise_with_an_epoch_alone() {
    let mut ensemble = ensemble().await;
    let (path, url) = (path(), ensemble.url());
    let of_epoch = |epoch: u32| tenure(&format!("{url}{path}?session=4s&tick=500ms&epoch={epoch}"));
    let tenure = of_epoch(0);
    // Elections make its epoch grow.
    let leader = ensemble.leader();
    ensemble.kill(leader);
    ensemble.restart(leader);
    ensemble.settle();
    let mut held = Vec::new();
    for number in 0..3 {
        held.push(hold(&tenure, &format!("lock-{number}")).await);
    }
    let greatest = held.iter().map(Guard::token).max().unwrap();
    let epoch = u32::try_from(greatest.time() >> 32).unwrap();
    ensemble.wipe();
    for guard in &held {
        lost(guard).await;
    }
    let forgetful = hold(&tenure, "lock-0").await;
    assert!(forgetful.token() < greatest, "it counts anew");
    forgetful.release().await.unwrap();
    let next = hold(&of_epoch(epoch + 1), "lock-0").await;
    assert!(next.token() > greatest);
}
