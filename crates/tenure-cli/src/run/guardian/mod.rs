//! The guardian: it ends the command before the lock can pass, whatever becomes of tenure.

pub(crate) mod group;
pub(crate) mod vigil;

use std::{
    ffi::OsString,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStringExt, net::UnixStream},
    },
    process::{self, ExitCode},
    time::Duration,
};

use nix::sys::signal::{SigSet, Signal};
use tenure::{Clock, SystemClock, proto::Timestamp};
use tokio::signal::unix::{SignalKind, signal};

use self::{
    group::{Change, Group},
    vigil::{Step, Vigil},
};
use super::{
    command, descriptors,
    protocol::{Ended, Link, Order, Report},
};
use crate::exit;

/// How often a group that is being ended is looked at: not every member's end is signalled here.
const LOOK: Duration = Duration::from_millis(10);

pub(crate) fn main() -> ExitCode {
    match prepare().and_then(|(runtime, socket)| runtime.block_on(guard(socket))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(exit::FAILED),
    }
}

/// The signals that people and terminals send to whole families of processes. A guardian blocks
/// them; the command unblocks them again. Ignored ones it could not tell from those that tenure's
/// caller ignores.
pub(crate) fn deaf_to() -> SigSet {
    let mut signals = SigSet::empty();
    for ending in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        signals.add(ending);
    }
    for stopping in [Signal::SIGTSTP, Signal::SIGTTIN, Signal::SIGTTOU] {
        signals.add(stopping);
    }
    signals
}

fn prepare() -> io::Result<(tokio::runtime::Runtime, UnixStream)> {
    deaf_to().thread_block()?;
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_name(c"lock-guardian")?;
    group::adopt_orphans()?;
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok((runtime, socket))
}

async fn guard(socket: UnixStream) -> io::Result<()> {
    // The second file, if there is one, is kept open to the very end: the store counts this
    // process's life as tenure's.
    let mut files = descriptors::receive(&socket)?.into_iter();
    let stdin = files.next().ok_or(io::ErrorKind::InvalidData)?;
    socket.set_nonblocking(true)?;
    let mut link = Link::new(tokio::net::UnixStream::from_std(socket)?);
    let Some(Order::Start { command, foreground, terms, deadline }) = link.hear().await else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mut children = signal(SignalKind::child())?;
    let group = match start(command, foreground, stdin) {
        Ok(group) => group,
        Err(error) => return link.say(&Report::NotStarted(error.to_string())).await,
    };
    link.say_now(&Report::Started(group.leader())).ok();
    let vigil = Vigil::new(terms, Timestamp::from_nanos(deadline));
    let ended = watch(group, vigil, &mut link, &mut children).await;
    drop(files);
    link.say_now(&Report::Ended(ended))
}

fn start(command: Vec<Vec<u8>>, foreground: bool, stdin: OwnedFd) -> io::Result<Group> {
    let command: Vec<_> = command.into_iter().map(OsString::from_vec).collect();
    Group::start(command::step(process::id(), foreground, &command)?, stdin)
}

/// Watches until nothing of the group is left.
async fn watch(
    group: Group,
    mut vigil: Vigil,
    link: &mut Link<Order>,
    children: &mut tokio::signal::unix::Signal,
) -> Ended {
    let clock = SystemClock;
    let mut how = None;
    let mut alone = false;
    loop {
        for change in group.collect() {
            match change {
                Change::Stopped(signal) => drop(link.say_now(&Report::Stopped(signal))),
                Change::Ended(end) => {
                    how = Some(end);
                    vigil.main_ended(clock.now());
                }
            }
        }
        if let Some(how) = how
            && group.is_gone()
        {
            return Ended { how, cause: vigil.cause(), at: clock.now().as_nanos() };
        }
        let until = match vigil.next(clock.now()) {
            Step::Terminate => {
                group.signal(Signal::SIGTERM);
                continue;
            }
            Step::Kill => {
                group.signal(Signal::SIGKILL);
                continue;
            }
            Step::Wait(until) => until,
        };
        tokio::select! {
            biased;
            order = link.hear(), if !alone => match order {
                Some(Order::Renewed(deadline)) => vigil.renewed(Timestamp::from_nanos(deadline)),
                Some(Order::Taken) => vigil.taken(),
                Some(Order::Signal(number)) => {
                    if let Ok(signal) = Signal::try_from(number) {
                        group.signal(signal);
                    }
                }
                Some(Order::Start { .. }) | None => {
                    alone = true;
                    vigil.orphaned();
                }
            },
            _ = children.recv() => {}
            () = tokio::time::sleep(LOOK), if how.is_some() => {}
            () = clock.sleep_until(until) => {}
        }
    }
}
