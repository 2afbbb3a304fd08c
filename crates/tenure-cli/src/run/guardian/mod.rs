//! The guardian: it ends the command before the lock can pass, whatever becomes of tenure.

mod alarm;
mod family;
pub(crate) mod group;
mod processes;
pub(crate) mod remains;
#[cfg(target_os = "linux")]
mod standby;
#[cfg(target_os = "linux")]
mod time_limit;
#[cfg(not(target_os = "linux"))]
#[path = "no_time_limit.rs"]
mod time_limit;
pub(crate) mod vigil;

use std::{
    ffi::OsString,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStringExt, net::UnixStream},
    },
    process::ExitCode,
    time::Duration,
};

use nix::{
    sys::signal::{SigSet, Signal},
    unistd::write,
};
use tenure::clock::{Clock, SystemClock, Timestamp};
use tokio::signal::unix::{self, SignalKind, signal};

use self::{
    alarm::Alarm,
    family::{ChildStatus, ProcessTree},
    time_limit::TimeLimit,
    vigil::{GuardianAction, GuardianState},
};
use super::{
    command::CommandSpec,
    descriptors,
    ending::{CommandEnd, ProcessExit},
    protocol::{GuardianOrder, GuardianReport, MessageChannel, as_line},
    signals,
};
use crate::{exit, system};

/// How often a family that is being ended is looked at: not every member's end is signalled here.
const LOOK: Duration = Duration::from_millis(10);

/// What tenure hands over before all else.
struct GuardianFiles {
    /// What the command reads.
    stdin: OwnedFd,
    /// What keeps the hold alive in the store's eyes, if anything does.
    liveness: Option<OwnedFd>,
}

pub(crate) fn main() -> ExitCode {
    match receive_guardian_files().inspect_err(report_not_started).and_then(play) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(exit::FAILED),
    }
}

/// Tells tenure that no command was started, and why. There may be no files for more than that.
fn report_not_started(error: &io::Error) {
    if let Ok(line) = as_line(&GuardianReport::NotStarted(format!("{error:#}"))) {
        let _ = write(io::stdin(), &line);
    }
}

fn receive_guardian_files() -> io::Result<GuardianFiles> {
    signals::blocked_signals().thread_block()?;
    // Whoever started tenure may have blocked that, too.
    SigSet::from(Signal::SIGCHLD).thread_unblock()?;
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_name(c"lock-standby")?;
    // What a guardian or the command leaves becomes this process's own.
    group::adopt_orphans()?;
    let mut files = descriptors::receive(io::stdin())?.into_iter();
    let stdin = files.next().ok_or(io::ErrorKind::InvalidData)?;
    Ok(GuardianFiles { stdin, liveness: files.next() })
}

#[cfg(target_os = "linux")]
use standby::stand_by as play;

#[cfg(not(target_os = "linux"))]
use be_guardian as play;

/// Does the guardian's work, from the first order on.
fn be_guardian(handed: GuardianFiles) -> io::Result<()> {
    let socket = io::stdin().as_fd().try_clone_to_owned().inspect_err(report_not_started)?;
    let runtime = system::runtime().inspect_err(report_not_started)?;
    runtime.block_on(guard(UnixStream::from(socket), handed))
}

