//! Real servers for tests, each in a throw-away folder and stopped by its own handle.

mod certificates;
pub mod redis;

pub use certificates::Certificates;
pub use redis::RedisServer;
