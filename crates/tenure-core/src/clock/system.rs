//! The machine's own clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use tenure_proto::Timestamp;

use super::{Clock, Sleep};
use crate::{in_background, within_runtime};

/// The longest single pause of a timer, because timers stand still while the machine is suspended.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The longest single wait on tenure's own thread, whose time is never paused.
const LONGEST_STAY: Duration = Duration::from_millis(20);

/// The machine's clock: `CLOCK_BOOTTIME` on Linux, the continuous clock on macOS.
///
/// A runtime whose time is paused does not affect it. For that, use [`TokioClock`](super::TokioClock).
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[cfg(any(target_os = "linux", target_os = "android"))]
const SUSPEND_AWARE: ClockId = ClockId::CLOCK_BOOTTIME;
// On macOS this clock continues while the machine sleeps.
#[cfg(target_vendor = "apple")]
const SUSPEND_AWARE: ClockId = ClockId::CLOCK_MONOTONIC;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // The call fails only for a clock that the system does not have. A clock at its maximum
        // makes every deadline pass, which is the safe side.
        clock_gettime(SUSPEND_AWARE).map_or(Timestamp::NEVER, |time| {
            let since = Duration::from(time);
            Timestamp::ZERO.saturating_add(since)
        })
    }

    fn wall(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    fn sleep_until(&self, until: Timestamp) -> Sleep {
        let clock = *self;
        Box::pin(within_runtime(async move {
            loop {
                let rest = until.since(clock.now());
                if rest.is_zero() {
                    return;
                }
                let began = clock.now();
                let pause = rest.min(LONGEST_PAUSE);
                tokio::time::sleep(pause).await;
                // A runtime whose time is paused sleeps in no time. A caller that asks again and
                // again would then keep a core busy.
                if clock.now().since(began) < pause / 2 {
                    in_real_time(rest).await;
                }
            }
        }))
    }
}

/// Returns after `rest`, or earlier if that much time has passed for the machine.
async fn in_real_time(rest: Duration) {
    let rest = rest.min(LONGEST_STAY);
    // A timer belongs to the runtime in which it is made.
    match in_background(async move { tokio::time::sleep(rest).await }) {
        Ok(slept) => drop(slept.await),
        // Without tenure's own thread nothing is acquired, so there is little to wait for.
        Err(_) => std::thread::sleep(rest),
    }
}
