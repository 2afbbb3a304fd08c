//! Child processes: this very test binary, started again to play one part.

use std::{
    env,
    io::{BufRead, BufReader, Write, stdin, stdout},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tenure::Tenure;

/// Longer than anything here takes, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

const PART: &str = "TENURE_TEST_PART";
const DIR: &str = "TENURE_TEST_DIR";
/// What a child says begins with this, to tell it from what the test harness prints.
const SAYS: &str = "child says: ";

/// A child process that plays a part.
#[derive(Debug)]
pub(crate) struct Player {
    process: Child,
    orders: ChildStdin,
    words: Receiver<String>,
}

impl Player {
    /// Starts a child that plays `part` in `dir`.
    pub(crate) fn start(part: &str, dir: &Path) -> Self {
        Self::start_as(None, &env::current_exe().unwrap(), part, dir)
    }

    /// The same as another user, who may run `program`, a copy of this one.
    pub(crate) fn start_as(user: Option<u32>, program: &Path, part: &str, dir: &Path) -> Self {
        let mut command = Command::new(program);
        if let Some(user) = user {
            command.uid(user).gid(user).current_dir(dir);
        }
        let mut process = command
            .args(["child::plays_its_part", "--exact", "--ignored", "--nocapture"])
            .env(PART, part)
            .env(DIR, dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = process.stdin.take().unwrap();
        let words = listen(process.stdout.take().unwrap());
        Self { process, orders, words }
    }

    /// The next thing that the child says.
    pub(crate) fn hear(&self) -> String {
        self.words.recv_timeout(PATIENCE).expect("the child said nothing")
    }

    /// Tells the child to go on.
    pub(crate) fn go_on(&mut self) {
        writeln!(self.orders, "go on").unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.process.id()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
    }

    /// Waits for the child's end, which must be a success.
    pub(crate) fn finish(mut self) {
        let status = self.process.wait().unwrap();
        assert!(status.success(), "a child failed: {status}");
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn listen(output: ChildStdout) -> Receiver<String> {
    let (tell, words) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some((_, word)) = line.split_once(SAYS)
                && tell.send(word.to_owned()).is_err()
            {
                return;
            }
        }
    });
    words
}

/// In a child: says something to the parent.
pub(crate) fn say(word: impl std::fmt::Display) {
    let mut output = stdout().lock();
    writeln!(output, "{SAYS}{word}").unwrap();
    output.flush().unwrap();
}

/// In a child: blocks this thread until the parent says to go on.
pub(crate) fn await_order() {
    let mut line = String::new();
    stdin().read_line(&mut line).unwrap();
}

/// The embedded store in `dir`, as every process of a test opens it.
pub(crate) async fn open(dir: &Path) -> Tenure {
    Tenure::open(format!("file:{}", dir.join("locks").display())).await.unwrap()
}

#[test]
#[ignore = "the part of a child process"]
fn plays_its_part() {
    let (Ok(part), Ok(dir)) = (env::var(PART), env::var(DIR)) else { return };
    let dir = Path::new(&dir);
    if crate::scarce::play(&part, dir) || played_without_descriptors(&part, dir) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        match part.as_str() {
            "count" => crate::counter::count_alone(dir).await,
            "count with tasks" => crate::counter::count_with_tasks(dir).await,
            "take permits" => crate::permits::take_permits(dir).await,
            "hold" => crate::dead::hold(dir).await,
            "hold and write late" => crate::paused::hold_and_write_late(dir).await,
            "fork and block" => crate::blocking_forks::fork_and_block(dir),
            other => panic!("no part is called {other:?}"),
        }
    });
}

#[cfg(all(feature = "mysql", feature = "postgres", feature = "redis", feature = "zookeeper"))]
use crate::descriptors::play as played_without_descriptors;

#[cfg(not(all(
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "zookeeper"
)))]
const fn played_without_descriptors(_: &str, _: &Path) -> bool {
    false
}
