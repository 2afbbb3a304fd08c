//! Trouble that the demo makes on purpose, at the worst moment: between the decision and the write.

use std::{
    io::Write,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use nix::sys::signal::{Signal, raise};

/// Which of the sales of this instance are troubled.
#[derive(Debug, Default)]
pub(crate) struct Drill {
    /// This one is slow, for so long.
    pub(crate) slow: Option<(u64, Duration)>,
    /// At this one the whole process stops. Whoever started it kills it, or lets it go on.
    pub(crate) stop: Option<u64>,
    slowed: AtomicU64,
    stopped: AtomicU64,
}

impl Drill {
    pub(crate) fn new(slow: Option<(u64, Duration)>, stop: Option<u64>) -> Self {
        Self { slow, stop, ..Self::default() }
    }

    /// The work takes long: a slow payment, a remote call that hangs.
    pub(crate) async fn slow(&self) {
        let number = self.slowed.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some((at, length)) = self.slow
            && at == number
        {
            tokio::time::sleep(length).await;
        }
    }

    /// The process stands still: a collector of garbage, a machine that is moved. Nothing of it runs, and
    /// nothing in it can know.
    pub(crate) fn stop(&self) {
        let number = self.stopped.fetch_add(1, Ordering::Relaxed) + 1;
        if self.stop == Some(number) {
            let mut out = std::io::stdout().lock();
            // Nobody may read it any more; then nobody is troubled.
            let told = writeln!(out, "{STOPPING}").and_then(|()| out.flush());
            drop(out);
            if told.is_ok() {
                let _ = raise(Signal::SIGSTOP);
            }
        }
    }
}

/// What an instance says before it stops.
pub(crate) const STOPPING: &str = "stopping";
