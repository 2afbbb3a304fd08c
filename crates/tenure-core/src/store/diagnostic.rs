//! The findings of a check of the real store.

use std::{fmt, net::IpAddr, str::FromStr};

use crate::Fault;

/// How a finding about a store affects tenure's promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Everything is in order.
    Good,
    /// A promise holds less widely than it could.
    Warning,
    /// A promise does not hold.
    Bad,
}

impl Severity {
    /// All severities, from the best to the worst.
    pub const ALL: [Self; 3] = [Self::Good, Self::Warning, Self::Bad];

    /// Returns the severity as a word, which is the same everywhere and in each version.
    ///
    /// ```
    /// use tenure_core::store::Severity;
    ///
    /// assert_eq!(Severity::Warning.as_str(), "warning");
    /// assert_eq!("warning".parse(), Ok(Severity::Warning));
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warning => "warning",
            Self::Bad => "bad",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that is not a [`Severity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a severity is one of good, warning, bad")]
#[non_exhaustive]
pub struct BadSeverity;

impl FromStr for Severity {
    type Err = BadSeverity;

    fn from_str(word: &str) -> Result<Self, BadSeverity> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == word).ok_or(BadSeverity)
    }
}

/// Whether a host is this machine, whatever its resolver answers.
fn is_this_machine(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    // A path is a socket in the file system.
    name.starts_with('/')
        || name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// One finding of a check of the real store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// How it affects the promises.
    pub severity: Severity,
    /// The thing that was checked, in a word or two.
    pub what: String,
    /// The result of the check.
    pub found: String,
    /// The promise that it concerns, `"S1"` to `"S9"`.
    pub promise: Option<&'static str>,
    /// What the user can do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Makes a finding that `what` is in order.
    #[must_use]
    pub fn good(what: impl Into<String>, found: impl Into<String>) -> Self {
        let (what, found) = (what.into(), found.into());
        Self { severity: Severity::Good, what, found, promise: None, help: None }
    }

    /// Makes a finding that a promise holds less widely than it could, and what the user can do.
    ///
    /// ```
    /// use tenure_core::store::Diagnostic;
    ///
    /// let diagnostic = Diagnostic::warning("clock", "40 s away from ours", "S2", "set both by NTP");
    /// assert_eq!(diagnostic.promise, Some("S2"));
    /// ```
    #[must_use]
    pub fn warning(
        what: impl Into<String>,
        found: impl Into<String>,
        promise: &'static str,
        help: impl Into<String>,
    ) -> Self {
        let (promise, help) = (Some(promise), Some(help.into()));
        Self { severity: Severity::Warning, promise, help, ..Self::good(what, found) }
    }

    /// Makes a finding that a promise does not hold, and what the user can do.
    #[must_use]
    pub fn bad(
        what: impl Into<String>,
        found: impl Into<String>,
        promise: &'static str,
        help: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Bad, ..Self::warning(what, found, promise, help) }
    }

    /// Makes a finding that a check failed with this fault, and what the user can do. It concerns no promise until you
    /// set one.
    #[must_use]
    pub fn failed(what: impl Into<String>, fault: &Fault) -> Self {
        let help = Some(fault.help().to_owned());
        Self { severity: Severity::Bad, help, ..Self::good(what, fault.message_and_cause()) }
    }

    /// Warns about unencrypted traffic to those of these hosts that are not certainly this machine. Returns `None` if
    /// there are none.
    ///
    /// ```
    /// use tenure_core::store::Diagnostic;
    ///
    /// assert_eq!(Diagnostic::in_clear(["localhost", "127.0.0.1", "::1", "/run/server"], "use TLS"), None);
    /// let diagnostic = Diagnostic::in_clear(["db.example"], "use TLS").unwrap();
    /// assert!(diagnostic.found.contains("db.example"));
    /// ```
    #[must_use]
    pub fn in_clear<'a>(
        hosts: impl IntoIterator<Item = &'a str>,
        help: impl Into<String>,
    ) -> Option<Self> {
        let others: Vec<_> = hosts.into_iter().filter(|host| !is_this_machine(host)).collect();
        if others.is_empty() {
            return None;
        }
        let found = format!(
            "nothing is encrypted on the way to {}: an attacker on the network can take the \
             locks, and read a password that is sent as it is",
            others.join(", ")
        );
        Some(Self::warning("encryption", found, "S1", help))
    }

    /// Sets the promise that the finding concerns.
    #[must_use]
    pub const fn touches(mut self, promise: &'static str) -> Self {
        self.promise = Some(promise);
        self
    }

    /// Assigns the finding to one part of a store that has several: `what` then begins with `part`.
    #[must_use]
    pub fn of(mut self, part: &str) -> Self {
        self.what = format!("{part}: {}", self.what);
        self
    }
}
