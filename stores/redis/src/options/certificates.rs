//! The setters for the certificates of connections to servers and to sentinels.

/// Adds them to `$options`, which keeps them in its field `certificates`.
macro_rules! certificate_setters {
    ($options:ty, $who:literal) => {
        impl $options {
            #[doc = concat!("Trusts ", $who, "s whose certificates these authorities have signed, in PEM, instead of the system's.")]
            #[must_use]
            pub fn root_certificates(mut self, roots: &[u8]) -> Self {
                self.certificates = self.certificates.trust(tenure_url::Pem::text(roots));
                self
            }

            /// Trusts the authorities in the file at `path`, in PEM. The file is read now.
            ///
            /// # Errors
            /// A fault that names the file.
            pub fn root_certificates_file(mut self, path: &str) -> Result<Self, tenure_core::Fault> {
                self.certificates = self.certificates.trust(tenure_url::Pem::file("root_certificates_file", path)?);
                Ok(self)
            }

            #[doc = concat!("Shows this certificate to a ", $who, " that asks for one, and proves it by its key, both in PEM. The key is in no text.")]
            #[must_use]
            pub fn client_certificate(mut self, certificate: &[u8], key: &[u8]) -> Self {
                let (certificate, key) = (tenure_url::Pem::text(certificate), tenure_url::Pem::text(key));
                self.certificates = self.certificates.identify(certificate, key);
                self
            }

            /// Uses the client certificate and the key in these files, in PEM. The files are read now.
            ///
            /// # Errors
            /// A fault that names the file.
            pub fn client_certificate_files(mut self, certificate: &str, key: &str) -> Result<Self, tenure_core::Fault> {
                let setting = "client_certificate_files";
                let certificate = tenure_url::Pem::file(setting, certificate)?;
                let key = tenure_url::Pem::key_file(setting, key)?;
                self.certificates = self.certificates.identify(certificate, key);
                Ok(self)
            }
        }
    };
}

pub(super) use certificate_setters;
