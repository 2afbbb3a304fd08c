//! Locks held by real processes, in the embedded store.

#![cfg(all(unix, feature = "config", feature = "embedded"))]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

mod any_executor;
mod blocking;
mod blocking_forks;
mod blocking_kinds;
mod blocking_losses;
mod blocking_news;
#[cfg(feature = "zookeeper")]
mod blocking_requests;
mod child;
mod config;
mod counter;
#[cfg(feature = "cron")]
mod cron;
mod dead;
mod debug;
#[cfg(all(feature = "mysql", feature = "postgres", feature = "redis", feature = "zookeeper"))]
mod descriptors;
mod docs;
mod files;
mod front_page;
mod growth;
#[cfg(all(feature = "mysql", feature = "postgres", feature = "redis", feature = "zookeeper"))]
mod hanging;
mod messages;
mod mutated;
mod names;
mod oversight;
mod paused;
mod permits;
#[cfg(feature = "quorum")]
mod quorum;
mod readers;
mod readme;
mod scarce;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "zookeeper")]
mod sessions;
mod stores;
mod testing;
mod words;
