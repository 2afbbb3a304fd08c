//! The common options of the stores on databases.

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind,
    proto::{queue::Limits, time::in_range},
    store::Diagnostic,
};
use tenure_url::{Password, Pem};

use crate::{PasswordExposure, TlsMode, TlsOptions, config::url::UrlParts};

/// The shortest and the longest timeout, in milliseconds.
const TIMEOUTS: (u64, u64) = (10, 60_000);
const CLAIM_WINDOWS: (u64, u64) = (10, 10_000);
const POSITION_TTLS: (u64, u64) = (100, 600_000);

/// The common options: how to reach a database, and the limits of the queues. All programs that use the same locks
/// should use the same limits.
#[derive(Clone, Debug)]
pub struct SqlOptions {
    /// The user to log in as.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<Password>,
    /// The servers. If there are several, one of them is the primary.
    pub servers: Vec<(String, u16)>,
    /// The name of the database.
    pub database: String,
    /// How long making a connection may take.
    pub connect_timeout: Duration,
    /// How long a call may take.
    pub response_timeout: Duration,
    /// The most connections over which calls are spread.
    pub connections: usize,
    /// The encryption of connections.
    pub tls: TlsOptions,
    /// The limits of the queues.
    pub limits: Limits,
}

impl SqlOptions {
    /// Returns the default options for a database on these servers.
    ///
    /// # Errors
    /// A fault if there is no server, if one has no name, or if the database has no name.
    pub fn new<H: Into<String>>(
        servers: impl IntoIterator<Item = (H, u16)>,
        database: impl Into<String>,
    ) -> Result<Self, Fault> {
        let servers = servers.into_iter().map(|(host, port)| (host.into(), port)).collect();
        let options = Self::of_servers(servers, database.into());
        let wrong = |what, help| Err(Fault::new(FaultKind::Misconfigured, what, help));
        let is_odd = |(host, port): &(String, u16)| host.is_empty() || *port == 0;
        if options.servers.is_empty() || options.servers.iter().any(is_odd) {
            return wrong("a server of the database has no host or no port", "name both");
        }
        if options.database.is_empty() || options.database.contains('/') {
            return wrong("the database has no name, or one with a slash", "name the database");
        }
        Ok(options)
    }

    fn of_servers(servers: Vec<(String, u16)>, database: String) -> Self {
        Self {
            user: None,
            password: None,
            servers,
            database,
            connect_timeout: Duration::from_secs(5),
            response_timeout: Duration::from_secs(5),
            connections: 4,
            tls: TlsOptions::default(),
            limits: Limits {
                claim_window: Duration::from_millis(500),
                position_ttl: Duration::from_secs(10),
                look: Duration::from_secs(1),
                max_waiters: 1_000,
                max_holders: 1_000,
                notices_absence: false,
                kinds_may_mix: true,
            },
        }
    }

    /// Reads the settings of a URL that every database has. `tls` has its TLS settings.
    ///
    /// # Errors
    /// A fault that names the setting that is out of range.
    pub fn of(parts: &mut UrlParts, tls: TlsOptions) -> Result<Self, Fault> {
        tls.check()?;
        let mut options = Self::of_servers(parts.servers.clone(), parts.database.clone());
        options.user = parts.user.clone();
        options.password = parts.password.clone();
        options.tls = tls;
        let second = Some(Duration::from_secs(1));
        if let Some(length) = parts.length("connect_timeout", second, TIMEOUTS)? {
            options.set_connect_timeout(length)?;
        }
        if let Some(length) = parts.length("response_timeout", None, TIMEOUTS)? {
            options.set_response_timeout(length)?;
        }
        if let Some(length) = parts.length("claim_window", None, CLAIM_WINDOWS)? {
            options.set_claim_window(length)?;
        }
        // The name in earlier versions.
        parts.settings.alias("place_ttl", "position_ttl")?;
        if let Some(length) = parts.length("position_ttl", None, POSITION_TTLS)? {
            options.set_position_ttl(length)?;
        }
        let settings = &mut parts.settings;
        if let Some(most) = settings.number("max_waiters")? {
            options.set_max_waiters(most)?;
        }
        if let Some(most) = settings.number("max_holders")? {
            options.set_max_holders(most)?;
        }
        if let Some(most) = settings.number("connections")? {
            options.set_connections(most)?;
        }
        Ok(options)
    }

