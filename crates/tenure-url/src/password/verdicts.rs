//! The servers' answers to the passwords of one source.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tenure_core::{Fault, FaultKind};

use crate::Secret;

/// How soon the same password is tried again: a server may lock out a user that tries it too often.
const PAUSE: Duration = Duration::from_secs(10);
/// How many users of servers are remembered.
const MOST: usize = 256;

/// The answers by user and server. This keeps no password, but a number that identifies it in this process.
#[derive(Default)]
pub(super) struct LoginHistory {
    by_login: Mutex<HashMap<String, LoginRecord>>,
    digests: RandomState,
}

#[derive(Default)]
struct LoginRecord {
    was_accepted: bool,
    refused: Option<(u64, Instant, Fault)>,
}

impl LoginHistory {
    /// Records that a server accepted the password for this login.
    pub(super) fn record_accepted(&self, login: &str) {
        self.with_record(login, |verdict| {
            *verdict = LoginRecord { was_accepted: true, refused: None }
        });
    }

    /// Returns what it means that a server refused this password with `fault`.
    pub(super) fn record_refused(&self, login: &str, secret: &Secret, fault: Fault) -> Fault {
        let digest = self.digests.hash_one(secret.expose());
        self.with_record(login, |verdict| {
            if !verdict.was_accepted {
                return fault;
            }
            let fault = fault.with_kind(FaultKind::Unreachable);
            verdict.refused = Some((digest, Instant::now(), fault.clone()));
            fault
        })
    }

    /// Refuses this password if the server refused it a moment ago.
    pub(super) fn check(&self, login: &str, secret: &Secret) -> Result<(), Fault> {
        let digest = self.digests.hash_one(secret.expose());
        match self.lock().get(login).and_then(|verdict| verdict.refused.as_ref()) {
            Some((refused, since, fault)) if *refused == digest && since.elapsed() < PAUSE => {
                Err(fault.clone())
            }
            _ => Ok(()),
        }
    }

    fn with_record<T>(&self, login: &str, change: impl FnOnce(&mut LoginRecord) -> T) -> T {
        let mut all = self.lock();
        if all.len() >= MOST && !all.contains_key(login) {
            all.clear();
        }
        change(all.entry(login.to_owned()).or_default())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, LoginRecord>> {
        self.by_login.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
