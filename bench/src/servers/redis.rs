//! A Redis server for the figures, without persistence.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::Path,
};

use tenure_servers::RedisServer;

use crate::{failure::Failure, figures};

/// A server that ends with this value.
#[derive(Debug)]
pub(crate) struct Server(RedisServer);

impl Server {
    /// Starts the server in that file.
    pub(crate) fn start_this(binary: &OsStr, dir: &Path) -> Result<Self, Failure> {
        Ok(Self(RedisServer::try_start_in(dir, binary, &["--save", ""])?))
    }

    /// A connection of its own, for what is asked for seldom.
    pub(crate) fn connect(&self) -> Result<TcpStream, Failure> {
        Ok(TcpStream::connect(self.0.address())?)
    }

    /// How often each command was called since the last time, by clients and inside of scripts.
    pub(crate) fn calls(&self) -> Result<Calls, Failure> {
        let mut stream = self.connect()?;
        stream.write_all(b"INFO commandstats\r\nCONFIG RESETSTAT\r\n")?;
        let mut calls = Calls::default();
        for line in BufReader::new(stream).lines() {
            let line = line?;
            if line == "+OK" {
                return Ok(calls);
            }
            let Some((command, rest)) =
                line.strip_prefix("cmdstat_").and_then(|line| line.split_once(":calls="))
            else {
                continue;
            };
            let mut figures = rest.split(',');
            let count: u64 = figures.next().unwrap_or_default().parse()?;
            let micros = figures.next().and_then(|micros| micros.strip_prefix("usec="));
            match command {
                "evalsha" => {
                    calls.scripts += count;
                    calls.micros += micros.unwrap_or_default().parse::<u64>()?;
                }
                "info" | "config|resetstat" => {}
                _ => calls.inside += count,
            }
        }
        Err("redis-server broke off".into())
    }
}

/// On `$TENURE_REDIS_SERVER`, or `redis-server`. Its CPU is what it has used for commands.
impl figures::Server for Server {
    const NAME: &'static str = "Redis";
    const CALLS: &'static str = "calls";

    fn start(dir: &Path) -> Result<Self, Failure> {
        let binary = std::env::var_os("TENURE_REDIS_SERVER").unwrap_or("redis-server".into());
        Self::start_this(&binary, dir)
    }

    fn url(&self) -> String {
        format!("redis://{}", self.0.address())
    }

    fn cpu(&self) -> f64 {
        let told = std::fs::read_to_string(format!(
            "/proc/{}/schedstat",
            self.0.pid().unwrap_or_default()
        ));
        let nanos = told.ok().and_then(|told| told.split(' ').next()?.parse::<f64>().ok());
        nanos.map_or(f64::NAN, |nanos| nanos / 1e3)
    }

    fn calls_during<T>(
        &self,
        during: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(T, f64), Failure> {
        self.calls()?;
        let done = during()?;
        Ok((done, self.calls()?.scripts as f64))
    }
}

/// Calls of commands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    /// Scripts that clients sent. Locks need nothing else.
    pub(crate) scripts: u64,
    /// Commands inside of scripts.
    pub(crate) inside: u64,
    /// How long the scripts took, in microseconds.
    pub(crate) micros: u64,
}
