//! An instance of the shop: a process of its own.

use std::{
    env,
    error::Error,
    fs::File,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Stdio, id},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::{service::LISTENING, shop::STOPPING};

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// What every instance of a sale is told.
#[derive(Clone, Debug)]
pub(super) struct Orders {
    pub(super) words: Vec<String>,
    /// Places, which may have a password: arguments can be seen by everybody on the machine.
    pub(super) variables: Vec<(&'static str, String)>,
    /// Where what it has to say goes.
    pub(super) log: PathBuf,
}

/// One that runs; it is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Instance {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub(super) address: SocketAddr,
}

impl Instance {
    /// Starts one, at any free port or at this one.
    pub(super) async fn start(
        orders: &Orders,
        port: Option<u16>,
        trouble: &[String],
    ) -> Result<Self, Box<dyn Error>> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0)));
        let log = File::options().create(true).append(true).open(&orders.log)?;
        let mut process = Command::new(env::current_exe()?)
            .arg("serve")
            .args(["--listen", &address.to_string(), "--parent", &id().to_string()])
            .args(&orders.words)
            .args(trouble)
            .envs(orders.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let output = process.stdout.take().ok_or("an instance has no output")?;
        let mut lines = BufReader::new(output).lines();
        let said = tokio::time::timeout(PATIENCE, lines.next_line()).await;
        let address = said.ok().and_then(Result::ok).flatten().and_then(|line| listens(&line));
        match address {
            Some(address) => Ok(Self { process, lines, address }),
            None => Err(format!("an instance does not start: {}", tail(&orders.log)).into()),
        }
    }

    /// Waits until it is about to stop; never, if it ends.
    pub(super) async fn stops(&mut self) {
        while let Ok(Some(line)) = self.lines.next_line().await {
            if line == STOPPING {
                return;
            }
        }
        std::future::pending::<()>().await;
    }

    /// As `kill -9` does.
    pub(super) async fn kill(&mut self) -> std::io::Result<()> {
        self.process.kill().await
    }

    /// Lets it go on after a stop.
    pub(super) fn go_on(&self) -> Result<(), Box<dyn Error>> {
        let id = self.process.id().ok_or("an instance has ended")?;
        Ok(kill(Pid::from_raw(i32::try_from(id)?), Signal::SIGCONT)?)
    }
}

/// Where it says that it listens.
fn listens(line: &str) -> Option<SocketAddr> {
    let rest = line.strip_prefix(LISTENING)?.trim_start().strip_prefix("http://")?;
    rest.split(' ').next()?.parse().ok()
}

/// The last lines of a log.
pub(super) fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}
