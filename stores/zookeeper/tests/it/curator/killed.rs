//! Processes of both sides that are killed.

use std::time::{Duration, Instant};

use tempfile::tempdir;
use tenure_testkit::Random;

use crate::support::{PATIENCE, until};

use super::{
    child,
    program::Curator,
    scene::{Scene, length, until_there_are},
    work::Work,
};

#[tokio::test]
async fn a_killed_jvm_frees_the_lock_when_its_session_ends() {
    let scene = Scene::new();
    let mut holder = scene.hold(Curator::Five, "mutex", "lock");
    let held = holder.says_held().await;
    let tenure = scene.tenure();
    let waits = tokio::spawn(tenure.mutex("lock").lock().wait(PATIENCE).into_future());
    until_there_are(&tenure, "lock", 1, 1).await;
    holder.kill().await;
    let next = waits.await.unwrap().unwrap();
    assert!(next.token().time() > held.czxid);
    next.check().unwrap();
}

#[tokio::test]
async fn a_killed_process_of_ours_frees_the_lock_when_its_session_ends() {
    let scene = Scene::new();
    let mut holder = child::start(&["hold", &scene.url()]);
    let token = holder.says_held();
    let mut waits = scene.hold(Curator::Five, "mutex", "lock");
    until_there_are(&scene.tenure(), "lock", 1, 1).await;
    assert!(waits.is_silent());
    holder.kill();
    assert!(waits.says_held().await.czxid > token);
}

/// Workers of both sides, killed at any time and started anew. No two are ever at work at once, and whoever
/// waits gets in.
#[tokio::test]
async fn killed_workers_are_never_two_at_once_and_stop_nobody() {
    let folder = tempdir().unwrap();
    let scene = Scene::new().with_session(Duration::from_secs(3));
    let work = Work::create(&folder.path().join("work"));
    let ends = Instant::now() + length(4);
    let (a, b, c, d) = tokio::join!(
        ours(&scene, &work, ends, 1),
        ours(&scene, &work, ends, 2),
        jvms(&scene, &work, ends, Curator::Five, 3),
        jvms(&scene, &work, ends, Curator::Four, 4),
    );
    // After the last of them both sides get in.
    let guard = scene.tenure().mutex("lock").lock().wait(PATIENCE).await.unwrap();
    assert!(work.enter(std::process::id()).is_some(), "{:?}", work.notes());
    work.leave(std::process::id(), work.number());
    guard.release().await.unwrap();
    let mut last = scene.hold(Curator::Five, "mutex", "lock");
    last.says_held().await;
    assert!(work.enter(last.id()).is_some(), "{:?}", work.notes());
    work.leave(last.id(), work.number());
    assert_eq!(last.asked("release").await, "released");

    assert_eq!(work.notes(), [""; 0]);
    let counted = work.counted();
    println!("{} turns, {} killed of ours, {} JVMs", work.number(), a + b, c + d);
    assert!(counted.windows(2).all(|two| two[0] < two[1]), "a number was counted twice");
    // Who was killed may have counted without saying so, once each.
    let number = usize::try_from(work.number()).unwrap();
    assert!((counted.len()..=counted.len() + a + b + c + d).contains(&number));
    until("nothing is left", async || scene.raw().await.contenders(&scene.path("lock")).await == 0)
        .await;
}

/// One process of ours after another; how many were killed.
async fn ours(scene: &Scene, work: &Work, ends: Instant, seed: u64) -> usize {
    let mut random = Random::new(seed);
    let mut killed = 0;
    while Instant::now() < ends {
        let mut process = child::start(&["work", &scene.url(), work.folder()]);
        // Some die early. The others work for a while: whoever dies keeps all out until its session ends.
        let most = if random.below(3) == 0 { 500 } else { 10_000 };
        lives(ends, random.below(most)).await;
        process.kill();
        killed += 1;
    }
    killed
}

/// One JVM after another: it is killed while it starts, while it waits, while it holds, or after it let go.
async fn jvms(scene: &Scene, work: &Work, ends: Instant, curator: Curator, seed: u64) -> usize {
    let mut random = Random::new(seed);
    let mut killed = 0;
    while Instant::now() < ends {
        let mut peer = scene.hold(curator, "mutex", "lock");
        let patience = match random.below(4) {
            0 => Duration::from_millis(random.below(3_000)),
            _ => PATIENCE,
        };
        if tokio::time::timeout(patience, peer.says_held()).await.is_ok() {
            // What the JVM holds the lock for is done here.
            let Some(number) = work.enter(peer.id()) else { return killed };
            tokio::time::sleep(Duration::from_millis(random.below(10))).await;
            if random.below(3) > 0 {
                work.leave(peer.id(), number);
                assert_eq!(peer.asked("release").await, "released");
                lives(ends, random.below(3_000)).await;
            }
        }
        peer.kill().await;
        killed += 1;
    }
    killed
}

/// For so many milliseconds, or until the end.
async fn lives(ends: Instant, millis: u64) {
    let left = ends.saturating_duration_since(Instant::now());
    tokio::time::sleep(left.min(Duration::from_millis(millis))).await;
}
