//! Who we are to the ensemble, whom connections trust, and who may see what tenure creates.

use tenure_core::Fault;
use tenure_url::Pem;

use crate::config::options::{AclPolicy, LoginMethod, ZookeeperOptions};

tenure_url::login_setters!(ZookeeperOptions);

impl ZookeeperOptions {
    /// Whether user and password are said by SASL with DIGEST-MD5; else by the scheme `digest` of ZooKeeper itself.
    ///
    /// By SASL the password is read at each connection. By `digest` it is a part of who the user is, so it is read when a
    /// session begins, and the same for as long as that lasts.
    #[must_use]
    pub const fn sasl(mut self, yes: bool) -> Self {
        self.method = if yes { LoginMethod::Sasl } else { LoginMethod::Digest };
        self
    }

    /// Lets those alone see and change what tenure creates who log in as this user, or have its certificate; else
    /// everybody may who reaches the ensemble, as Curator has it.
    #[must_use]
    pub fn creator_only(mut self, yes: bool) -> Self {
        self.access = if yes { AclPolicy::Creator } else { AclPolicy::World };
        self
    }

    /// Reaches the ensemble over TLS, and trusts servers whose certificates these authorities have signed, in PEM.
    #[must_use]
    pub fn root_certificates(mut self, roots: &[u8]) -> Self {
        self.tls = Some(self.tls.unwrap_or_default().trust(Pem::text(roots)));
        self
    }

    /// The same from a file, which is read now.
    ///
    /// # Errors
    /// A fault that names the file.
    pub fn root_certificates_file(mut self, path: &str) -> Result<Self, Fault> {
        self.tls =
            Some(self.tls.unwrap_or_default().trust(Pem::file("root_certificates_file", path)?));
        Ok(self)
    }

    /// Reaches the ensemble over TLS, shows this certificate to a server that asks for one, and proves it by its key, both
    /// in PEM. The key is in no text.
    #[must_use]
    pub fn client_certificate(mut self, certificate: &[u8], key: &[u8]) -> Self {
        let (certificate, key) = (Pem::text(certificate), Pem::text(key));
        self.tls = Some(self.tls.unwrap_or_default().identify(certificate, key));
        self
    }

    /// The same from files, which are read now.
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
