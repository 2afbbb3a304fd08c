//! A JVM with ShedLock's JDBC provider. Its locks know no waiting, so it takes part only where nobody waits.

use std::{path::PathBuf, process::Command};

use tokio::runtime::Runtime;

use super::Database;
use crate::{failure::Failure, figures::Players, process::child::Player, process::maven};

const VERSION: &str = "6.9.2";

/// The program, built.
pub(crate) struct Program {
    folder: PathBuf,
}

/// A JVM that runs it.
pub(super) struct Jvm(Player);

impl Program {
    /// Has Maven build it; an error says why not.
    pub(super) fn build() -> Result<Self, Failure> {
        Ok(Self { folder: maven::build("bench/shedlock", "shedlock", VERSION)? })
    }

    pub(super) fn settings(&self) -> String {
        let java = maven::java();
        format!(
            "ShedLock {VERSION}, JDBC with HikariCP on Java {java}, warmed up before it is measured"
        )
    }

    pub(super) fn start(&self, server: &impl Database) -> Result<Jvm, Failure> {
        let folder = self.folder.display();
        let mut java = Command::new("java");
        java.arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
        java.args(["-Xmx256m", "-cp", &format!("{folder}/classes:{folder}/lib/*"), "Peer"]);
        java.args(server.jdbc());
        let mut jvm = Jvm(Player::run(&mut java)?);
        jvm.hears("ready")?;
        Ok(jvm)
    }
}

impl Jvm {
    /// What follows `word` in its next line.
    fn hears(&mut self, word: &str) -> Result<String, Failure> {
        let line = self.0.hear()?;
        let rest = line.strip_prefix(word).ok_or_else(|| format!("ShedLock said: {line}"))?;
        Ok(rest.trim().to_owned())
    }
}

impl Players for Jvm {
    fn pairs(&mut self, _: &Runtime, count: usize) -> Result<f64, Failure> {
        self.0.tell(count)?;
        Ok(self.hears("took")?.parse::<f64>()? / 1e3)
    }

    fn is_jvm(&self) -> bool {
        true
    }
}
