//! Candidates of ours and Curator's `LeaderLatch`es in one election.

use super::{
    program::{Curator, Peer},
    scene::{Scene, until_there_are},
};

fn latch(scene: &Scene, curator: Curator, id: &str) -> Peer {
    scene.peer(curator, &["latch", &scene.path("boss"), id])
}

/// Whom it believes to lead, and who is there.
async fn who(peer: &mut Peer) -> (String, String) {
    (peer.asked("who").await, peer.says().await.unwrap())
}

#[tokio::test]
async fn leadership_passes_between_latches_and_our_candidates_and_each_sees_all() {
    let scene = Scene::new();
    let tenure = scene.tenure();
    let election = tenure.election("boss").label("ours");
    let mut first = latch(&scene, Curator::Five, "first");
    first.says_this("leader").await;
    let campaign = election.clone();
    let campaigns = tokio::spawn(async move { campaign.campaign().await });
    until_there_are(&tenure, "boss", 1, 1).await;
    let mut last = latch(&scene, Curator::Four, "last");
    until_there_are(&tenure, "boss", 1, 2).await;

    let all = ("leader is first (true)".to_owned(), "participants first,ours,last".to_owned());
    assert_eq!(who(&mut first).await, all);
    assert_eq!(who(&mut last).await, all);
    let seen = election.inspect().await.unwrap();
    let waiters: Vec<_> = seen.waiters.iter().map(|waiter| waiter.label.as_str()).collect();
    assert_eq!((seen.holders[0].label.as_str(), waiters), ("first", vec!["ours", "last"]));
    let leader = election.leader().await.unwrap().unwrap();
    assert_eq!(leader.label, "first");
    assert!(!campaigns.is_finished());

    assert_eq!(first.asked("close").await, "closed");
    let leadership = campaigns.await.unwrap().unwrap();
    assert!(leadership.term() > leader.term);
    let all = ("leader is ours (true)".to_owned(), "participants ours,last".to_owned());
    assert_eq!(who(&mut last).await, all);

    leadership.resign().await.unwrap();
    last.says_this("leader").await;
    assert_eq!(election.leader().await.unwrap().unwrap().label, "last");
}
