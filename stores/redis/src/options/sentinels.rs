//! How the sentinels of a service are reached.

use std::error::Error;

use tenure_core::{Fault, FaultKind};
use tenure_url::{Certificates, Password, Pem, Secret};

use crate::login::Login;

/// The sentinels that know which server is the primary of a service.
///
/// One that answers is enough to find the others. Which server is the primary a majority of all of them has
/// to say.
///
/// ```
/// use tenure_redis::{RedisOptions, Sentinels};
///
/// let sentinels = Sentinels::new([("10.0.0.1", 26379), ("10.0.0.2", 26379)], "mymaster")?
///     .password("of the sentinels");
/// let options = RedisOptions::found_by(sentinels).user("tenure").password("of the servers");
/// assert_eq!(
///     options.location(),
///     "redis-sentinel://10.0.0.1:26379,10.0.0.2:26379/0?service=mymaster"
/// );
/// # Ok::<(), tenure_core::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sentinels {
    pub(crate) seeds: Vec<(String, u16)>,
    pub(crate) service: String,
    pub(crate) tls: bool,
    pub(crate) login: Login,
    pub(crate) certificates: Certificates,
}

impl Sentinels {
    /// Where sentinels listen unless told otherwise.
    pub const DEFAULT_PORT: u16 = 26379;
    /// How many of one service are asked at most.
    pub const MOST: usize = 32;

    /// Sentinels at these hosts and ports, and the name by which they know the servers. They are reached
    /// without TLS and without a password.
    ///
    /// # Errors
    /// A fault when there is none, when there are too many, or when the service has no name.
    pub fn new<H: Into<String>>(
        seeds: impl IntoIterator<Item = (H, u16)>,
        service: &str,
    ) -> Result<Self, Fault> {
        let seeds: Vec<_> = seeds.into_iter().map(|(host, port)| (host.into(), port)).collect();
        let wrong = |what: String, help| Err(Fault::new(FaultKind::Misconfigured, what, help));
        if seeds.is_empty() || seeds.len() > Self::MOST {
            let what = format!("{} sentinels are named", seeds.len());
            return wrong(what, "name some of those that there are, 1 to 32");
        }
        let strange = |c: char| c.is_control() || c.is_whitespace();
        if service.is_empty() || service.contains(strange) {
            let what = format!("the sentinels' service cannot be called {service:?}");
            let help = "say by which name they know the servers: service=mymaster; \
                        SENTINEL MASTERS lists them";
            return wrong(what, help);
        }
        Ok(Self {
            seeds,
            service: service.to_owned(),
            tls: false,
            login: Login::default(),
            certificates: Certificates::default(),
        })
    }
}

impl Sentinels {
    /// Logs in as this user.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.login.user = Some(user.into());
        self
    }

    /// Logs in by this password: text, or a [`Password`] that is read at each login.
    #[must_use]
    pub fn password(mut self, password: impl Into<Password>) -> Self {
        self.login.password = Some(password.into());
        self
    }

    /// Logs in by the password in the file at `path`, which is read at each login: [`Password::file`].
    ///
    /// # Errors
    /// A fault if the file gives no password now, or is open to others.
    pub fn password_file(self, path: impl Into<String>) -> Result<Self, Fault> {
        Ok(self.password(Password::file(path)?))
    }

    /// Logs in by the password that `read` gives, which is called at each login: [`Password::from_async`].
    #[must_use]
    pub fn password_from<F, R, P, E>(self, read: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<P, E>> + Send + 'static,
        P: Into<Secret>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.password(Password::from_async(read))
    }

    /// Whether sentinels are reached over TLS.
    #[must_use]
    pub fn tls(mut self, yes: bool) -> Self {
        self.tls = yes;
        self
    }

    /// Trusts sentinels whose certificates these authorities have signed, in PEM, instead of the system's.
    #[must_use]
    pub fn root_certificates(mut self, roots: &[u8]) -> Self {
        self.certificates = self.certificates.trust(Pem::text(roots));
        self
    }

    /// The same from a file, which is read now.
    ///
    /// # Errors
    /// A fault that names the file.
    pub fn root_certificates_file(mut self, path: &str) -> Result<Self, Fault> {
        self.certificates = self.certificates.trust(Pem::file("root_certificates_file", path)?);
        Ok(self)
    }

    /// Shows this certificate to a sentinel that asks for one, and proves it by its key, both in PEM. The key is in no text.
    #[must_use]
    pub fn client_certificate(mut self, certificate: &[u8], key: &[u8]) -> Self {
        let (certificate, key) = (Pem::text(certificate), Pem::text(key));
        self.certificates = self.certificates.identify(certificate, key);
        self
    }

    /// The same from files, which are read now.
    ///
    /// # Errors
    /// A fault that names the file.
    pub fn client_certificate_files(mut self, certificate: &str, key: &str) -> Result<Self, Fault> {
        let file = |path| Pem::file("client_certificate_files", path);
        self.certificates = self.certificates.identify(file(certificate)?, file(key)?);
        Ok(self)
    }
}
