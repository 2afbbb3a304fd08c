//! Real servers for tests, each in a throw-away folder and stopped by its own handle.

mod behind;
mod certificates;
mod cluster;
mod partition;
mod preload;
pub mod redis;
mod sentinel;

pub use certificates::Certificates;
pub use cluster::RedisCluster;
pub use redis::RedisServer;
pub use sentinel::SentinelService;
