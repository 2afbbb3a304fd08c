//! The setters that the options of every database have.

/// Adds to `$options`, which has a field `sql` with [`SqlOptions`](crate::SqlOptions), a setter for each common option.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($options:ty) => {
        $crate::login_setters!($options, sql);

        impl $options {
            /// Sets whether connections are encrypted, and what is verified. Default:
            /// [`TlsMode::Disable`]($crate::TlsMode::Disable), or [`VerifyFull`]($crate::TlsMode::VerifyFull) if
            /// authorities or a certificate are given.
            ///
            /// A mode that contradicts these is refused when the store is made.
            #[must_use]
            pub fn tls_mode(mut self, mode: $crate::TlsMode) -> Self {
                self.sql.tls.mode = mode;
                self
            }

            /// Trusts servers whose certificates these authorities signed, in PEM, instead of the system's authorities.
            #[must_use]
            pub fn root_certificates(mut self, roots: &[u8]) -> Self {
                self.sql.trust($crate::Pem::text(roots));
                self
            }

            /// Trusts the authorities in the file at `path`, in PEM. The file is read now.
            ///
            /// # Errors
            /// A fault that names the file.
            pub fn root_certificates_file(mut self, path: &str) -> Result<Self, $crate::Fault> {
                self.sql.trust($crate::Pem::file("root_certificates_file", path)?);
                Ok(self)
            }

            /// Shows this certificate to a server that asks for one. `key` proves it. Both are in PEM. No text ever
            /// shows the key.
            #[must_use]
            pub fn client_certificate(mut self, certificate: &[u8], key: &[u8]) -> Self {
                self.sql.identify($crate::Pem::text(certificate), $crate::Pem::text(key));
                self
            }

            /// Uses the client certificate and the key in these files, in PEM. The files are read now.
            ///
            /// # Errors
            /// A fault that names the file that cannot be read, or the key that other users may read.
            pub fn client_certificate_files(
                mut self,
                certificate: &str,
                key: &str,
            ) -> Result<Self, $crate::Fault> {
                let setting = "client_certificate_files";
                let certificate = $crate::Pem::file(setting, certificate)?;
                self.sql.identify(certificate, $crate::Pem::key_file(setting, key)?);
                Ok(self)
            }

            /// Sets how long connecting may take, including the source of the password, 10 ms to 1 min. Default: 5 s.
            ///
            /// # Errors
            /// A fault if the value is out of range.
            pub fn connect_timeout(
                mut self,
                length: std::time::Duration,
            ) -> Result<Self, $crate::Fault> {
                self.sql.set_connect_timeout(length).map(|()| self)
            }

            /// Sets how long an answer may take before its call counts as in doubt, 10 ms to 1 min. Default: 5 s.
            ///
            /// # Errors
            /// A fault if the value is out of range.
            pub fn response_timeout(
                mut self,
                length: std::time::Duration,
            ) -> Result<Self, $crate::Fault> {
                self.sql.set_response_timeout(length).map(|()| self)
            }

            /// Sets how long a waiter has to claim the lock that it is offered, 10 ms to 10 s. Default: 500 ms.
            ///
            /// # Errors
            /// A fault if the value is out of range.
            pub fn claim_window(
                mut self,
                length: std::time::Duration,
            ) -> Result<Self, $crate::Fault> {
                self.sql.set_claim_window(length).map(|()| self)
            }

            /// Sets how long a queue position is kept unless its waiter asks again, 100 ms to 10 min. It is never
            /// shorter than the claim window. Default: 10 s.
            ///
            /// # Errors
            /// A fault if the value is out of range.
            pub fn position_ttl(
                mut self,
                length: std::time::Duration,
            ) -> Result<Self, $crate::Fault> {
                self.sql.set_position_ttl(length).map(|()| self)
            }

            /// Sets how many may wait for one name, 1 to 10,000. Default: 1,000.
            ///
            /// # Errors
            /// A fault if the value is out of range.
            pub fn max_waiters(mut self, most: usize) -> Result<Self, $crate::Fault> {
                self.sql.set_max_waiters(most).map(|()| self)
            }

            /// Sets how many may hold one name together, 1 to 10,000. Default: 1,000.
            ///
            /// # Errors
            /// A fault if the value is out of range.
            pub fn max_holders(mut self, most: usize) -> Result<Self, $crate::Fault> {
                self.sql.set_max_holders(most).map(|()| self)
            }

            /// Sets the most connections over which to spread calls while they delay each other, 1 to 64. Default: 4.
            ///
            /// # Errors
            /// A fault if the value is out of range.
            pub fn connections(mut self, most: usize) -> Result<Self, $crate::Fault> {
                self.sql.set_connections(most).map(|()| self)
            }
        }
    };
}