    /// Sets how long making a connection may take, 10 ms to 1 min.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn set_connect_timeout(&mut self, length: Duration) -> Result<(), Fault> {
        self.connect_timeout = within("connect_timeout", length, TIMEOUTS)?;
        Ok(())
    }

    /// Sets how long a call may take, 10 ms to 1 min.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn set_response_timeout(&mut self, length: Duration) -> Result<(), Fault> {
        self.response_timeout = within("response_timeout", length, TIMEOUTS)?;
        Ok(())
    }

    /// Sets how long a waiter has to claim, 10 ms to 10 s. Raises the position TTL to at least this.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn set_claim_window(&mut self, length: Duration) -> Result<(), Fault> {
        self.limits.claim_window = within("claim_window", length, CLAIM_WINDOWS)?;
        self.limits.position_ttl = self.limits.position_ttl.max(length);
        Ok(())
    }

    /// Sets how long a queue position is kept, 100 ms to 10 min. Lowers the claim window to at most this.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn set_position_ttl(&mut self, length: Duration) -> Result<(), Fault> {
        self.limits.position_ttl = within("position_ttl", length, POSITION_TTLS)?;
        self.limits.claim_window = self.limits.claim_window.min(length);
        Ok(())
    }

    /// Sets how many may wait for one name, 1 to 10,000.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn set_max_waiters(&mut self, most: usize) -> Result<(), Fault> {
        self.limits.max_waiters = bound("max_waiters", most, 10_000)?;
        Ok(())
    }

    /// Sets how many may hold one name together, 1 to 10,000.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn set_max_holders(&mut self, most: usize) -> Result<(), Fault> {
        self.limits.max_holders = bound("max_holders", most, 10_000)?;
        Ok(())
    }

    /// Sets over how many connections calls are spread, 1 to 64.
    ///
    /// # Errors
    /// A fault if the value is out of range.
    pub fn set_connections(&mut self, most: usize) -> Result<(), Fault> {
        self.connections = bound("connections", most, 64)?;
        Ok(())
    }

    /// Trusts these authorities. If no mode is set, everything is then verified.
    pub fn trust(&mut self, roots: Pem) {
        self.tls.certificates = std::mem::take(&mut self.tls.certificates).trust(roots);
        self.verify();
    }

    /// Uses this client certificate and its key. If no mode is set, everything is then verified.
    pub fn identify(&mut self, certificate: Pem, key: Pem) {
        let before = std::mem::take(&mut self.tls.certificates);
        self.tls.certificates = before.identify(certificate, key);
        self.tls.identifies = true;
        self.verify();
    }

    fn verify(&mut self) {
        if self.tls.mode == TlsMode::Disable {
            self.tls.mode = TlsMode::VerifyFull;
        }
    }

    /// Checks what depends on several options.
    ///
    /// # Errors
    /// A fault that says what is missing or contradictory.
    pub fn check(&self) -> Result<(), Fault> {
        self.tls.check()?;
        if self.user.is_some() {
            return Ok(());
        }
        let help = "name the user to log in as";
        Err(Fault::new(FaultKind::Misconfigured, "no user of the database is named", help))
    }

    /// Returns what to warn of on the way to the servers.
    #[must_use]
    pub fn unprotected(&self, login: PasswordExposure, strict: &str) -> Option<Diagnostic> {
        let hosts = self.servers.iter().map(|(host, _)| host.as_str());
        self.tls.unprotected(hosts, login, strict)
    }

    /// Returns the location, without user and password.
    #[must_use]
    pub fn location(&self, scheme: &str) -> String {
        let servers: Vec<_> = self.servers.iter().map(|(host, port)| server(host, *port)).collect();
        format!("{scheme}://{}/{}", servers.join(","), self.database)
    }
}

/// A server as in a URL.
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

fn within(
    what: &'static str,
    given: Duration,
    (least, most): (u64, u64),
) -> Result<Duration, Fault> {
    in_range(what, given, Duration::from_millis(least), Duration::from_millis(most))
        .map_err(|error| Fault::new(FaultKind::Misconfigured, error.message(), error.help()))
}
