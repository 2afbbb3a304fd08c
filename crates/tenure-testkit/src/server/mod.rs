//! Real servers for tests, each in a throw-away folder and stopped by its own handle.

mod behind;
mod certificates;
mod cluster;
mod kept;
mod logged;
mod mariadb;
mod mysqld;
mod partition;
mod pgbouncer;
mod port;
mod postgres;
mod preload;
pub mod redis;
mod sentinel;
mod zookeeper;
mod zookeeper_ensemble;
mod zookeeper_network;
mod zookeeper_node;
mod zookeeper_way;

pub use certificates::Certificates;
pub use cluster::RedisCluster;
pub use mariadb::MariadbServer;
pub use pgbouncer::PgBouncer;
pub use postgres::{FrozenPostgres, PostgresServer};
pub use redis::RedisServer;
pub use sentinel::SentinelService;
pub use zookeeper::ZookeeperServer;
pub use zookeeper_ensemble::ZookeeperEnsemble;
pub use zookeeper_node::Frozen;
