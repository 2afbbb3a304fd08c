//! The setters that the options of every database have.

/// Adds to `$options`, which has a field `sql` with [`SqlOptions`](crate::SqlOptions), a setter for each thing that the
/// options of every database say.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($options:ty) => {
        $crate::login_setters!($options, sql);

        impl $options {
            /// Whether connections are encrypted, and what is verified: [`TlsMode::Disable`]($crate::TlsMode::Disable)
            /// unless said otherwise, and [`VerifyFull`]($crate::TlsMode::VerifyFull) where authorities or a certificate
            /// are given.
            ///
            /// A mode that contradicts these is refused when the store is made.
            #[must_use]
            pub fn tls_mode(mut self, mode: $crate::TlsMode) -> Self {
                self.sql.tls.mode = mode;
                self
            }

            /// Trusts servers whose certificates these authorities have signed, in PEM, instead of the system's.
            #[must_use]
            pub fn root_certificates(mut self, roots: &[u8]) -> Self {
                self.sql.trust($crate::Pem::text(roots));
                self
            }

            /// The same from a file, which is read now.
            ///
            /// # Errors
            /// A fault that names the file.
            pub fn root_certificates_file(mut self, path: &str) -> Result<Self, $crate::Fault> {
                self.sql.trust($crate::Pem::file("root_certificates_file", path)?);
                Ok(self)
            }

            /// Shows this certificate to a server that asks for one, and proves it by its key, both in PEM. The key is
            /// in no text.
            #[must_use]
            pub fn client_certificate(mut self, certificate: &[u8], key: &[u8]) -> Self {
                self.sql.identify($crate::Pem::text(certificate), $crate::Pem::text(key));
                self
            }

            /// The same from files, which are read now.
            ///
            /// # Errors
            /// A fault that names the file that cannot be read, or the key that others may read.
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

            /// How long connecting may take, with what gives the password, 10 ms to 1 min; 5 s unless said otherwise.
            ///
            /// # Errors
            /// A fault if it is out of range.
            pub fn connect_timeout(
                mut self,
                length: std::time::Duration,
            ) -> Result<Self, $crate::Fault> {
                self.sql.set_connect_timeout(length).map(|()| self)
            }

            /// How long an answer may take before its call counts as in doubt, 10 ms to 1 min; 5 s unless said otherwise.
            ///
            /// # Errors
            /// A fault if it is out of range.
            pub fn response_timeout(
                mut self,
                length: std::time::Duration,
            ) -> Result<Self, $crate::Fault> {
                self.sql.set_response_timeout(length).map(|()| self)
            }

            /// How long a waiter has to claim what it is offered, 10 ms to 10 s; 500 ms unless said otherwise.
            ///
            /// # Errors
            /// A fault if it is out of range.
            pub fn claim_window(
                mut self,
                length: std::time::Duration,
            ) -> Result<Self, $crate::Fault> {
                self.sql.set_claim_window(length).map(|()| self)
            }

            /// How long a waiter's queue position is kept without being asked for again, 100 ms to 10 min, never shorter
            /// than the claim window; 10 s unless said otherwise.
            ///
            /// # Errors
            /// A fault if it is out of range.
            pub fn position_ttl(
                mut self,
                length: std::time::Duration,
            ) -> Result<Self, $crate::Fault> {
                self.sql.set_position_ttl(length).map(|()| self)
            }

            /// How many may wait for one name, 1 to 10,000; 1,000 unless said otherwise.
            ///
            /// # Errors
            /// A fault if it is out of range.
            pub fn max_waiters(mut self, most: usize) -> Result<Self, $crate::Fault> {
                self.sql.set_max_waiters(most).map(|()| self)
            }

            /// How many may hold one name together, 1 to 10,000; 1,000 unless said otherwise.
            ///
            /// # Errors
            /// A fault if it is out of range.
            pub fn max_holders(mut self, most: usize) -> Result<Self, $crate::Fault> {
                self.sql.set_max_holders(most).map(|()| self)
            }

            /// Over how many connections calls are spread while they are in each other's way, 1 to 64; 4 unless said
            /// otherwise.
            ///
            /// # Errors
            /// A fault if it is out of range.
            pub fn connections(mut self, most: usize) -> Result<Self, $crate::Fault> {
                self.sql.set_connections(most).map(|()| self)
            }
        }
    };
}
