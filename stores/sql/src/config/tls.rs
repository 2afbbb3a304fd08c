//! How connections are encrypted.

use std::sync::Arc;

use rustls::{ClientConfig, crypto::ring};
use tenure_core::{Fault, FaultKind};

use crate::{TlsMode, TlsOptions, config::any_server_name::AnyNameVerifier};

/// Returns the encryption of connections. It uses ring, whatever provider the process chose for other connections.
///
/// If the system's authorities are trusted, this reads files, which may take some time.
///
/// # Errors
/// A fault if there is no authority to trust, or if a named authority or the client certificate cannot be used.
pub fn encryption(options: &TlsOptions) -> Result<Arc<ClientConfig>, Fault> {
    let provider = Arc::new(ring::default_provider());
    let unusable = |error: rustls::Error| {
        let what = format!("TLS cannot be used: {error:#}");
        Fault::new(FaultKind::Misconfigured, what, "check the certificates that the URL names")
    };
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let certificates = &options.certificates;
    let config = if options.verified() == TlsMode::VerifyFull {
        config.with_root_certificates(certificates.roots()?)
    } else {
        let authorities = options.knows_server().then(|| certificates.roots()).transpose()?;
        let verifier = Arc::new(AnyNameVerifier { authorities, provider });
        config.dangerous().with_custom_certificate_verifier(verifier)
    };
    let config = match certificates.identity()? {
        Some((chain, key)) => config.with_client_auth_cert(chain, key).map_err(unusable)?,
        None => config.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use rustls::{CertificateError, Error};
    use tenure_core::store::certificate_cure;

    #[test]
    fn a_certificate_that_is_over_is_to_be_renewed() {
        use rustls::pki_types::UnixTime;
        let at = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let over = CertificateError::ExpiredContext { time: at(9), not_after: at(7) };
        let early = CertificateError::NotValidYetContext { time: at(7), not_before: at(9) };
        for (why, says) in [
            (over, "renew"),
            (early, "becomes valid"),
            (CertificateError::UnknownIssuer, "another"),
        ] {
            let said = Error::InvalidCertificate(why).to_string();
            assert!(certificate_cure(&said, "another").contains(says), "{said}");
        }
    }
}
