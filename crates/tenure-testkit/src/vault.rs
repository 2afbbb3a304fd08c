//! A vault that hands out a password, and changes it.

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// How often one that hangs looks whether it does so still.
const LOOK: Duration = Duration::from_millis(5);

/// A vault that hands out a password. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Vault(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    password: Mutex<String>,
    hangs: AtomicBool,
    asked: AtomicU64,
}

impl Vault {
    /// One that hands out this password.
    #[must_use]
    pub fn with(password: &str) -> Self {
        let vault = Self::default();
        vault.set(password);
        vault
    }

    /// Hands out this password from now on.
    pub fn set(&self, password: &str) {
        password.clone_into(&mut self.0.password.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether it gives no answer from now on.
    pub fn hang(&self, yes: bool) {
        self.0.hangs.store(yes, Ordering::Relaxed);
    }

    /// How often it was asked.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// Asks for the password.
    ///
    /// # Errors
    /// None.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn ask(self) -> Result<String, Infallible> {
        self.0.asked.fetch_add(1, Ordering::Relaxed);
        while self.0.hangs.load(Ordering::Relaxed) {
            tokio::time::sleep(LOOK).await;
        }
        Ok(self.get())
    }

    /// Asks for the password, and blocks while it hangs.
    ///
    /// # Errors
    /// None.
    pub fn ask_blocking(&self) -> Result<String, Infallible> {
        self.0.asked.fetch_add(1, Ordering::Relaxed);
        while self.0.hangs.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
        Ok(self.get())
    }

    fn get(&self) -> String {
        self.0.password.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
