//! A Redis server for the figures, on a free port and without persistence.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use crate::{Failure, orphan::Watch};

/// A server that ends with this value.
#[derive(Debug)]
pub(crate) struct Server {
    // Ended before the process, which is waited for in `drop`.
    watch: Option<Watch>,
    process: Child,
    port: u16,
}

impl Server {
    /// Starts `$TENURE_REDIS_SERVER`, or `redis-server`.
    pub(crate) fn start(dir: &Path) -> Result<Self, Failure> {
        let binary = std::env::var_os("TENURE_REDIS_SERVER").unwrap_or("redis-server".into());
        Self::start_this(&binary, dir)
    }

    /// Starts the server in that file.
    pub(crate) fn start_this(binary: &OsStr, dir: &Path) -> Result<Self, Failure> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let process = Command::new(binary)
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
            .arg("--dir")
            .arg(dir)
            .stdout(Stdio::null())
            .spawn()?;
        let watch = Some(Watch::over(process.id())?);
        let server = Self { watch, process, port };
        let since = Instant::now();
        // Somebody else may have taken the port meanwhile.
        while !server.is_itself() {
            if since.elapsed() > Duration::from_secs(10) {
                let what = format!("{} does not start on port {port}", binary.display());
                return Err(format!("{what}; see that it runs by hand").into());
            }
            sleep(Duration::from_millis(5));
        }
        Ok(server)
    }

    /// Whether what listens there says that it is this process.
    fn is_itself(&self) -> bool {
        let told = || -> std::io::Result<bool> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.set_read_timeout(Some(Duration::from_secs(1)))?;
            stream.write_all(b"INFO server\r\n")?;
            let own = format!("process_id:{}", self.process.id());
            for line in BufReader::new(stream).lines() {
                let line = line?;
                if line.starts_with("process_id:") {
                    return Ok(line == own);
                }
            }
            Ok(false)
        };
        told().unwrap_or(false)
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Microseconds of CPU that it has used for commands, where the system tells.
    pub(crate) fn cpu(&self) -> f64 {
        let told = std::fs::read_to_string(format!("/proc/{}/schedstat", self.process.id()));
        let nanos = told.ok().and_then(|told| told.split(' ').next()?.parse::<f64>().ok());
        nanos.map_or(f64::NAN, |nanos| nanos / 1e3)
    }

    /// A connection of its own, for what is asked for seldom.
    pub(crate) fn connect(&self) -> Result<TcpStream, Failure> {
        Ok(TcpStream::connect(("127.0.0.1", self.port))?)
    }

    /// How often each command was called since the last time, by clients and inside of scripts.
    pub(crate) fn calls(&self) -> Result<Calls, Failure> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
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

impl Drop for Server {
    fn drop(&mut self) {
        self.watch = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
