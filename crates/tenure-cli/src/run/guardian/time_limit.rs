//! A limit to how long this process may stand still: past it, the kernel kills it.

use std::{io, time::Duration};

use nix::{
    sys::{
        signal::{SigEvent, SigevNotify, Signal},
        timer::{Expiration, Timer, TimerSetTimeFlags},
    },
    time::ClockId,
};
use tenure::clock::Timestamp;

/// A stopped process does nothing at its deadline, but SIGKILL reaches it, and its standby sees its
/// end. The timer counts suspension, as leases do.
#[derive(Debug)]
pub(super) struct TimeLimit {
    timer: Timer,
    set: Timestamp,
}

impl TimeLimit {
    pub(super) fn new() -> io::Result<Self> {
        let kill = SigEvent::new(SigevNotify::SigevSignal { signal: Signal::SIGKILL, si_value: 0 });
        let timer = Timer::new(ClockId::CLOCK_BOOTTIME, kill)?;
        Ok(Self { timer, set: Timestamp::NEVER })
    }

    /// Moves it to `until`, far away if that is [`Timestamp::NEVER`].
    pub(super) fn set(&mut self, until: Timestamp) -> io::Result<()> {
        if until != self.set {
            // Zero would turn it off.
            let at = Duration::from_nanos(until.as_nanos().max(1));
            let flags = TimerSetTimeFlags::TFD_TIMER_ABSTIME;
            self.timer.set(Expiration::OneShot(at.into()), flags)?;
            self.set = until;
        }
        Ok(())
    }
}
