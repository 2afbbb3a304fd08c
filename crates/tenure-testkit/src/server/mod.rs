//! Real servers for tests, each in a throw-away folder and stopped by its own handle.

pub mod redis;

pub use redis::RedisServer;
