//! The election and its observers.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use tenure_core::{AcquireError, InspectError, Leader, MemoryStore, ReleaseError, Store, Tenure};

use crate::{flawed::Flawed, on_manual_clock, running, settle};

fn tenure() -> (Tenure, MemoryStore) {
    let store = MemoryStore::new();
    (Tenure::new(Arc::new(store.clone())), store)
}

fn led_by(leader: Option<Leader>) -> Option<String> {
    leader.map(|leader| leader.label)
}

#[tokio::test]
async fn one_leads_and_the_next_has_a_greater_term() {
    let (tenure, store) = tenure();
    let other = Tenure::new(Arc::new(store));
    let first = tenure.election("chief").campaign().await.unwrap();
    assert!(other.election("chief").try_campaign().await.unwrap().is_none());
    assert!(tenure.election("chief").try_campaign().await.unwrap().is_none());
    let term = first.term();
    assert_eq!(first.check().unwrap(), term);
    first.resign().await.unwrap();
    let next = other.election("chief").campaign().await.unwrap();
    assert!(next.term() > term);
}

#[tokio::test]
async fn candidates_of_one_process_lead_in_the_order_of_asking_and_observers_see_each() {
    let (tenure, store) = tenure();
    let election = tenure.election("chief");
    let mut leaders = tenure.election("chief").leaders();
    assert_eq!(leaders.next().await.unwrap(), None);
    let mut leadership = election.campaign().label("0").await.unwrap();
    let mut line = Vec::new();
    for candidate in 1..5 {
        let campaign = election.campaign().label(candidate.to_string());
        line.push(tokio::spawn(campaign.into_future()));
        let name = leadership.name().clone();
        while store.inspect(&name).await.unwrap().waiters.len() < candidate {
            tokio::task::yield_now().await;
        }
    }
    for (candidate, campaign) in line.into_iter().enumerate() {
        let leader = leaders.next().await.unwrap().unwrap();
        assert_eq!((leader.label, leader.term), (candidate.to_string(), leadership.term()));
        assert!(leader.since.is_some());
        leadership.resign().await.unwrap();
        leadership = campaign.await.unwrap().unwrap();
    }
    assert_eq!(led_by(leaders.next().await.unwrap()).as_deref(), Some("4"));
}

#[tokio::test]
async fn a_leader_whose_renewals_end_is_lost_at_its_deadline_and_observers_see_it_go() {
    let (tenure, engine, _, clock) = on_manual_clock();
    let engine = tokio::spawn(engine);
    let election = tenure.election("chief").ttl(Duration::from_secs(10)).label("a");
    let mut leaders = election.leaders();
    let leadership = election.campaign().await.unwrap();
    assert_eq!(led_by(leaders.next().await.unwrap()).as_deref(), Some("a"));
    engine.abort();
    let change = tokio::spawn(async move { leaders.next().await });
    let deadline = leadership.deadline();
    while leadership.check().is_ok() {
        assert!(!change.is_finished(), "it leads still");
        clock.advance(Duration::from_millis(100));
        settle().await;
    }
    assert!(deadline.since(tenure.clock().now()) < Duration::from_millis(200));
    // The store keeps the lease for a little longer, and observers look once a second.
    for _ in 0..20 {
        clock.advance(Duration::from_millis(100));
        settle().await;
    }
    assert!(change.is_finished(), "the news are late");
    assert_eq!(change.await.unwrap().unwrap(), None);
    assert!(matches!(leadership.resign().await, Err(ReleaseError::Lost(_))));
}

#[tokio::test]
async fn observers_see_a_change_within_a_second() {
    let (tenure, _, clock) = running();
    let election = tenure.election("chief");
    let mut leaders = election.leaders();
    assert_eq!(leaders.next().await.unwrap(), None);
    let change = tokio::spawn(async move { leaders.next().await });
    // Long enough for the longest pauses.
    for _ in 0..40 {
        clock.advance(Duration::from_millis(500));
        settle().await;
    }
    let _leadership = election.campaign().await.unwrap();
    assert!(!change.is_finished());
    clock.advance(Duration::from_secs(1));
    settle().await;
    assert!(change.is_finished());
}

#[tokio::test]
async fn leaders_come_as_a_stream() {
    let (tenure, _) = tenure();
    let election = tenure.election("chief").label("a");
    let leadership = election.campaign().await.unwrap();
    let mut stream = Box::pin(election.leaders().into_stream());
    let first = stream.next().await.unwrap().unwrap();
    leadership.resign().await.unwrap();
    let second = stream.next().await.unwrap().unwrap();
    assert_eq!((led_by(first).as_deref(), led_by(second)), (Some("a"), None));
}

#[tokio::test]
async fn a_campaign_that_ends_leaves_no_candidate() {
    let (tenure, store) = tenure();
    let other = Tenure::new(Arc::new(store.clone()));
    let leadership = tenure.election("chief").label("a").campaign().await.unwrap();
    let end = other.election("chief").campaign().wait(Duration::from_millis(30)).await;
    let Err(AcquireError::TimedOut(end)) = end else { panic!("it was elected") };
    assert_eq!(end.holder.unwrap().label, "a");
    other.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(store.inspect(leadership.name()).await.unwrap().waiters.is_empty());
}

#[tokio::test]
async fn a_name_kept_after_a_resignation_is_led_by_nobody() {
    let (tenure, _) = tenure();
    let election = tenure.election("chief").hold_at_least(Duration::from_secs(60));
    election.campaign().await.unwrap().resign().await.unwrap();
    assert_eq!(election.leader().await.unwrap(), None);
    assert!(election.try_campaign().await.unwrap().is_none());
}

#[tokio::test]
async fn without_a_queue_there_are_elections_but_no_fair_ones() {
    let store = Flawed::new(MemoryStore::new()).without(|can| can.fifo = false);
    let tenure = Tenure::new(Arc::new(store));
    let election = tenure.election("chief");
    election.campaign().await.unwrap().resign().await.unwrap();
    let fair = election.campaign().fair().await.unwrap_err();
    assert!(format!("{fair:#}").contains("keeps no queue"), "{fair}");
}

#[tokio::test]
async fn a_name_that_cannot_be_used_is_an_error_for_candidates_and_observers() {
    let (tenure, _) = tenure();
    let election = tenure.election("");
    assert!(matches!(election.campaign().await, Err(AcquireError::Name(_))));
    assert!(matches!(election.leader().await, Err(InspectError::Name(_))));
    assert!(matches!(election.leaders().next().await, Err(InspectError::Name(_))));
}

#[tokio::test]
async fn passing_faults_of_the_store_are_no_news() {
    let store = Flawed::new(MemoryStore::new());
    let tenure = Tenure::new(Arc::new(store.clone()));
    let mut leaders = tenure.election("chief").leaders();
    store.lose_answers(3);
    assert_eq!(leaders.next().await.unwrap(), None);
}

/// Observers read an address there, those of other libraries and of earlier versions too.
#[tokio::test]
async fn a_label_that_an_election_is_given_is_what_the_store_has() {
    let (tenure, _store) = tenure();
    let election = tenure.election("chief").label("10.0.0.7:9000").reason("nightly");
    let _leadership = election.campaign().await.unwrap();
    let holder = tenure.inspect("chief").await.unwrap().holders.remove(0);
    assert_eq!(holder.whole_label(), "10.0.0.7:9000");
}
