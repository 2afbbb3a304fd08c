//! Help for a refused server certificate.

/// Returns the help for a certificate that rustls refused with the error `said`. If only its validity period is wrong,
/// another authority does not help; in all other cases, the help is `otherwise`.
///
/// ```
/// use tenure_core::store::certificate_cure;
///
/// let help = certificate_cure("invalid peer certificate: certificate expired", "name its authority");
/// assert!(help.contains("renew"));
/// assert_eq!(certificate_cure("invalid peer certificate: UnknownIssuer", "name its authority"), "name its authority");
/// ```
#[must_use]
pub fn certificate_cure(said: &str, otherwise: &'static str) -> &'static str {
    if said.contains("certificate expired") {
        "renew the server's certificate; if it has not expired, correct the clock of this machine"
    } else if said.contains("certificate not valid yet") {
        "check when the server's certificate becomes valid, and that the clock of this machine is \
         right"
    } else if said.contains("not valid for name") {
        "name the host in the URL as its certificate does, or get it a certificate for this name"
    } else {
        otherwise
    }
}
