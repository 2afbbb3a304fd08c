//! Connections, encrypted or not.

use tenure_core::Fault;

use crate::{MysqlOptions, client::Encryption};

/// Whether connections are encrypted, and whom they trust then.
#[derive(Clone, Debug)]
pub(crate) struct Tls(Option<Encryption>);

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
        Ok(Self(None))
    }

    #[cfg(feature = "tls")]
    pub(crate) fn of(options: &MysqlOptions) -> Result<Self, Fault> {
        if !options.sql.tls {
            return Ok(Self(None));
        }
        let config = tenure_sql::encryption(options.sql.ca.as_deref())?;
        Ok(Self(Some(Encryption(config))))
    }

    /// Connections that begin so share what TLS keeps from one to the next.
    pub(crate) const fn encryption(&self) -> Option<&Encryption> {
        self.0.as_ref()
    }
}
