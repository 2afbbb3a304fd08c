//! Clocks. Nothing else in tenure reads the time.

mod manual;
mod system;
mod tokio;

use std::{fmt, future::Future, pin::Pin};

pub use manual::ManualClock;
pub use system::SystemClock;
pub use tenure_proto::Timestamp;

pub use self::tokio::TokioClock;

/// A pause that ends at a time on a clock.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A clock that counts the time for which a machine is suspended, and a time of day.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the current time, on a clock that never goes back and counts suspensions.
    fn now(&self) -> Timestamp;

    /// Returns the time of day in microseconds since the Unix epoch. It can jump.
    fn wall(&self) -> u64;

    /// Returns at `until` or somewhat later, never earlier.
    fn sleep_until(&self, until: Timestamp) -> Sleep;
}
