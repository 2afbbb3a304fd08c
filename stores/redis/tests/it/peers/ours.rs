//! tenure beside a library, by the kind of lock that the two share.

use std::{ops::Deref, time::Duration};

use tenure_core::{AcquireError, Guard, ReleaseError, Tenure, WriteGuard};
use tenure_servers::RedisServer;

use super::library::Library;
use crate::support::{PATIENCE, tenure};

/// A process of tenure that locks what the library locks.
#[derive(Debug, Clone)]
pub(super) struct Ours {
    pub(super) tenure: Tenure,
    is_write: bool,
}

/// A mutex or the right to write.
pub(super) enum Held {
    Mutex(Guard),
    Write(WriteGuard),
}

impl Ours {
    pub(super) fn beside(library: Library, server: &RedisServer) -> Self {
        Self::at(&format!("{}?{}", server.url(), library.settings()), library.is_write())
    }

    pub(super) fn at(url: &str, is_write: bool) -> Self {
        Self { tenure: tenure(url), is_write }
    }

    pub(super) async fn hold(&self, key: &str, ttl: Duration) -> Held {
        self.wait(key, ttl, PATIENCE).await.unwrap()
    }

    pub(super) async fn wait(
        &self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Held, AcquireError> {
        if self.is_write {
            self.tenure.rwlock(key).write().ttl(ttl).wait(wait).await.map(Held::Write)
        } else {
            self.tenure.mutex(key).lock().ttl(ttl).wait(wait).await.map(Held::Mutex)
        }
    }

    /// Whether it could have it now.
    pub(super) async fn is_free(&self, key: &str) -> bool {
        if self.is_write {
            self.tenure.rwlock(key).try_write().await.unwrap().is_some()
        } else {
            self.tenure.mutex(key).try_lock().await.unwrap().is_some()
        }
    }
}

impl Held {
    pub(super) async fn release(self) {
        self.try_release().await.unwrap();
    }

    pub(super) async fn try_release(self) -> Result<(), ReleaseError> {
        match self {
            Self::Mutex(guard) => guard.release().await,
            Self::Write(guard) => guard.release().await,
        }
    }
}

impl Deref for Held {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        match self {
            Self::Mutex(guard) => guard,
            Self::Write(guard) => guard,
        }
    }
}
