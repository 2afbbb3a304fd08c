//! The signals that tenure gets for its command.

pub(crate) mod inherited;

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use nix::sys::signal::{SigSet, Signal};
use tokio::signal::unix::{self, SignalKind};

use crate::{exit::Failure, explanation::Explanation};

/// What ends a program that does not care about it, and is asked for by people.
pub(crate) const ENDING: [Signal; 4] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];
/// What of these says that the command is to end, and not to read its settings again.
pub(crate) const FINAL: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGQUIT];
/// What else a command may want to hear.
pub(crate) const TELLING: [Signal; 4] =
    [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGWINCH, Signal::SIGCONT];

/// Tells of ends of children, also where the caller ignores or blocks that. So does every program that is
/// started from now on: who ignores it has its children collected by the system, and does not see what they left.
pub(crate) fn ends_of_children() -> io::Result<unix::Signal> {
    SigSet::from(Signal::SIGCHLD).thread_unblock()?;
    unix::signal(SignalKind::child())
}

/// A stream of signals.
#[derive(Debug)]
pub(crate) struct Signals {
    streams: Vec<(Signal, unix::Signal)>,
    /// What this process was started to ignore.
    ignored: u64,
}

impl Signals {
    /// None yet. To be made before anything else here listens for a signal: what is heard is not ignored.
    pub(crate) fn new() -> Self {
        let signals = Self { streams: Vec::new(), ignored: ignored() };
        // A limit to the size of files is for those of the command: where what tenure says would exceed it, that is
        // not said. What is heard once does nothing any more.
        if !signals.ignores(Signal::SIGXFSZ)
            && unix::signal(SignalKind::from_raw(Signal::SIGXFSZ as i32)).is_ok()
        {
            let _ = SigSet::from(Signal::SIGXFSZ).thread_unblock();
        }
        signals
    }

    /// Whether this process was started to ignore it.
    const fn ignores(&self, signal: Signal) -> bool {
        self.ignored & (1 << (signal as i32 - 1)) != 0
    }

    /// Listens for `wanted` from now on, also where they were blocked. Those that this process was started to
    /// ignore, as under `nohup`, stay ignored, also by the command.
    pub(crate) fn listen(&mut self, wanted: &[Signal]) -> io::Result<()> {
        for &wanted in wanted {
            let listens = self.streams.iter().any(|(signal, _)| *signal == wanted);
            if !listens && !self.ignores(wanted) {
                let stream = unix::signal(SignalKind::from_raw(wanted as i32))?;
                self.streams.push((wanted, stream));
                SigSet::from(wanted).thread_unblock()?;
            }
        }
        Ok(())
    }

    /// The next one. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Signal {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    /// The next one that ends what waits for a lock. Cancel-safe.
    pub(crate) async fn next_ending(&mut self) -> Signal {
        loop {
            let signal = self.next().await;
            if ENDING.contains(&signal) {
                return signal;
            }
        }
    }

    /// What `work` gives, unless a signal that ends tenure comes first: then it waited for a lock.
    pub(crate) async fn unless_ended<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        self.unless_interrupted("interrupted while waiting for the lock", work).await
    }

    /// The same for work that people know by another name.
    pub(crate) async fn unless_interrupted<T>(
        &mut self,
        what: impl Into<Explanation>,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            done = work => done,
            signal = self.next_ending() => {
                Err(Failure::Interrupted { signal: signal as i32, why: what.into() })
            }
        }
    }

    /// Those that came by now.
    pub(crate) async fn pending(&mut self) -> Vec<Signal> {
        // The runtime looks for signals meanwhile.
        tokio::task::yield_now().await;
        std::future::poll_fn(|cx| {
            let mut pending = Vec::new();
            while let Poll::Ready(signal) = self.poll(cx) {
                pending.push(signal);
            }
            Poll::Ready(pending)
        })
        .await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Signal> {
        for (signal, stream) in &mut self.streams {
            if Pin::new(stream).poll_recv(cx) == Poll::Ready(Some(())) {
                return Poll::Ready(*signal);
            }
        }
        Poll::Pending
    }
}

/// The set of ignored signals, the first in the lowest bit; none where the system does not say.
fn ignored() -> u64 {
    // Bytes: this program may have any name, and the kernel cuts a long one within a character.
    let status = std::fs::read("/proc/self/status").unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}

/// The signals that people and terminals send to whole families of processes. A guardian blocks
/// them; the command unblocks them again. Ignored ones it could not tell from those that tenure's
/// caller ignores.
pub(crate) fn blocked_signals() -> SigSet {
    let mut signals = SigSet::empty();
    for ending in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        signals.add(ending);
    }
    for stopping in [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU] {
        signals.add(stopping);
    }
    signals
}
