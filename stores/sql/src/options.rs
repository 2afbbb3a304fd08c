//! How a database is reached, and the bounds of its queues.

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind,
    proto::{queue::Limits, time::in_range},
    store::Diagnostic,
};

use crate::url::{Parts, Password};

/// How a database is reached, and the bounds of its queues. Everybody who uses the same locks should use the same
/// bounds.
#[derive(Clone, Debug)]
pub struct SqlOptions {
    /// Who we are to the server.
    pub user: Option<String>,
    /// By what we prove it.
    pub password: Option<Password>,
    /// Where it listens; several where one of them is the primary.
    pub servers: Vec<(String, u16)>,
    /// The name of the database there.
    pub database: String,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long a call may take.
    pub response_timeout: Duration,
    /// How many connections calls are spread over, at most.
    pub connections: usize,
    /// Whether it is reached over TLS.
    pub tls: bool,
    /// The file with the authorities to trust, in PEM, instead of the system's.
    pub ca: Option<String>,
    /// The bounds of its queues.
    pub limits: Limits,
}

impl SqlOptions {
    /// The settings that every database has, of a URL; `encrypted` without a word on it if the URL says so in others.
    ///
    /// # Errors
    /// A fault that names what is out of range.
    pub fn of(parts: &mut Parts, encrypted: bool) -> Result<Self, Fault> {
        let mut options = Self {
            user: parts.user.clone(),
            password: parts.password.clone(),
            servers: parts.servers.clone(),
            database: parts.database.clone(),
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_secs(5),
            connections: 4,
            tls: parts.yes("tls")?.unwrap_or(encrypted),
            ca: parts.take("ca"),
            limits: Limits {
                claim_window: Duration::from_millis(500),
                place_ttl: Duration::from_secs(10),
                look: Duration::from_secs(1),
                max_waiters: 1_000,
                max_holders: 1_000,
                notices_absence: false,
                kinds_may_mix: true,
            },
        };
        if let Some(length) = parts.length("connect_timeout")? {
            options.connect_timeout = within("connect_timeout", length, 10, 60_000)?;
        }
        if let Some(length) = parts.length("response_timeout")? {
            options.response_timeout = within("response_timeout", length, 10, 60_000)?;
        }
        if let Some(length) = parts.length("claim_window")? {
            options.limits.claim_window = within("claim_window", length, 10, 10_000)?;
            options.limits.place_ttl = options.limits.place_ttl.max(length);
        }
        if let Some(length) = parts.length("place_ttl")? {
            options.limits.place_ttl = within("place_ttl", length, 100, 600_000)?;
            options.limits.claim_window = options.limits.claim_window.min(length);
        }
        if let Some(most) = parts.number("max_waiters")? {
            options.limits.max_waiters = bound("max_waiters", most, 10_000)?;
        }
        if let Some(most) = parts.number("max_holders")? {
            options.limits.max_holders = bound("max_holders", most, 10_000)?;
        }
        if let Some(most) = parts.number("connections")? {
            options.connections = bound("connections", most, 64)?;
        }
        if options.ca.is_some() && !options.tls {
            let what = "ca is of use over TLS alone";
            return Err(Fault::new(FaultKind::Misconfigured, what, "write tls=yes, too"));
        }
        Ok(options)
    }

    /// What to warn of where it is reached in the clear.
    #[must_use]
    pub fn in_clear(&self) -> Option<Diagnostic> {
        let hosts = self.servers.iter().map(|(host, _)| host.as_str()).filter(|_| !self.tls);
        Diagnostic::in_clear(hosts, "write tls=yes in the URL")
    }

    /// Where it is, without user and password.
    #[must_use]
    pub fn location(&self, scheme: &str) -> String {
        let servers: Vec<_> = self.servers.iter().map(|(host, port)| server(host, *port)).collect();
        format!("{scheme}://{}/{}", servers.join(","), self.database)
    }
}

/// A server as URLs have it.
fn server(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn within(what: &'static str, given: Duration, least: u64, most: u64) -> Result<Duration, Fault> {
    in_range(what, given, Duration::from_millis(least), Duration::from_millis(most)).map_err(
        |error| Fault::new(FaultKind::Misconfigured, format!("{error:#}"), "choose another length"),
    )
}

fn bound(what: &str, given: usize, most: usize) -> Result<usize, Fault> {
    if (1..=most).contains(&given) {
        return Ok(given);
    }
    let what = format!("{what} of {given} is out of range");
    Err(Fault::new(FaultKind::Misconfigured, what, format!("choose from 1 to {most}")))
}
