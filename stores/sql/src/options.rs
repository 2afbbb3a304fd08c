//! How a database is reached, and the bounds of its queues.

use std::time::Duration;

use tenure_core::{Fault, FaultKind, proto::queue::Limits, store::Diagnostic};
use tenure_url::Secret;

use crate::{TlsOptions, url::Parts};

/// How a database is reached, and the bounds of its queues. Everybody who uses the same locks should use the same
/// bounds.
#[derive(Clone, Debug)]
pub struct SqlOptions {
    /// Who we are to the server.
    pub user: Option<String>,
    /// By what we prove it.
    pub password: Option<Secret>,
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
    /// How connections are encrypted.
    pub tls: TlsOptions,
    /// The bounds of its queues.
    pub limits: Limits,
}

impl SqlOptions {
    /// The settings that every database has, of a URL, with what it says of TLS.
    ///
    /// # Errors
    /// A fault that names what is out of range.
    pub fn of(parts: &mut Parts, tls: TlsOptions) -> Result<Self, Fault> {
        tls.check()?;
        let mut options = Self {
            user: parts.user.clone(),
            password: parts.password.clone(),
            servers: parts.servers.clone(),
            database: parts.database.clone(),
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_secs(5),
            connections: 4,
            tls,
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
        let second = Some(Duration::from_secs(1));
        if let Some(length) = parts.length("connect_timeout", second, (10, 60_000))? {
            options.connect_timeout = length;
        }
        if let Some(length) = parts.length("response_timeout", None, (10, 60_000))? {
            options.response_timeout = length;
        }
        if let Some(length) = parts.length("claim_window", None, (10, 10_000))? {
            options.limits.claim_window = length;
            options.limits.place_ttl = options.limits.place_ttl.max(length);
        }
        // As it was called in earlier versions.
        parts.settings.alias("place_ttl", "position_ttl")?;
        if let Some(length) = parts.length("position_ttl", None, (100, 600_000))? {
            options.limits.place_ttl = length;
            options.limits.claim_window = options.limits.claim_window.min(length);
        }
        let settings = &mut parts.settings;
        if let Some(most) = settings.number("max_waiters")? {
            options.limits.max_waiters = bound("max_waiters", most, 10_000)?;
        }
        if let Some(most) = settings.number("max_holders")? {
            options.limits.max_holders = bound("max_holders", most, 10_000)?;
        }
        if let Some(most) = settings.number("connections")? {
            options.connections = bound("connections", most, 64)?;
        }
        Ok(options)
    }

    /// What to warn of on the way to the servers. `is_proven`: they prove that they know the password, on each encrypted
    /// connection.
    #[must_use]
    pub fn unprotected(&self, is_proven: bool, strict: &str) -> Option<Diagnostic> {
        let hosts = self.servers.iter().map(|(host, _)| host.as_str());
        self.tls.unprotected(hosts, is_proven, strict)
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
    let is_address = host.contains(':') && !host.starts_with('/');
    if is_address { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn bound(what: &str, given: usize, most: usize) -> Result<usize, Fault> {
    if (1..=most).contains(&given) {
        return Ok(given);
    }
    let what = format!("{what} of {given} is out of range");
    Err(Fault::new(FaultKind::Misconfigured, what, format!("choose from 1 to {most}")))
}
