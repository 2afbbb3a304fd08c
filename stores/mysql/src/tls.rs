//! Connections, encrypted or not.

use mysql_async::OptsBuilder;
use tenure_core::Fault;

use crate::MysqlOptions;

/// What the options of every connection begin with: whether it is encrypted, and whom it trusts then.
#[derive(Clone, Debug)]
pub(crate) struct Tls(OptsBuilder);

impl Tls {
    #[cfg(not(feature = "tls"))]
    pub(crate) fn of(options: &MysqlOptions) -> Result<Self, Fault> {
        if options.sql.tls {
            return Err(Fault::new(
                tenure_core::FaultKind::Unsupported,
                "this build has no TLS for MySQL",
                "turn on the feature `mysql-tls`",
            ));
        }
        Ok(Self(OptsBuilder::default()))
    }

    #[cfg(feature = "tls")]
    pub(crate) fn of(options: &MysqlOptions) -> Result<Self, Fault> {
        if !options.sql.tls {
            return Ok(Self(OptsBuilder::default()));
        }
        choose_provider();
        let trusted = trusting(tenure_sql::authorities(options.sql.ca.as_deref())?);
        // With these the driver connects over TLS or not at all, and checks the certificate and the host in it.
        Ok(Self(OptsBuilder::default().ssl_opts(Some(trusted))))
    }

    /// Connections that begin so share what TLS keeps from one to the next.
    pub(crate) fn begin(&self) -> OptsBuilder {
        self.0.clone()
    }
}

/// These authorities and no others: not those that the driver brings along.
#[cfg(feature = "tls")]
fn trusting(authorities: Vec<rustls::pki_types::CertificateDer<'static>>) -> mysql_async::SslOpts {
    let authorities = authorities.iter().map(|authority| authority.to_vec().into());
    mysql_async::SslOpts::default()
        .with_root_certs(authorities.collect())
        .with_disable_built_in_roots(true)
}

/// The driver takes the provider of the process, and panics where there is none and a build has two to choose from.
#[cfg(feature = "tls")]
fn choose_provider() {
    use rustls::crypto::{CryptoProvider, ring};

    if CryptoProvider::get_default().is_none() {
        // Whoever was faster has chosen.
        let _ = ring::default_provider().install_default();
    }
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use super::*;

    #[test]
    fn none_of_the_authorities_that_the_driver_brings_along_is_trusted() {
        let trusted = trusting(Vec::new());
        assert!(trusted.disable_built_in_roots());
        assert!(!trusted.accept_invalid_certs() && !trusted.skip_domain_validation());
    }
}
