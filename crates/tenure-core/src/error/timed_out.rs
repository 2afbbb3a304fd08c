//! How a wait ended without the lock.

use std::{borrow::Cow, fmt, time::Duration};

use tenure_proto::queue::Contender;

use super::LockAddress;
use crate::parts::ErrorParts;

/// How a wait for a lock ended without it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimedOut {
    /// Which lock, in which store.
    pub lock: LockAddress,
    /// How long the wait was.
    pub waited: Duration,
    /// Who held the lock at last, if that is known.
    pub holder: Option<Contender>,
    /// How many contenders were ahead then.
    pub ahead: u32,
    /// Whether the holder was a task of this process, and those ahead were, too.
    pub here: bool,
}

impl TimedOut {
    /// A wait that ended, of which no more is known.
    #[must_use]
    pub const fn new(lock: LockAddress, waited: Duration) -> Self {
        Self { lock, waited, holder: None, ahead: 0, here: false }
    }

    /// What you can do about it.
    #[must_use]
    pub fn help(&self) -> Option<Cow<'_, str>> {
        self.parts().into_help()
    }

    pub(super) fn parts(&self) -> ErrorParts<'_> {
        let is_own = self.here && self.holder.is_some();
        ErrorParts::at(&self.lock, TimedOutMessage(self)).help(if is_own {
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

/// A length of time as people read it: to the second from ten of them on, to a tenth below that, to the millisecond
/// below one.
fn rounded(length: Duration) -> Duration {
    let unit = match length.as_secs() {
        0 => 1,
        1..10 => 100,
        _ => 1_000,
    };
    let millis = (length.as_micros() + unit * 500) / (unit * 1_000) * unit;
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// How long the wait was, and who was in the way.
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
                write!(f, ", released by {:?}, but kept taken", holder.label)?;
                if let Some(left) = holder.left {
                    write!(f, " for another {:?}", rounded(left))?;
                }
            }
            Some(holder) if holder.label.is_empty() => {
                write!(f, ", held by a holder without a label")?;
            }
            Some(holder) => write!(f, ", held by {:?}", holder.label)?,
            None => {}
        }
        if *ahead > 0 {
            write!(f, ", {ahead} ahead")?;
        }
        Ok(())
    }
}
