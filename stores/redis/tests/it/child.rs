//! Processes of their own: the test binary runs itself again in a role, told by an environment
//! variable, and speaks over its standard input and output.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use tenure_core::AcquireError;

use crate::{
    dropping::drop_for_ever,
    fenced::Fenced,
    support::{PATIENCE, hold, micros, tenure},
};

const ROLE: &str = "TENURE_TEST_ROLE";
/// What a role says begins with this, so that the test harness's own lines are told apart.
const SAID: &str = "@";

/// A running child.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    pub(crate) fn start(role: &[&str]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child::plays_its_role", "--exact", "--nocapture"])
            .env(ROLE, role.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { input: child.stdin.take().unwrap(), output, child }
    }

    /// The next thing that the child says; `None` when it has ended.
    pub(crate) fn says(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some((_, said)) = line.trim_end().split_once(SAID) {
                return Some(said.to_owned());
            }
            line.clear();
        }
        None
    }

    pub(crate) fn says_held(&mut self) -> u64 {
        let said = self.says().unwrap();
        said.strip_prefix("held ").unwrap_or_else(|| panic!("it said {said:?}")).parse().unwrap()
    }

    /// Asks something and hears the answer.
    pub(crate) fn asked(&mut self, order: &str) -> String {
        writeln!(self.input, "{order}").unwrap();
        self.says().unwrap()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Kills it as `kill -9` does, and returns when it is dead.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end, and says whether it was a good one.
    pub(crate) fn ends_well(&mut self) -> bool {
        self.child.wait().unwrap().success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn say(text: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{SAID}{text}").unwrap();
    out.flush().unwrap();
}

/// The parent's next order; the process ends with its parent.
fn order() -> String {
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line).unwrap() == 0 {
        std::process::exit(0);
    }
    line.trim_end().to_owned()
}

/// Not a test by itself: what a child does.
#[test]
fn plays_its_role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let words: Vec<_> = role.split('\n').collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match words.as_slice() {
        ["hold", url, ttl] => runtime.block_on(hold_on(url, ttl.parse().unwrap())),
        ["count", url, file, rounds] => {
            runtime.block_on(count(url, file, rounds.parse().unwrap()));
        }
        ["count fenced", url, file, rounds] => {
            runtime.block_on(count_fenced(url, file, rounds.parse().unwrap()));
        }
        ["drop acquires", url, kept] => {
            let kept = Duration::from_millis(kept.parse().unwrap());
            runtime.block_on(drop_for_ever(url, kept, || say("dropping")));
        }
        ["leave", url] => {
            let guard = runtime.block_on(async {
                let tenure = tenure(url);
                hold(&tenure, "lock", Duration::from_secs(1)).await
            });
            say(format_args!("held {}", guard.token()));
            runtime.shutdown_background();
            drop(guard);
            say("dropped outside of its runtime");
        }
        other => panic!("no such role: {other:?}"),
    }
}

async fn hold_on(url: &str, ttl: u64) {
    let tenure = tenure(url);
    let guard = hold(&tenure, "lock", Duration::from_millis(ttl)).await;
    say(format_args!("held {}", guard.token()));
    loop {
        match tokio::task::spawn_blocking(order).await.unwrap().as_str() {
            "check" => match guard.check() {
                Ok(token) => say(token),
                Err(lost) => say(format_args!("lost: {lost}")),
            },
            // Keeps every thread of the runtime from doing anything else.
            "block" => {
                let spin = move || std::thread::sleep(Duration::from_millis(ttl * 2));
                let threads: Vec<_> =
                    (0..16).map(|_| tokio::spawn(async move { spin() })).collect();
                spin();
                for thread in threads {
                    thread.await.unwrap();
                }
                say(guard.check().map_or("lost", |_| "held"));
            }
            other => panic!("no such order: {other:?}"),
        }
    }
}

/// Reads a number, adds one and writes it, which loses increments unless the lock excludes.
async fn count(url: &str, file: &str, rounds: u32) {
    let tenure = tenure(url);
    for _ in 0..rounds {
        let guard = tenure.mutex("count").lock().wait(PATIENCE * 10).await.unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        let (count, last) = text.split_once(' ').unwrap();
        let token = guard.token();
        assert!(token.get() > last.parse().unwrap(), "tokens rise in the order of the holds");
        let next = count.parse::<u64>().unwrap() + 1;
        std::fs::write(file, format!("{next} {token}")).unwrap();
        guard.release().await.unwrap();
    }
    say("done");
}

/// Counts in a file that refuses whoever is late, however often the lock is lost on the way.
async fn count_fenced(url: &str, file: &str, rounds: u64) {
    let (tenure, counter) = (tenure(url), Fenced::at(file.as_ref()));
    let mut left = rounds;
    while left > 0 {
        let asked = micros();
        let guard = match tenure.mutex("lock").lock().wait(PATIENCE * 10).await {
            Ok(guard) => guard,
            // The server is away, or went away in the middle.
            Err(AcquireError::Unreachable { .. } | AcquireError::InDoubt { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        let (granted, token) = (micros(), guard.token().get());
        let counted = match counter.open(token) {
            Some(count) => counter.write(token, count + 1),
            None => false,
        };
        left -= u64::from(counted);
        let how = if counted { "counted" } else { "refused" };
        say(format_args!("hold {asked} {granted} {token} {how}"));
        // It may be gone from the server by now.
        let _ = guard.release().await;
    }
    say("done");
}
