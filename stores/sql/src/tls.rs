//! Whom connections over TLS trust.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use tenure_core::{Fault, FaultKind, files};

/// More than all authorities of a system have.
const LONGEST: u64 = 8 * 1024 * 1024;

/// How connections are encrypted that trust the authorities in this file in PEM and no others, or those of the system. It
/// is ring that encrypts, whatever the process has chosen for others.
///
/// # Errors
/// As [`authorities`].
pub fn encryption(ca: Option<&str>) -> Result<Arc<ClientConfig>, Fault> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities(ca)?);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| {
            let what = format!("TLS cannot be used: {error:#}");
            Fault::new(FaultKind::Misconfigured, what, "leave tls=yes out of the URL")
        })?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// The authorities in this file in PEM and no others, or those of the system.
///
/// # Errors
/// A fault if the file cannot be read, or if there is none that can be trusted.
pub fn authorities(ca: Option<&str>) -> Result<Vec<CertificateDer<'static>>, Fault> {
    match ca {
        Some(file) => of_file(file),
        None => of_system(),
    }
}

fn of_file(file: &str) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let wrong = |error: String| {
        let what = format!("the authorities in {file} cannot be read: {error:#}");
        let help = "name a file with certificates in PEM: ca= in the URL";
        Fault::new(FaultKind::Misconfigured, what, help)
    };
    let pem =
        files::read(file.as_ref(), LONGEST).map_err(|error| wrong(format!("{error:#}")))?.bytes;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let found = found.map_err(|error| wrong(format!("{error:#}")))?;
    for authority in &found {
        // One that is no authority is named here, and not by whoever connects.
        let added = RootCertStore::empty().add(authority.clone());
        added.map_err(|error| wrong(format!("{error:#}")))?;
    }
    if found.is_empty() {
        return Err(wrong("there is none".to_owned()));
    }
    Ok(found)
}

fn of_system() -> Result<Vec<CertificateDer<'static>>, Fault> {
    let named = files::named_authorities();
    let mut found: Vec<_> = match &named {
        Some(named) => {
            let files = named.pem.iter().map(Vec::as_slice);
            files.flat_map(CertificateDer::pem_slice_iter).filter_map(Result::ok).collect()
        }
        None => rustls_native_certs::load_native_certs().certs,
    };
    // Systems have some that nobody can read.
    found.retain(|authority| RootCertStore::empty().add(authority.clone()).is_ok());
    if !found.is_empty() {
        return Ok(found);
    }
    let (what, help, why) = match named {
        Some(named) => (
            "SSL_CERT_FILE and SSL_CERT_DIR name no authority, so no certificate can be checked",
            "let them name certificates in PEM, unset them, or name a file: ca= in the URL",
            named.unread.join("; "),
        ),
        None => (
            "this system trusts no authority, so no certificate can be checked",
            "install its certificates (ca-certificates), or name a file: ca= in the URL",
            String::new(),
        ),
    };
    let fault = Fault::new(FaultKind::Misconfigured, what, help);
    Err(if why.is_empty() { fault } else { fault.because(why) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use std::fs;

    use rustls::{CertificateError, Error};
    use tenure_core::store::certificate_cure;

    use super::*;

    #[test]
    fn a_certificate_that_is_over_is_to_be_renewed() {
        use rustls::pki_types::UnixTime;
        let at = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let over = CertificateError::ExpiredContext { time: at(9), not_after: at(7) };
        let early = CertificateError::NotValidYetContext { time: at(7), not_before: at(9) };
        for (why, says) in
            [(over, "renew"), (early, "from when on"), (CertificateError::UnknownIssuer, "another")]
        {
            let said = Error::InvalidCertificate(why).to_string();
            assert!(certificate_cure(&said, "another").contains(says), "{said}");
        }
    }

    #[test]
    fn a_file_without_authorities_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let path = file.to_str().unwrap();
        let none = authorities(Some(path)).unwrap_err();
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (text, says) in [("", "there is none"), ("no PEM", "there is none"), (broken, "")] {
            fs::write(&file, text).unwrap();
            let fault = authorities(Some(path)).unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Misconfigured);
            assert!(fault.message().contains(path) && fault.message().contains(says), "{fault:#}");
        }
        assert!(none.message().contains(path), "{none}");
    }
}
