//! How a wait ended without the lock.

use std::{borrow::Cow, fmt, time::Duration};

use tenure_proto::queue::Contender;

use super::LockAddress;
use crate::{parts::ErrorParts, plain::plain};

/// How a wait for a lock ended without it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimedOut {
    /// The lock and its store.
    pub lock: LockAddress,
    /// The length of the wait.
    pub waited: Duration,
    /// The last known holder of the lock, if any.
    pub holder: Option<Contender>,
    /// The number of contenders ahead at that time.
    pub ahead: u32,
    /// Whether the holder and the contenders ahead were tasks of this process.
    pub here: bool,
}

impl TimedOut {
    /// Makes the error for a wait with no further details.
    #[must_use]
    pub const fn new(lock: LockAddress, waited: Duration) -> Self {
        Self { lock, waited, holder: None, ahead: 0, here: false }
    }

    /// Returns what you can do about it.
    #[must_use]
    pub fn help(&self) -> Option<Cow<'_, str>> {
        self.parts().into_help()
    }

    pub(super) fn parts(&self) -> ErrorParts<'_> {
        let is_own = self.here && self.holder.is_some();
        ErrorParts::for_lock(&self.lock, TimedOutMessage(self)).help(if is_own {
            "see whether the waiter holds it itself, or wait longer"
        } else {
            "wait longer, or try again later"
        })
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts().write(f)
    }
}

/// A duration as people read it: rounded to seconds from ten seconds on, to tenths of a second below that, and to
/// milliseconds below one second.
fn rounded(length: Duration) -> Duration {
    let unit = match length.as_secs() {
        0 => 1,
        1..10 => 100,
        _ => 1_000,
    };
    let millis = (length.as_micros() + unit * 500) / (unit * 1_000) * unit;
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// The length of the wait, and the contenders that were ahead.
struct TimedOutMessage<'a>(&'a TimedOut);

impl fmt::Display for TimedOutMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimedOut { waited, holder, ahead, here, .. } = self.0;
        write!(f, "not free within {:?}", rounded(*waited))?;
        match holder {
            Some(holder) if *here => {
                write!(f, ", held by this process (label {:?})", holder.label)?;
            }
            Some(holder) if holder.lingering => {
                write!(f, ", released by {:?}, but stays taken", holder.label)?;
                if let Some(left) = holder.left {
                    write!(f, " for another {:?}", rounded(left))?;
                }
            }
            Some(holder) if holder.label.is_empty() => {
                write!(f, ", held by a holder without a label")?;
            }
            Some(holder) => {
                write!(f, ", held by {:?}", holder.label)?;
                if let Some(details) = holder.details() {
                    write!(f, " ({})", plain(&details))?;
                }
            }
            None => {}
        }
        if *ahead > 0 {
            write!(f, ", {ahead} ahead")?;
        }
        Ok(())
    }
}
