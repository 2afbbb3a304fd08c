//! What a server tells of itself.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use crate::{failure::Failure, servers::redis::Server};

/// Asks one server, over one connection.
pub(crate) struct Asked {
    stream: BufReader<TcpStream>,
}

/// What a server said at one moment.
#[derive(Debug, Default)]
pub(crate) struct Said {
    fields: BTreeMap<String, String>,
    calls: f64,
}

impl Asked {
    pub(crate) fn new(server: &Server) -> Result<Self, Failure> {
        Ok(Self { stream: BufReader::new(server.connect()?) })
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    fn ask(&mut self, what: &str) -> Result<String, Failure> {
        write!(self.stream.get_mut(), "{what}\r\n")?;
        let head = self.line()?;
        let Some(length) = head.strip_prefix('$') else { return Ok(head) };
        let mut body = vec![0; length.parse::<usize>()? + 2];
        self.stream.read_exact(&mut body)?;
        Ok(String::from_utf8(body)?)
    }

    /// How many keys there are.
    pub(crate) fn keys(&mut self) -> Result<f64, Failure> {
        Ok(self.ask("DBSIZE")?.trim_start_matches(':').parse()?)
    }

    /// CPU, memory, bytes and commands so far.
    pub(crate) fn said(&mut self) -> Result<Said, Failure> {
        let mut said = Said::default();
        for line in self.ask("INFO everything")?.lines() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let Some(command) = key.strip_prefix("cmdstat_") else {
                said.fields.insert(key.to_owned(), value.to_owned());
                continue;
            };
            // Ours, which are asked for beside what is measured.
            if !matches!(command, "info" | "dbsize") {
                let calls = value.strip_prefix("calls=").and_then(|rest| rest.split(',').next());
                said.calls += calls.unwrap_or_default().parse::<f64>()?;
            }
        }
        Ok(said)
    }

    /// How many commands a client sent, and how many ran inside of scripts, while `during` ran.
    pub(crate) fn watch(
        server: &Server,
        during: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(f64, f64), Failure> {
        let mut watching = Self::new(server)?;
        if watching.ask("MONITOR")? != "+OK" {
            return Err("the server does not tell what it is asked".into());
        }
        let counted = std::thread::spawn(move || {
            let (mut sent, mut inside) = (0.0, 0.0);
            while let Ok(line) = watching.line() {
                if line.is_empty() || line.contains("] \"ECHO\" \"the end\"") {
                    break;
                }
                let seen = if line.contains(" lua] ") { &mut inside } else { &mut sent };
                *seen += 1.0;
            }
            (sent, inside)
        });
        let during = during();
        Self::new(server)?.ask("ECHO \"the end\"")?;
        let counted = counted.join().map_err(|_| "what was watched was lost")?;
        during.map(|()| counted)
    }
}

impl Said {
    /// A number of `INFO`.
    pub(crate) fn number(&self, field: &str) -> f64 {
        self.fields.get(field).and_then(|value| value.parse().ok()).unwrap_or(f64::NAN)
    }

    /// A word of `INFO`.
    pub(crate) fn word(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }

    /// Commands so far, sent and inside of scripts together.
    pub(crate) fn calls(&self) -> f64 {
        self.calls
    }

    /// Microseconds of CPU so far.
    pub(crate) fn cpu(&self) -> f64 {
        (self.number("used_cpu_user") + self.number("used_cpu_sys")) * 1e6
    }
}
