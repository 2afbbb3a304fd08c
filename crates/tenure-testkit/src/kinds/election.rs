//! The election.

use tenure_core::LostReason;

use super::{
    Kind,
    scene::{NAME, PATIENCE, RENEWED, SHORT, Scene, keeps_order, name, queue},
};

/// The kind, which every store has.
pub const KIND: Kind = Kind {
    name: "election",
    lacks: |_| None,
    attempt: |tenure| {
        let campaign = tenure.election(NAME).campaign();
        Box::pin(async move { campaign.await.err().map(|error| format!("{error:#}")) })
    },
};

/// S1, S2: one leads, and the next one's term is greater.
pub async fn one_leads_and_terms_rise(scene: Scene) {
    let [one, other] = scene.processes().await;
    let leadership = one.election(NAME).campaign().await.unwrap();
    for tenure in [&one, &other] {
        assert!(tenure.election(NAME).try_campaign().await.unwrap().is_none());
    }
    let term = leadership.term();
    let next = tokio::spawn(other.election(NAME).campaign().wait(PATIENCE).into_future());
    leadership.check().unwrap();
    leadership.resign().await.unwrap();
    assert!(next.await.unwrap().unwrap().term() > term);
}

/// Observers see each leader with its label and term, and that nobody leads.
pub async fn observers_see_each_leader(scene: Scene) {
    let [one, other, third] = scene.processes().await;
    let mut leaders = third.election(NAME).leaders();
    assert_eq!(leaders.next().await.unwrap(), None);
    for (tenure, label) in [(&one, "one"), (&other, "other")] {
        let leadership =
            tenure.election(NAME).label(label).campaign().wait(PATIENCE).await.unwrap();
        let leader = leaders.next().await.unwrap().unwrap();
        assert_eq!((leader.label.as_str(), leader.term), (label, leadership.term()));
        leadership.resign().await.unwrap();
        assert_eq!(leaders.next().await.unwrap(), None);
    }
}

/// S5: a dead leader leads for one ttl at most.
pub async fn a_dead_leader_is_succeeded(scene: Scene) {
    let [one, other] = scene.processes().await;
    let dead = one.election(NAME).ttl(SHORT).campaign().await.unwrap();
    let term = dead.term();
    let _ = tenure_core::Guard::from(dead).leave_to_expire();
    let next = other.election(NAME).campaign().wait(PATIENCE).await.unwrap();
    assert!(next.term() > term);
}

/// S3: who leads no more learns of it, and can campaign again.
pub async fn a_leader_that_was_deposed_is_told(scene: Scene) {
    let [one, other] = scene.processes().await;
    let leadership = one.election(NAME).ttl(RENEWED).campaign().await.unwrap();
    let term = leadership.term();
    other.store().evict(&name()).await.unwrap();
    let lost = tokio::time::timeout(PATIENCE, leadership.lost()).await.unwrap();
    assert_eq!(lost.reason, LostReason::Taken);
    drop(leadership);
    assert!(one.election(NAME).campaign().wait(PATIENCE).await.unwrap().term() > term);
}

/// A look shows the candidates in their line.
pub async fn a_look_shows_the_candidates_in_line(scene: Scene) {
    let [one, other, third] = scene.processes().await;
    if !keeps_order(&one) {
        return;
    }
    let leadership = one.election(NAME).label("leader").campaign().await.unwrap();
    let mut line = Vec::new();
    for (tenure, label) in [(&other, "first"), (&third, "second")] {
        let campaign = tenure.election(NAME).label(label).campaign().wait(PATIENCE);
        line.push(queue(tenure, campaign, line.len() + 1).await);
    }
    let seen = one.election(NAME).inspect().await.unwrap();
    let candidates: Vec<_> = seen.waiters.iter().map(|waiter| waiter.label.as_str()).collect();
    assert_eq!(
        (seen.holders[0].label.as_str(), &candidates[..]),
        ("leader", &["first", "second"][..])
    );
    leadership.resign().await.unwrap();
    for candidate in line {
        candidate.await.unwrap().unwrap().resign().await.unwrap();
    }
}
