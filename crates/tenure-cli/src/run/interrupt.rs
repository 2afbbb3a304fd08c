//! What the keyboard sends to end a program, and dying of it.
//!
//! A shell stops its script for Ctrl-C only if it got the signal itself and, mostly, if what it ran
//! died of it too. A command that has the terminal gets the signal alone. So tenure sends on what
//! the command died of to all that would have got it, and dies of it like them.

use std::{
    env::ArgsOs,
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
};

use nix::{
    sys::signal::{Signal, killpg, raise},
    unistd::getpgrp,
};

use super::{INTERRUPTED, ending::ProcessExit, own_program, signals::Signals, terminal::Terminal};
use crate::exit;

/// Ctrl-C and Ctrl-\.
pub(crate) const KEYS: [Signal; 2] = [Signal::SIGINT, Signal::SIGQUIT];

/// A signal of the keyboard that tenure is to die of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FatalSignal {
    signal: Signal,
    /// Whether the rest of tenure's process group did not get it yet.
    send_on: bool,
}

impl FatalSignal {
    /// What ended the wait, if it was typed: then all of this group got it.
    pub(crate) fn from_typed_signal(signal: i32) -> Option<Self> {
        let signal = Signal::try_from(signal).ok()?;
        let typed = KEYS.contains(&signal) && Terminal::open()?.is_ours();
        typed.then_some(Self { signal, send_on: false })
    }

    /// What a command died of, if it had the terminal to its end. It got that alone, unless it was
    /// `sent` to tenure: then the command got it from there, and it is nobody else's.
    pub(crate) fn from_command_exit(
        how: ProcessExit,
        had_terminal: bool,
        sent: Option<Signal>,
    ) -> Option<Self> {
        let ProcessExit::Signal(number) = how else { return None };
        let signal = KEYS.into_iter().find(|key| *key as i32 == number && had_terminal)?;
        Some(Self { signal, send_on: sent != Some(signal) })
    }

    /// What came for tenure since the command ended, if it was typed.
    pub(crate) async fn from_pending_signals(signals: &mut Signals) -> Option<Self> {
        signals
            .pending()
            .await
            .into_iter()
            .find_map(|signal| Self::from_typed_signal(signal as i32))
    }

    /// The exit code by which a shell tells of it.
    pub(crate) fn code(self) -> u8 {
        exit::by_signal(self.signal as i32)
    }

    /// Dies of it, as a program does that never heard of signals. Returns where that is not possible.
    pub(crate) fn die(self) {
        // What a signal does is set back by the start of a program, and by nothing else without
        // unsafe code.
        let Ok(program) = own_program() else { return };
        let words = [(self.signal as i32).to_string(), self.send_on.to_string()];
        let _ = Command::new(program).arg0(INTERRUPTED).args(words).exec();
    }
}

/// Dies of a signal. Returns where the system does not let it: the first process of a container.
pub(crate) fn main(mut args: ArgsOs) -> ExitCode {
    let number = args.next().and_then(|number| number.to_str()?.parse().ok());
    let Some((number, signal)) = number.and_then(|it| Some((it, Signal::try_from(it).ok()?)))
    else {
        return ExitCode::from(exit::USAGE);
    };
    // SIGQUIT would leave a picture of what is known here, as the password of a store.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
    if args.next().is_some_and(|word| word == "true") {
        let _ = killpg(getpgrp(), signal);
    }
    let _ = raise(signal);
    ExitCode::from(exit::by_signal(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: ProcessExit = ProcessExit::Signal(Signal::SIGINT as i32);

    #[test]
    fn what_a_command_with_the_terminal_died_of_is_sent_on() {
        let after = |how, had_terminal| FatalSignal::from_command_exit(how, had_terminal, None);
        let sent_on = |signal| Some(FatalSignal { signal, send_on: true });
        assert_eq!(after(INT, true), sent_on(Signal::SIGINT));
        assert_eq!(
            after(ProcessExit::Signal(Signal::SIGQUIT as i32), true),
            sent_on(Signal::SIGQUIT)
        );
        assert_eq!(after(INT, false), None, "nobody typed that");
        assert_eq!(after(ProcessExit::Signal(Signal::SIGTERM as i32), true), None);
        assert_eq!(after(ProcessExit::Code(130), true), None, "it handled the signal itself");
    }

    #[test]
    fn what_was_sent_to_tenure_is_nobody_elses() {
        let after =
            |how, had_terminal, sent| FatalSignal::from_command_exit(how, had_terminal, Some(sent));
        let int = |send_on| Some(FatalSignal { signal: Signal::SIGINT, send_on });
        assert_eq!(after(INT, true, Signal::SIGINT), int(false));
        assert_eq!(after(INT, true, Signal::SIGQUIT), int(true), "it ignored what was sent");
        assert_eq!(after(INT, false, Signal::SIGINT), None);
        assert_eq!(after(ProcessExit::Code(0), true, Signal::SIGINT), None);
    }
}
