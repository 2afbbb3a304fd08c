//! What it was measured on.

use std::{fs, path::Path, process::Command, thread::available_parallelism};

use serde::{Deserialize, Serialize};

use super::{server::Asked, work::Bench};
use crate::{failure::Failure, servers::redis::Server};

/// The machine and what was installed on it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) cpu: String,
    pub(crate) system: String,
    pub(crate) server: String,
    /// What each language said of its version.
    pub(crate) tools: Vec<String>,
}

impl Machine {
    pub(crate) fn here(bench: &Bench) -> Result<Self, Failure> {
        let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = told.lines().find_map(|line| line.strip_prefix("model name"));
        let cpu = model.map_or("unknown", |model| model.trim_start_matches([' ', '\t', ':']));
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let tools = [
            ("rustc", "--version"),
            ("go", "version"),
            ("node", "--version"),
            ("python3", "--version"),
            ("java", "-version"),
        ];
        Ok(Self {
            cores: available_parallelism().map_or(1, usize::from),
            cpu: cpu.to_owned(),
            system: format!("{} {}", std::env::consts::OS, kernel.trim()).trim().to_owned(),
            server: server(bench)?,
            tools: tools.iter().filter_map(|(tool, asked)| first_line(tool, asked)).collect(),
        })
    }
}

fn server(bench: &Bench) -> Result<String, Failure> {
    let folder = tempfile::tempdir_in(&bench.dir)?;
    let server = Server::start_this(&bench.server, folder.path())
        .map_err(|error| format!("{}: {error:#}", Path::new(&bench.server).display()))?;
    let said = Asked::new(&server)?.said()?;
    Ok(match said.word("server_name") {
        "" => format!("Redis {}", said.word("redis_version")),
        name => format!("{name} {}", said.word(&format!("{name}_version"))),
    })
}

fn first_line(tool: &str, asked: &str) -> Option<String> {
    let told = Command::new(tool).arg(asked).output().ok()?;
    let told = [told.stdout, told.stderr].concat();
    let line = String::from_utf8_lossy(&told).lines().next()?.trim().to_owned();
    Some(if line.starts_with('v') { format!("{tool} {line}") } else { line })
}

/// The load average of the last minute.
pub(crate) fn load() -> f64 {
    let told = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    told.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0)
}
