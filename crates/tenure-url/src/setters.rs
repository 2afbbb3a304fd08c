//! The login setters that the options of every store have.

/// Adds to `$options` the setters for a user and a password. `$options` keeps them in its fields `user` and `password`,
/// or in those of the named field.
#[doc(hidden)]
#[macro_export]
macro_rules! login_setters {
    ($options:ty $(, $login:ident)?) => {
        impl $options {
            /// Logs in as this user.
            #[must_use]
            pub fn user(mut self, user: impl Into<String>) -> Self {
                self$(.$login)?.user = Some(user.into());
                self
            }

            /// Logs in with this password: a text, or a [`Password`]($crate::Password) that is read at each login.
            #[must_use]
            pub fn password(mut self, password: impl Into<$crate::Password>) -> Self {
                self$(.$login)?.password = Some(password.into());
                self
            }

            /// Logs in with the password in the file at `path`, which is read at each login:
            /// [`Password::file`]($crate::Password::file).
            ///
            /// # Errors
            /// A fault if the file has no password now, or if other users may read or write it.
            pub fn password_file(self, path: impl Into<String>) -> Result<Self, $crate::Fault> {
                Ok(self.password($crate::Password::file(path)?))
            }

            /// Logs in with the password that `read` returns, which is called at each login:
            /// [`Password::from_async`]($crate::Password::from_async).
            #[must_use]
            pub fn password_from<F, R, P, E>(self, read: F) -> Self
            where
                F: Fn() -> R + Send + Sync + 'static,
                R: Future<Output = Result<P, E>> + Send + 'static,
                P: Into<$crate::Secret>,
                E: Into<Box<dyn std::error::Error + Send + Sync>>,
            {
                self.password($crate::Password::from_async(read))
            }
        }
    };
}
