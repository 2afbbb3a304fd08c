//! Real servers for tests and figures, each in a throw-away folder, on free ports of this machine, and ended by its own
//! handle. They are started, killed, frozen, replicated and parted from each other; some [lie](lying).
//!
//! It needs nothing of tenure, so that whoever measures it or shows it can start servers, too.

mod certificates;
mod distance;
mod kept;
mod logged;
pub mod lying;
mod mysql;
mod port;
mod postgres;
mod preload;
pub mod redis;
mod zookeeper;

pub use certificates::Certificates;
pub use distance::Distance;
pub use mysql::MariadbServer;
pub use postgres::{FrozenPostgres, PgBouncer, PostgresServer};
pub use redis::{RedisCluster, RedisServer, SentinelService};
pub use zookeeper::{FrozenZookeeper, ZookeeperEnsemble, ZookeeperServer};
