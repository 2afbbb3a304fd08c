//! Waking up at a deadline, also when the machine was suspended before it.

use tenure::clock::Timestamp;

#[cfg(target_os = "linux")]
pub(super) use linux::Alarm;
#[cfg(not(target_os = "linux"))]
pub(super) use other::Alarm;

/// The timers of the runtime stand still while the machine is suspended. This one does not: a
/// guardian that wakes up with the machine is up before anybody can take the lock and start.
#[cfg(target_os = "linux")]
mod linux {
    use std::{io, os::fd::AsFd};

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tenure::clock::{Clock, SystemClock};
    use tokio::net::unix::pipe;

    use super::Timestamp;

    #[derive(Debug)]
    pub(in super::super) struct Alarm {
        /// Not a pipe, but it is read like one.
        timer: pipe::Receiver,
        set: Timestamp,
    }

    impl Alarm {
        pub(in super::super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
            let timer = timerfd_create(TimerfdClockId::Boottime, flags)?;
            let timer = pipe::Receiver::from_owned_fd_unchecked(timer)?;
            Ok(Self { timer, set: Timestamp::NEVER })
        }

        /// Returns at `until`, never if that is [`Timestamp::NEVER`]. Cancel-safe.
        pub(in super::super) async fn wait_until(&mut self, until: Timestamp) -> io::Result<()> {
            if until != self.set {
                set(&self.timer, until)?;
                self.set = until;
            }
            if until == Timestamp::NEVER {
                std::future::pending::<()>().await;
            }
            // What rang before it was set anew is cleared, and counts for nothing.
            while SystemClock.now() < until {
                self.timer.readable().await?;
                // That it would block is the answer of one that did not ring.
                let _ = self.timer.try_read(&mut [0; 16]);
            }
            Ok(())
        }
    }

    fn set(timer: impl AsFd, until: Timestamp) -> io::Result<()> {
        let nanos = until.as_nanos();
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        // A time too far to be told is told as the farthest; zero would turn the timer off.
        let at = Timespec {
            tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX),
            tv_nsec: rest.max(1).try_into().unwrap_or(1),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once)?;
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;

    use tenure::clock::{Clock, SystemClock};

    use super::Timestamp;

    #[derive(Debug)]
    pub(in super::super) struct Alarm;

    impl Alarm {
        pub(in super::super) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(in super::super) async fn wait_until(&mut self, until: Timestamp) -> io::Result<()> {
            SystemClock.sleep_until(until).await;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure::clock::{Clock, SystemClock};

    use super::Alarm;
    use tenure::clock::Timestamp;

    #[tokio::test]
    async fn it_rings_when_it_is_time_and_again_when_it_is_set_again() {
        let mut alarm = Alarm::new().unwrap();
        for _ in 0..3 {
            let until = SystemClock.now().saturating_add(Duration::from_millis(20));
            alarm.wait_until(until).await.unwrap();
            assert!(SystemClock.now() >= until);
        }
        alarm.wait_until(Timestamp::ZERO).await.unwrap();
    }

    #[tokio::test]
    async fn it_can_be_moved_before_it_rings() {
        let mut alarm = Alarm::new().unwrap();
        let soon = SystemClock.now().saturating_add(Duration::from_secs(3));
        let wait = Duration::from_millis(5);
        assert!(tokio::time::timeout(wait, alarm.wait_until(soon)).await.is_err());
        let later = SystemClock.now().saturating_add(Duration::from_millis(3100));
        alarm.wait_until(later).await.unwrap();
        assert!(SystemClock.now() >= later);
        assert!(tokio::time::timeout(wait, alarm.wait_until(Timestamp::NEVER)).await.is_err());
    }
}
