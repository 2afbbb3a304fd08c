//! Replicas of the service, as their supervisor sees them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../common/instance.rs"]
mod instance;

use std::{
    process::Command,
    time::{Duration, Instant},
};

use instance::Instance;
use reqwest::StatusCode;

const PATIENCE: Duration = Duration::from_secs(30);

struct Replica(Instance);

impl Replica {
    fn start(store: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scheduler"));
        Self(Instance::start(command.args([store, "127.0.0.1:0"])))
    }

    /// Waits until it leads, and returns its term.
    async fn leads(&self) -> u64 {
        let began = Instant::now();
        loop {
            let (status, text) = self.0.get("/health/leader").await;
            if status == StatusCode::OK {
                return text.trim().strip_prefix("leading, term ").unwrap().parse().unwrap();
            }
            assert_eq!(text, "standing by\n");
            assert!(began.elapsed() < PATIENCE, "it does not lead");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stand_by_takes_over_when_the_leader_is_terminated_or_killed() {
    let directory = tempfile::tempdir().unwrap();
    let store = format!("file:{}", directory.path().display());
    let mut one = Replica::start(&store);
    let first = one.leads().await;
    let [mut two, mut three] = [(); 2].map(|()| Replica::start(&store));
    assert_eq!(two.0.get("/health/leader").await.0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(two.0.get("/health/live").await.0, StatusCode::OK);

    one.0.terminate();
    assert!(one.0.child.wait().unwrap().success());
    // Either of the two may have asked first.
    let (second, two_leads) = tokio::select! {
        term = two.leads() => (term, true),
        term = three.leads() => (term, false),
    };
    assert!(second > first);

    let (leader, next) = if two_leads { (&mut two, &three) } else { (&mut three, &two) };
    leader.0.child.kill().unwrap();
    assert!(next.leads().await > second);
}
