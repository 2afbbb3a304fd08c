//! The machine's own clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use tenure_proto::Timestamp;

use super::{Clock, Sleep};
use crate::{in_background, within_runtime};

/// No single pause of a timer is longer: timers stand still while the machine is suspended.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long tenure's own thread is asked to wait at a time, whose time is never paused.
const LONGEST_STAY: Duration = Duration::from_millis(20);

/// The machine's clock: `CLOCK_BOOTTIME` on Linux, the continuous clock on macOS.
///
/// A runtime whose time is paused does not move it: [`TokioClock`](super::TokioClock) follows that.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[cfg(any(target_os = "linux", target_os = "android"))]
const SUSPEND_AWARE: ClockId = ClockId::CLOCK_BOOTTIME;
// On macOS this clock goes on while the machine sleeps.
#[cfg(target_vendor = "apple")]
const SUSPEND_AWARE: ClockId = ClockId::CLOCK_MONOTONIC;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // The call fails only for a clock that the system does not have; a clock at its end makes
        // every deadline pass, which is the safe side.
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
                // A runtime whose time is paused sleeps in no time. Whoever asks again and again then
                // would keep a core busy.
                if clock.now().since(began) < pause / 2 {
                    in_real_time(rest).await;
                }
            }
        }))
    }
}

/// Returns after `rest`, or earlier, when as much time has passed for the machine.
async fn in_real_time(rest: Duration) {
    let rest = rest.min(LONGEST_STAY);
    // A timer is of the runtime in which it is made.
    match in_background(async move { tokio::time::sleep(rest).await }) {
        Ok(slept) => drop(slept.await),
        // Without tenure's own thread nothing is acquired, so there is little to wait for.
        Err(_) => std::thread::sleep(rest),
    }
}
