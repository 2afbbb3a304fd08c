//! Signals that come for a hold.

use std::ops::RangeInclusive;

use nix::sys::signal::{SigSet, Signal};
use tokio::signal::unix::{self, SignalKind};

/// What else would end this process, or stop it and its renewals. Somebody may send it to all of a group.
const TERMINATING: [Signal; 9] = [
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGVTALRM,
    Signal::SIGPROF,
    Signal::SIGIO,
    Signal::SIGXCPU,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
];
#[cfg(target_os = "linux")]
const OF_LINUX: [Signal; 2] = [Signal::SIGPWR, Signal::SIGSTKFLT];
#[cfg(not(target_os = "linux"))]
const OF_LINUX: [Signal; 0] = [];
/// The real-time signals that a program may send.
#[cfg(target_os = "linux")]
const REAL_TIME: RangeInclusive<i32> = 34..=64;
#[cfg(not(target_os = "linux"))]
#[expect(clippy::reversed_empty_ranges, reason = "there are none")]
const REAL_TIME: RangeInclusive<i32> = 1..=0;

/// Lets no signal end or stop this process from now on that can be kept from that, but those that people end it by.
/// `stays` says whether it is to be stopped by no terminal either.
pub(crate) fn ignore_other_signals(stays: bool) {
    let stop = stays.then_some(Signal::SIGTSTP);
    for signal in TERMINATING.into_iter().chain(OF_LINUX).chain(stop) {
        // What was heard once does nothing any more.
        drop(unix::signal(SignalKind::from_raw(signal as i32)));
        let _ = SigSet::from(signal).thread_unblock();
    }
    for number in REAL_TIME {
        drop(unix::signal(SignalKind::from_raw(number)));
    }
}
