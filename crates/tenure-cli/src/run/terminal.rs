//! The terminal, and which process group has it.

use std::fs::File;

use nix::{
    sys::signal::{SigSet, Signal, killpg, raise},
    unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp},
};

/// The terminal that controls this process.
#[derive(Debug)]
pub(crate) struct Terminal(File);

impl Terminal {
    /// `None` for a process without one, as in cron.
    pub(crate) fn open() -> Option<Self> {
        File::options().read(true).write(true).open("/dev/tty").ok().map(Self)
    }

    /// Whether this process's group has it.
    pub(crate) fn is_ours(&self) -> bool {
        tcgetpgrp(&self.0) == Ok(getpgrp())
    }

    /// Gives it to `group`. If that fails the group finds out when it reads.
    pub(crate) fn set_foreground_group(&self, group: Pid) {
        // Whoever does not have the terminal is stopped for giving it away, unless it is deaf.
        let mut stop = SigSet::empty();
        stop.add(Signal::SIGTTOU);
        let Ok(before) = stop.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK) else {
            return;
        };
        let _ = tcsetpgrp(&self.0, group);
        let _ = before.thread_set_mask();
    }

    /// Takes it back from `group`, if that has it, and says whether it had.
    pub(crate) fn take_back_from(&self, group: Pid) -> bool {
        let has = tcgetpgrp(&self.0) == Ok(group);
        if has {
            self.set_foreground_group(getpgrp());
        }
        has
    }
}

/// Stops this process as Ctrl-Z would, so that the shell sees it. What was `typed` would have stopped
/// all of its group: the script around it, and the rest of a pipeline. Returns when it goes on; at
/// once where no shell could continue it.
pub(crate) fn stop_here(typed: bool) {
    let _ = if typed { killpg(getpgrp(), Signal::SIGTSTP) } else { raise(Signal::SIGTSTP) };
}
