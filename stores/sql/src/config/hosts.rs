//! Hosts that cannot be used.

use tenure_core::{Fault, FaultKind};

/// The help for a server that does not answer in time.
pub const SILENT: &str = "check that such a server listens there and that no firewall is in between, or raise connect_timeout in the URL";

/// The help for a server that cannot be reached.
pub const UNREACHABLE: &str = "start the server, or correct host and port in the URL";

/// Returns the help for a server that cannot be reached, by the operating system's message.
///
/// ```
/// let help = tenure_sql::help_unreachable("failed to lookup address information: …");
/// assert!(help.contains("DNS"));
/// ```
#[must_use]
pub fn help_unreachable(said: &str) -> &'static str {
    if said.contains("lookup address information") {
        "correct the host in the URL, or check that this machine's DNS knows it"
    } else if cfg!(unix) && said.contains("(os error 24)") {
        "raise the limit of open files (ulimit -n)"
    } else {
        UNREACHABLE
    }
}

/// Returns whether a server refuses this client's certificate, or requires one. The server may say so as late as in its
/// first answer.
///
/// ```
/// assert!(tenure_sql::refuses_certificate("received fatal alert: UnknownCA"));
/// assert!(!tenure_sql::refuses_certificate("received fatal alert: HandshakeFailure"));
/// ```
#[must_use]
pub fn refuses_certificate(said: &str) -> bool {
    let alerts = [
        "BadCertificate",
        "CertificateExpired",
        "CertificateRequired",
        "CertificateRevoked",
        "CertificateUnknown",
        "UnknownCA",
        "UnsupportedCertificate",
    ];
    let alert = said.split_once("fatal alert: ").map(|(_, behind)| behind);
    alert.is_some_and(|alert| alerts.iter().any(|one| alert.starts_with(one)))
}

/// Combines these faults into one; `None` if there is none.
///
/// ```
/// use tenure_core::{Fault, FaultKind};
///
/// let silent = Fault::new(FaultKind::Unreachable, "a is silent", "check that it runs");
/// let refuses = Fault::new(FaultKind::Misconfigured, "b refuses", "correct the password");
/// let both = tenure_sql::none_of(vec![silent, refuses]).unwrap();
/// assert_eq!(both.message(), "a is silent; b refuses");
/// assert_eq!(both.help(), "correct the password");
/// // The silent one may come back.
/// assert_eq!(both.kind(), FaultKind::Unreachable);
/// ```
#[must_use]
pub fn none_of(mut faults: Vec<Fault>) -> Option<Fault> {
    if faults.len() < 2 {
        return faults.pop();
    }
    let is_wrong = |fault: &&Fault| fault.kind() == FaultKind::Misconfigured;
    let wrong = faults.iter().find(is_wrong);
    let is_all_wrong = faults.iter().all(|fault| is_wrong(&fault));
    let kind = if is_all_wrong { FaultKind::Misconfigured } else { FaultKind::Unreachable };
    let help = wrong.or(faults.first())?.help().to_owned();
    let said: Vec<_> = faults.iter().map(Fault::message_and_cause).collect();
    Some(Fault::new(kind, said.join("; "), help))
}
