//! The login to a server.

use std::time::Duration;

use tenure_core::{Fault, FaultKind};
use tenure_url::{Password, Secret};

/// A user, and its password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Password>,
}

impl Login {
    #[cfg(test)]
    pub(crate) fn new(user: Option<&str>, password: &str) -> Self {
        Self { user: user.map(str::to_owned), password: Some(password.into()) }
    }

    /// The user's name, as the server knows it.
    pub(crate) fn user(&self) -> &str {
        self.user.as_deref().unwrap_or("default")
    }

    /// The password for one login at `place`.
    pub(crate) async fn secret(
        &self,
        place: &str,
        connect_timeout: Duration,
    ) -> Result<Option<Secret>, Fault> {
        match &self.password {
            Some(password) => {
                password.read(&self.at(place), place, connect_timeout).await.map(Some)
            }
            None => Ok(None),
        }
    }

    /// A text that identifies this user at `place`.
    fn at(&self, place: &str) -> String {
        format!("{}@{place}", self.user())
    }

    /// Records that the server at `place` accepted the login.
    pub(crate) fn accepted(&self, place: &str) {
        if let Some(password) = &self.password {
            password.accepted(&self.at(place));
        }
    }

    /// The fault of a failed login. A password that is read at each login may be right at the next one.
    pub(crate) fn failed(
        &self,
        place: &str,
        secret: Option<&Secret>,
        is_refused: bool,
        fault: Fault,
    ) -> Fault {
        match self.password.as_ref().zip(secret) {
            Some((password, secret)) if is_refused => {
                password.refused(&self.at(place), secret, fault)
            }
            _ => fault,
        }
    }

    /// Refuses a user without a password, which no server accepts.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.user.is_none() || self.password.is_some() {
            return Ok(());
        }
        let help = "give the password, which is \"\" for a user that needs none";
        Err(Fault::new(FaultKind::Misconfigured, "a user is named without a password", help))
    }
}
