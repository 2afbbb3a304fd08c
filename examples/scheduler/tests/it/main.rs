//! Replicas of the service, as their supervisor sees them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::StatusCode;

const PATIENCE: Duration = Duration::from_secs(30);

struct Replica {
    child: Child,
    address: String,
}

impl Replica {
    fn start(store: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_scheduler"))
            .args([store, "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address = first.strip_prefix("listening on ").unwrap().to_owned();
        // The rest is read, so that the replica never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let response = reqwest::get(format!("{}{path}", self.address)).await.unwrap();
        (response.status(), response.text().await.unwrap())
    }

    /// Waits until it leads, and returns its term.
    async fn leads(&self) -> u64 {
        let began = Instant::now();
        loop {
            let (status, text) = self.get("/health/leader").await;
            if status == StatusCode::OK {
                return text.trim().strip_prefix("leading, term ").unwrap().parse().unwrap();
            }
            assert_eq!(text, "standing by\n");
            assert!(began.elapsed() < PATIENCE, "it does not lead");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stand_by_takes_over_when_the_leader_is_terminated_or_killed() {
    let directory = tempfile::tempdir().unwrap();
    let store = format!("file:{}", directory.path().display());
    let mut one = Replica::start(&store);
    let first = one.leads().await;
    let [mut two, mut three] = [(); 2].map(|()| Replica::start(&store));
    assert_eq!(two.get("/health/leader").await.0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(two.get("/health/live").await.0, StatusCode::OK);

    kill(Pid::from_raw(one.child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert!(one.child.wait().unwrap().success());
    // Either of the two may have asked first.
    let (second, two_leads) = tokio::select! {
        term = two.leads() => (term, true),
        term = three.leads() => (term, false),
    };
    assert!(second > first);

    let (leader, next) = if two_leads { (&mut two, &three) } else { (&mut three, &two) };
    leader.child.kill().unwrap();
    assert!(next.leads().await > second);
}
