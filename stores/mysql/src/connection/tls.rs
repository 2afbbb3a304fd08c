//! Connections, encrypted or not.

use tenure_core::Fault;

use crate::{MysqlOptions, client::Encryption};

/// Whether connections are encrypted, and whom they trust then.
#[derive(Clone, Debug)]
pub(crate) struct Tls(Option<Encryption>);

impl Tls {
    /// Warns of what is not protected on the way, once for each store that is opened.
    pub(crate) fn of(options: &MysqlOptions) -> Result<Self, Fault> {
        let tls = Self::silently(options)?;
        if options.sql.tls.is_wanted()
            && let Some(warning) = options.unprotected()
        {
            let (location, found) = (options.location(), warning.found);
            let help = warning.help.unwrap_or_default();
            tracing::warn!(store = "mysql", location, help, "{found}");
        }
        Ok(tls)
    }

    #[cfg(not(feature = "tls"))]
    fn silently(options: &MysqlOptions) -> Result<Self, Fault> {
        if options.sql.tls.is_wanted() {
            return Err(Fault::new(
                tenure_core::FaultKind::Unsupported,
                "this build has no TLS for MySQL",
                "turn on the feature `mysql-tls`",
            ));
        }
        Ok(Self(None))
    }

    #[cfg(feature = "tls")]
    fn silently(options: &MysqlOptions) -> Result<Self, Fault> {
        if !options.sql.tls.is_wanted() {
            return Ok(Self(None));
        }
        let config = tenure_sql::encryption(&options.sql.tls)?;
        Ok(Self(Some(Encryption(config))))
    }

    /// Connections that begin so share what TLS keeps from one to the next.
    pub(crate) const fn encryption(&self) -> Option<&Encryption> {
        self.0.as_ref()
    }
}
