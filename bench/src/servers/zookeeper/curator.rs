//! JVMs with Curator's recipes: the program that the store's tests share locks with.

use std::{path::PathBuf, process::Command, time::Duration};

use super::server::Server;
use crate::{failure::Failure, process::child::Player, process::maven};

const VERSION: &str = "5.9.0";

/// The program, built.
#[derive(Debug)]
pub(crate) struct Program {
    folder: PathBuf,
}

/// A JVM that runs one recipe on one path.
#[derive(Debug)]
pub(super) struct Jvm(Player);

/// When a turn was granted and let go of, in nanoseconds of the machine's clock.
pub(super) type Hold = (u64, u64);

impl Program {
    /// Has Maven build it into `target`; an error says why not.
    pub(super) fn build() -> Result<Self, Failure> {
        let folder = maven::build("stores/zookeeper/tests/curator", "curator", VERSION)?;
        Ok(Self { folder })
    }

    pub(super) fn settings(&self) -> String {
        let java = maven::java();
        format!("Curator {VERSION} on Java {java}, warmed up before it is measured")
    }

    /// Starts a JVM; it says when it has a session.
    pub(super) fn start(
        &self,
        server: &Server,
        recipe: &str,
        name: &str,
        permits: u32,
    ) -> Result<Jvm, Failure> {
        let folder = self.folder.display();
        let mut java = Command::new("java");
        java.args(["-Xmx256m", "-cp", &format!("{folder}/classes:{folder}/lib/*"), "Peer"]);
        java.args([&server.hosts(), &super::SESSION.as_millis().to_string(), "time", recipe]);
        java.args([format!("/curator/{name}"), permits.to_string()]);
        let mut jvm = Jvm(Player::run(&mut java)?);
        jvm.hears("ready")?;
        Ok(jvm)
    }
}

impl Jvm {
    /// What follows `word` in its next line.
    fn hears(&mut self, word: &str) -> Result<String, Failure> {
        loop {
            let line = self.0.hear()?;
            if let Some(rest) = line.strip_prefix(word) {
                return Ok(rest.trim().to_owned());
            }
            if !line.starts_with("state ") {
                return Err(format!("a JVM with Curator said: {line}").into());
            }
        }
    }

    /// Tells it to acquire and release so often, in so many threads.
    pub(super) fn begin_pairs(&mut self, threads: usize, count: usize) -> Result<(), Failure> {
        self.0.tell(format_args!("pairs {threads} {count}"))
    }

    /// How long that took, in microseconds.
    pub(super) fn took(&mut self) -> Result<f64, Failure> {
        Ok(self.hears("took")?.parse::<f64>()? / 1e3)
    }

    pub(super) fn begin_turns(&mut self, count: usize, hold: Duration) -> Result<(), Failure> {
        self.0.tell(format_args!("turns {count} {}", hold.as_micros()))
    }

    pub(super) fn turn(&mut self) -> Result<Hold, Failure> {
        let told = self.hears("turn")?;
        let (granted, released) = told.split_once(' ').ok_or("a JVM said nonsense")?;
        Ok((granted.parse()?, released.parse()?))
    }
}
