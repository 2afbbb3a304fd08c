//! Who we are to the servers, and whom connections trust.

use std::error::Error;

use tenure_core::Fault;
use tenure_url::{Password, Pem, Secret};

use super::Deployment;
use crate::RedisOptions;

impl RedisOptions {
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

    /// Whether servers are reached over TLS, their certificates checked: one server, those that sentinels name, or the
    /// nodes of a cluster. A unix socket never is.
    #[must_use]
    pub fn tls(mut self, yes: bool) -> Self {
        self.tls = yes;
        if let Deployment::One(address) = self.deployment {
            self.deployment = Deployment::One(address.with_tls(yes));
        }
        self
    }

    /// Trusts servers whose certificates these authorities have signed, in PEM, instead of the system's.
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

    /// Shows this certificate to a server that asks for one, and proves it by its key, both in PEM. The key is in no text.
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
