//! What tenure inherits from its caller, and must not be kept by from its work. Its command gets what the caller had.

use std::{io, sync::OnceLock};

use nix::sys::{
    signal::{SigSet, Signal},
    stat::{Mode, umask},
};

use super::ENDING;

static INHERITED: OnceLock<InheritedState> = OnceLock::new();

#[derive(Debug)]
struct InheritedState {
    blocked: SigSet,
    umask: Mode,
}

/// Lets tenure be ended and stopped, and use what it creates, whatever its caller blocked or took away. To be called
/// before there is another thread.
pub(crate) fn reset_inherited_state() {
    let Ok(blocked) = SigSet::thread_get_mask() else { return };
    let heard: SigSet = ENDING.into_iter().chain([Signal::SIGTSTP]).collect();
    let _ = heard.thread_unblock();
    // Until it is heard, which does nothing: where what tenure says would exceed a limit to the size of files, that is
    // not said.
    let _ = SigSet::from(Signal::SIGXFSZ).thread_block();
    // Which it is can be seen by changing it alone.
    let inherited = umask(Mode::S_IRWXG | Mode::S_IRWXO);
    umask(inherited.difference(Mode::S_IRWXU));
    let _ = INHERITED.set(InheritedState { blocked, umask: inherited });
}

/// Does `work` as this process was started, for what it starts itself.
pub(crate) fn with_inherited_state<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let Some(inherited) = INHERITED.get() else { return work() };
    let own = SigSet::thread_get_mask()?;
    inherited.blocked.thread_set_mask()?;
    let own_umask = umask(inherited.umask);
    let done = work();
    umask(own_umask);
    own.thread_set_mask()?;
    done
}
