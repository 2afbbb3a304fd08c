//! The stores, each with a server of its own where it has one.

use std::path::Path;

use clap::ValueEnum;
use tempfile::TempDir;

use super::{mysql, postgres, redis, zookeeper};
use crate::{failure::Failure, figures::Server as _};

/// A store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    Embedded,
    Redis,
    Zookeeper,
    Postgres,
    Mysql,
}

impl Store {
    pub(crate) const ALL: [Self; 5] =
        [Self::Embedded, Self::Redis, Self::Zookeeper, Self::Postgres, Self::Mysql];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Redis => "Redis",
            Self::Zookeeper => "ZooKeeper",
            Self::Postgres => "PostgreSQL",
            Self::Mysql => "MariaDB",
        }
    }
}

/// One that runs. It ends with this value.
pub(crate) enum Place {
    Embedded(TempDir),
    Redis(redis::Server),
    Zookeeper(zookeeper::Server),
    Postgres(postgres::Server),
    Mysql(mysql::Server),
}

impl Place {
    /// Starts one with its data below `dir`.
    pub(crate) fn start(store: Store, dir: &Path) -> Result<Self, Failure> {
        Ok(match store {
            Store::Embedded => Self::Embedded(tempfile::tempdir_in(dir)?),
            Store::Redis => Self::Redis(redis::Server::start(dir)?),
            Store::Zookeeper => Self::Zookeeper(zookeeper::Server::start(dir)?),
            Store::Postgres => Self::Postgres(postgres::Server::start(dir)?),
            Store::Mysql => Self::Mysql(mysql::Server::start(dir)?),
        })
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Embedded(folder) => format!("file:{}", folder.path().join("locks").display()),
            Self::Redis(server) => server.url(),
            Self::Zookeeper(server) => server.url(),
            Self::Postgres(server) => server.url(),
            Self::Mysql(server) => server.url(),
        }
    }

    /// Microseconds of CPU that its server has used, where there is one and the system tells.
    pub(crate) fn cpu(&self) -> f64 {
        match self {
            Self::Embedded(_) => f64::NAN,
            Self::Redis(server) => server.cpu(),
            Self::Zookeeper(server) => server.cpu(),
            Self::Postgres(server) => server.cpu(),
            Self::Mysql(server) => server.cpu(),
        }
    }
}
