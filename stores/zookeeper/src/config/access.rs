//! The login to the ensemble, the certificates that connections trust, and who may see what tenure creates.

use tenure_core::Fault;
use tenure_url::Pem;

use crate::config::options::{AclPolicy, LoginMethod, ZookeeperOptions};

tenure_url::login_setters!(ZookeeperOptions);

impl ZookeeperOptions {
    /// Sets whether to log in with SASL and DIGEST-MD5. Otherwise tenure uses ZooKeeper's own scheme `digest`.
    ///
    /// With SASL, tenure reads the password at each connection. With `digest`, the password is part of the user's
    /// identity. tenure then reads it when a session begins, and it stays the same for the whole session.
    #[must_use]
    pub const fn sasl(mut self, yes: bool) -> Self {
        self.method = if yes { LoginMethod::Sasl } else { LoginMethod::Digest };
        self
    }

    /// Sets whether only clients that log in as this user, or have its certificate, may see and change what tenure
    /// creates. Otherwise every client that reaches the ensemble may, as with Curator.
    #[must_use]
    pub fn creator_only(mut self, yes: bool) -> Self {
        self.access = if yes { AclPolicy::Creator } else { AclPolicy::World };
        self
    }

    /// Reaches the ensemble over TLS, and trusts servers whose certificates these authorities signed, in PEM.
    #[must_use]
    pub fn root_certificates(mut self, roots: &[u8]) -> Self {
        self.tls = Some(self.tls.unwrap_or_default().trust(Pem::text(roots)));
        self
    }

    /// Trusts the authorities in the file at `path`, in PEM. The file is read now.
    ///
    /// # Errors
    /// A fault that names the file.
    pub fn root_certificates_file(mut self, path: &str) -> Result<Self, Fault> {
        self.tls =
            Some(self.tls.unwrap_or_default().trust(Pem::file("root_certificates_file", path)?));
        Ok(self)
    }

    /// Reaches the ensemble over TLS, and shows this certificate to a server that asks for one. `key` proves it. Both
    /// are in PEM. No text ever shows the key.
    #[must_use]
    pub fn client_certificate(mut self, certificate: &[u8], key: &[u8]) -> Self {
        let (certificate, key) = (Pem::text(certificate), Pem::text(key));
        self.tls = Some(self.tls.unwrap_or_default().identify(certificate, key));
        self
    }

    /// Uses the client certificate and the key in these files, in PEM. The files are read now.
    ///
    /// # Errors
    /// A fault that names the file.
    pub fn client_certificate_files(mut self, certificate: &str, key: &str) -> Result<Self, Fault> {
        let setting = "client_certificate_files";
        let (certificate, key) = (Pem::file(setting, certificate)?, Pem::key_file(setting, key)?);
        self.tls = Some(self.tls.unwrap_or_default().identify(certificate, key));
        Ok(self)
    }
}
