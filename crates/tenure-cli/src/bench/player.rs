//! A process that takes turns, as seen by the one that started it.

use std::{error::Error, io, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use super::{
    MeasurementExtent, PATIENCE, TURNS,
    turns::{HandoffMessage, LEAVE, STORE},
};
use crate::{exit::Failure, explanation::Explanation, output::human, run};

/// Longer than it takes to leave the store.
const GONE: Duration = LEAVE.saturating_add(Duration::from_secs(1));

/// Killed when it is dropped.
#[derive(Debug)]
pub(super) struct BenchWorker {
    process: Child,
    orders: Option<ChildStdin>,
    words: Lines<BufReader<ChildStdout>>,
}

impl BenchWorker {
    /// Starts one on the store with this URL.
    pub(super) fn start(url: &str, name: &str, extent: MeasurementExtent) -> Result<Self, Failure> {
        let cannot = |error: io::Error| {
            let what = "the second process of the handoff cannot be started";
            Failure::Failed(Explanation::from_io_error(what, &error))
        };
        let program = run::own_program().map_err(cannot)?;
        let mut process = Command::new(program)
            .arg0(TURNS)
            .args([name, &extent.rounds.to_string(), &extent.length.as_millis().to_string()])
            .env(STORE, url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(cannot)?;
        let orders = process.stdin.take();
        let output = process.stdout.take();
        let output = output
            .ok_or_else(|| Failure::failed("the second process of the handoff has no output"))?;
        Ok(Self { process, orders, words: BufReader::new(output).lines() })
    }

    /// Tells it that a round begins.
    pub(super) async fn start_round(&mut self) -> Result<(), Failure> {
        let told = match &mut self.orders {
            Some(orders) => orders.write_all(b"\n").await,
            None => Ok(()),
        };
        match told {
            Ok(()) => Ok(()),
            Err(_) => self.hear(Duration::ZERO).await.and(Err(self.worker_failure().await)),
        }
    }

    /// Its next word, which takes no longer than `length` as a rule. One that says nothing is killed.
    pub(super) async fn hear(&mut self, length: Duration) -> Result<HandoffMessage, Failure> {
        let within = length + 2 * PATIENCE;
        let Ok(line) = timeout(within, self.words.next_line()).await else {
            let _ = self.process.start_kill();
            return Err(Failure::Failed(
                (
                    format!(
                        "a process of the handoff did not answer for {} and was killed",
                        human::length(within)
                    ),
                    "check with `tenure doctor` whether the store answers",
                )
                    .into(),
            ));
        };
        match line.ok().flatten().map(|line| serde_json::from_str(&line)) {
            Some(Ok(HandoffMessage::Failed(why))) => {
                let failed = Explanation::new("a process of the handoff failed");
                Err(Failure::Failed(failed.because(&*Box::<dyn Error>::from(why))))
            }
            Some(Ok(word)) => Ok(word),
            Some(Err(_)) => {
                Err(Failure::failed("a process of the handoff gave an answer that cannot be read"))
            }
            None => Err(self.worker_failure().await),
        }
    }

    /// Why it says nothing any more.
    async fn worker_failure(&mut self) -> Failure {
        let how = match timeout(GONE, self.process.wait()).await {
            Ok(Ok(status)) => status.to_string(),
            _ => "without saying why".to_owned(),
        };
        let failed = Explanation::new("a process of the handoff ended early");
        Failure::Failed(failed.because(&*Box::<dyn Error>::from(how)))
    }

    /// Lets it release what it holds and end; kills it where that takes too long.
    pub(super) async fn end(mut self) {
        drop(self.orders.take());
        if timeout(GONE, self.process.wait()).await.is_err() {
            let _ = self.process.kill().await;
        }
    }
}
