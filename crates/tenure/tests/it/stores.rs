//! The stores that a test with many contenders runs on, and for how long.

use std::{env, fs, path::Path, time::Duration};

use tempfile::{TempDir, tempdir};
use tenure::Tenure;
#[cfg(feature = "redis")]
use tenure_servers::RedisServer;

/// A store of its own for one test, and a directory for what the lock protects.
pub(crate) struct Place {
    dir: TempDir,
    #[cfg(feature = "redis")]
    _server: Option<RedisServer>,
}

impl Place {
    /// The embedded store.
    pub(crate) fn embedded() -> Self {
        let dir = tempdir().unwrap();
        let url = format!("file:{}", dir.path().join("locks").display());
        fs::write(dir.path().join("store"), url).unwrap();
        Self {
            dir,
            #[cfg(feature = "redis")]
            _server: None,
        }
    }

    /// A Redis server of its own.
    #[cfg(feature = "redis")]
    pub(crate) fn redis() -> Self {
        let (dir, server) = (tempdir().unwrap(), RedisServer::start());
        fs::write(dir.path().join("store"), server.url()).unwrap();
        Self { dir, _server: Some(server) }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) async fn open(&self) -> Tenure {
        open(self.dir()).await
    }
}

/// The store of the place in `dir`, also for its child processes.
pub(crate) async fn open(dir: &Path) -> Tenure {
    Tenure::open(fs::read_to_string(dir.join("store")).unwrap()).await.unwrap()
}

/// How long such a test goes on: `TENURE_SOAK_SECONDS`, or 2 s.
pub(crate) fn length() -> Duration {
    let wanted = env::var("TENURE_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(wanted.unwrap_or(2))
}