#[allow(
    clippy::future_not_send,
    reason = "it runs on one thread, as the timer of the system wants it"
)]
async fn guard(socket: UnixStream, handed: GuardianFiles) -> io::Result<()> {
    // Kept open to the very end: the store counts this process's life as tenure's.
    let GuardianFiles { stdin, liveness } = handed;
    socket.set_nonblocking(true)?;
    let mut link = MessageChannel::new(tokio::net::UnixStream::from_std(socket)?);
    let Some(GuardianOrder::Start { command, foreground, failed, json, terms, deadline }) =
        link.hear().await
    else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mut vigil = GuardianState::new(terms, Timestamp::from_nanos(deadline));
    // This process may have stood still since the order was given.
    let signals = hear_waiting(&mut link, &mut vigil).await;
    if !vigil.may_start(SystemClock.now()) {
        return link.say(&GuardianReport::Ended(CommandEnd::before_it_began())).await;
    }
    let (mut children, mut alarm, mut limit) = match wake_sources(&vigil) {
        Ok(tools) => tools,
        Err(error) => return link.say(&GuardianReport::NotStarted(format!("{error:#}"))).await,
    };
    let command = command.into_iter().map(OsString::from_vec).collect();
    let mut family =
        match ProcessTree::start(CommandSpec { command, stdin, foreground, failed, json }) {
            Ok(family) => family,
            Err(error) => return link.say(&GuardianReport::NotStarted(format!("{error:#}"))).await,
        };
    link.say_now(&GuardianReport::Started(family.leader().as_raw())).ok();
    signals.iter().for_each(|signal| family.signal(signal));
    let how = loop {
        if let Some(how) = collect_status(&mut family, &mut vigil, &link) {
            break how;
        }
        let until = run_due_actions(&mut family, &mut vigil);
        limit.set(vigil.last_moment(SystemClock.now()))?;
        tokio::select! {
            biased;
            order = link.hear(), if !vigil.is_orphaned() => {
                apply_order(order, &mut vigil, |signal| family.signal(signal));
            }
            _ = children.recv() => {}
            () = tokio::time::sleep(LOOK), if vigil.is_killing() || vigil.how().is_some() => {}
            rung = alarm.wait_until(until) => rung?,
        }
    };
    let at = SystemClock.now().as_nanos();
    drop(liveness);
    link.say_now(&GuardianReport::Ended(CommandEnd { how, cause: vigil.cause(), at }))
}

/// What it hears of the command's end by, and what wakes and ends it itself.
fn wake_sources(vigil: &GuardianState) -> io::Result<(unix::Signal, Alarm, TimeLimit)> {
    let children = signal(SignalKind::child())?;
    let (alarm, mut limit) = (Alarm::new()?, TimeLimit::new()?);
    limit.set(vigil.last_moment(SystemClock.now()))?;
    Ok((children, alarm, limit))
}

/// Sees what became of the command; how it ended, when nothing of its family is left.
fn collect_status(
    family: &mut ProcessTree,
    vigil: &mut GuardianState,
    link: &MessageChannel<GuardianOrder>,
) -> Option<ProcessExit> {
    for change in family.collect() {
        match change {
            // tenure may be gone. It is told what it can be told.
            ChildStatus::Stopped(signal) => drop(link.say_now(&GuardianReport::Stopped(signal))),
            ChildStatus::Ended(how) => vigil.record_exit(SystemClock.now(), how),
        }
    }
    vigil.how().filter(|_| family.is_gone())
}

/// Does what is due, and says when there will be more to do.
fn run_due_actions(family: &mut ProcessTree, vigil: &mut GuardianState) -> Timestamp {
    if vigil.is_killing() {
        // Children of the killed have become children of this process.
        family.signal_all(Signal::SIGKILL);
    }
    loop {
        match vigil.next(SystemClock.now()) {
            GuardianAction::Terminate => family.signal_all(Signal::SIGTERM),
            GuardianAction::Kill => family.signal_all(Signal::SIGKILL),
            GuardianAction::Wait(until) => return until,
        }
    }
}

/// Hears what was said behind the order to start. The signals among it are for the command.
async fn hear_waiting(
    link: &mut MessageChannel<GuardianOrder>,
    vigil: &mut GuardianState,
) -> SigSet {
    let mut signals = SigSet::empty();
    while !vigil.is_orphaned() {
        tokio::select! {
            biased;
            order = link.hear() => apply_order(order, vigil, |signal| signals.add(signal)),
            // It comes back when the runtime has looked at the socket.
            () = tokio::task::yield_now() => break,
        }
    }
    signals
}

fn apply_order(
    order: Option<GuardianOrder>,
    vigil: &mut GuardianState,
    pass_on: impl FnOnce(Signal),
) {
    match order {
        Some(GuardianOrder::Renewed(deadline)) => vigil.renewed(Timestamp::from_nanos(deadline)),
        Some(GuardianOrder::Taken) => vigil.record_eviction(),
        Some(GuardianOrder::Signal(number)) => {
            if let Ok(signal) = Signal::try_from(number) {
                pass_on(signal);
            }
        }
        Some(GuardianOrder::Start { .. }) | None => vigil.record_orphaned(),
    }
}
