//! A command under its guardian, as tenure sees them.

use std::{
    ffi::OsString,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{self, Command},
    time::Duration,
};

use nix::unistd::Pid;
use tenure::{
    Lost,
    clock::{Clock, SystemClock},
};
use tokio::signal::unix::Signal;

use super::{
    GUARDIAN, descriptors,
    ending::TerminationPolicy,
    guardian::{
        group::{ProcessGroup, adopt_orphans},
        remains::{RemainingProcesses, reap_children},
    },
    held::AnyGuard,
    own_program,
    protocol::{GuardianOrder, GuardianReport, MessageChannel},
    signals::{ends_of_children, inherited::with_inherited_state},
};

/// What a command is started with.
#[derive(Debug)]
pub(crate) struct LaunchOptions<'a> {
    /// The lock's name, which also names the guardian in a list of processes.
    pub(crate) name: &'a str,
    /// The command and its arguments.
    pub(crate) command: Vec<OsString>,
    /// What is added to its environment.
    pub(crate) environment: Vec<(String, String)>,
    /// What is taken out of it.
    pub(crate) without: &'a [&'a str],
    /// Whether it gets the terminal.
    pub(crate) foreground: bool,
    /// The exit code where the system keeps its process from becoming the command.
    pub(crate) failed: u8,
    /// Whether why the command cannot be run is told as JSON.
    pub(crate) json: bool,
    /// What keeps the hold alive in the store's eyes.
    pub(crate) liveness: Option<OwnedFd>,
    /// When and how to end it.
    pub(crate) terms: TerminationPolicy,
    /// What it runs under.
    pub(crate) held: &'a AnyGuard,
}

/// Why a command was not started.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// The lock was lost before.
    Lost(Lost),
    /// The system let tenure down.
    System(io::Error),
}

impl<E: Into<io::Error>> From<E> for NotStarted {
    fn from(error: E) -> Self {
        Self::System(error.into())
    }
}

/// How long a guardian that has said its last word may take to go.
const PATIENCE: Duration = Duration::from_millis(100);

/// How often that which is being ended is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// A command under its guardian.
#[derive(Debug)]
pub(crate) struct GuardedCommand {
    /// The guardian, or the standby that it is forked from; nothing once it was seen to its end.
    outer: Option<process::Child>,
    link: MessageChannel<GuardianReport>,
    group: Option<ProcessGroup>,
    /// Whether nothing of the group is left: its number may be somebody else's by now.
    group_has_ended: bool,
    /// Tells of each end of a child.
    ends: Signal,
}

impl GuardedCommand {
    /// Starts the guardian and tells it to start the command, unless the lock is lost by then.
    pub(crate) async fn start(launch: LaunchOptions<'_>) -> Result<Self, NotStarted> {
        // If the guardian dies first, the command's group falls to this process.
        adopt_orphans()?;
        let ends = ends_of_children()?;
        let (ours, theirs) = UnixStream::pair()?;
        let mut outer = Command::new(own_program()?);
        launch.without.iter().for_each(|variable| {
            outer.env_remove(variable);
        });
        outer
            .arg0(GUARDIAN)
            .arg(launch.name)
            .envs(launch.environment)
            .stdin(OwnedFd::from(theirs))
            .process_group(0);
        let outer = with_inherited_state(|| outer.spawn())?;
        let stdin = io::stdin();
        let liveness = launch.liveness.as_ref().map(AsFd::as_fd);
        let handed: Vec<_> = [stdin.as_fd()].into_iter().chain(liveness).collect();
        descriptors::send(&ours, &handed)?;
        ours.set_nonblocking(true)?;
        let link = MessageChannel::new(tokio::net::UnixStream::from_std(ours)?);
        let mut child =
            Self { outer: Some(outer), link, group: None, group_has_ended: false, ends };
        // This process may have stood still since the grant, and another may hold the lock.
        let deadline = launch.held.deadline().as_nanos();
        if let Err(lost) = launch.held.check() {
            child.give_up();
            return Err(NotStarted::Lost(lost));
        }
        let LaunchOptions { command, foreground, failed, json, terms, .. } = launch;
        let order = GuardianOrder::start(command, foreground, (failed, json), terms, deadline);
        if let Err(error) = child.link.say(&order).await {
            // One that could not begin may have said why.
            return Err(match child.report().await {
                Some(GuardianReport::NotStarted(why)) => io::Error::other(why).into(),
                _ => error.into(),
            });
        }
        Ok(child)
    }

    /// What the guardian has to say; `None` when it is dead. Cancel-safe.
    pub(crate) async fn report(&mut self) -> Option<GuardianReport> {
        let report = self.link.hear().await?;
        if let GuardianReport::Started(leader) = report {
            self.group = Some(ProcessGroup::led_by(leader));
        }
        self.group_has_ended |= matches!(report, GuardianReport::Ended(_));
        Some(report)
    }

    /// Tells the guardian something.
    ///
    /// # Errors
    /// The guardian is dead, or has not listened for very long.
    pub(crate) fn tell(&self, order: &GuardianOrder) -> io::Result<()> {
        self.link.say_now(order)
    }

    /// The command's process group, once it runs.
    pub(crate) fn group(&self) -> Option<Pid> {
        self.group.map(ProcessGroup::leader)
    }

    /// Does the guardian's work in its place: ends the guardian and kills what it leaves, and
    /// returns when that is gone.
    ///
    /// A standby does the same, as this process may be stopped or killed half way. It gets as much
    /// `patience` to finish, none if it is stopped.
    pub(crate) async fn take_over(&mut self, patience: Duration) {
        let standby = self.take_standby();
        self.end_outer();
        let until = SystemClock.now().saturating_add(patience);
        let group = self.group.filter(|_| !self.group_has_ended);
        let mut remains = RemainingProcesses::with_group(group, standby);
        while !remains.kill_and_reap() {
            let alone = SystemClock.now() >= until || remains.helper_is_stopped();
            if alone && remains.abandon_helper() {
                continue;
            }
            tokio::time::sleep(LOOK).await;
        }
        // Where the system has no list of processes, it may have started the command without coming
        // to say so.
        while let Some(report) = self.report().await {
            if let GuardianReport::Started(leader) = report {
                remains = RemainingProcesses::with_group(Some(ProcessGroup::led_by(leader)), None);
            }
        }
        while !remains.kill_and_reap() {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The standby, where there is one, to be collected with the rest.
    fn take_standby(&mut self) -> Option<Pid> {
        let outer = if cfg!(target_os = "linux") { self.outer.take() } else { None };
        outer.and_then(|outer| i32::try_from(outer.id()).ok()).map(Pid::from_raw)
    }

    /// Waits for the guardian to go after its last report. One that stands still by now is not
    /// needed.
    pub(crate) async fn dismiss(mut self) {
        let gone = tokio::time::timeout(PATIENCE, async {
            while self.link.hear().await.is_some() {}
            // Killed before it has collected the guardian it would leave that to this process, which
            // is about to end, and then to whoever has its orphans. Not everybody collects them.
            while !self.try_collect_outer() {
                self.ends.recv().await;
            }
        });
        if gone.await.is_ok() {
            reap_children();
        } else {
            self.take_over(Duration::ZERO).await;
        }
    }

    fn try_collect_outer(&mut self) -> bool {
        let ended = self.outer.as_mut().is_none_or(|outer| !matches!(outer.try_wait(), Ok(None)));
        if ended {
            self.outer = None;
        }
        ended
    }

    /// Leaves a guardian that was given no order: it goes when it sees that.
    fn give_up(self) {
        let Self { outer, link, .. } = self;
        drop(link);
        kill_and_wait(outer);
    }

    fn end_outer(&mut self) {
        kill_and_wait(self.outer.take());
    }
}

fn kill_and_wait(process: Option<process::Child>) {
    if let Some(mut process) = process {
        let _ = process.kill();
        let _ = process.wait();
    }
}

#[cfg(test)]
mod tests {
    use tenure::Tenure;

    use super::*;

    fn launch(held: &AnyGuard) -> LaunchOptions<'_> {
        let terms = TerminationPolicy {
            grace: Duration::ZERO,
            margin: Duration::ZERO,
            kill_when_lost: true,
        };
        // Here the program that is started as a guardian is that of the tests: it finds none of
        // this name, and ends.
        let (name, command) = ("no such test", vec!["true".into()]);
        LaunchOptions {
            name,
            command,
            environment: Vec::new(),
            without: &[],
            foreground: false,
            failed: 125,
            json: false,
            liveness: None,
            terms,
            held,
        }
    }

    #[tokio::test]
    async fn nothing_is_started_under_a_lock_that_is_known_to_be_lost() {
        let tenure = Tenure::open("memory:").await.unwrap();
        let guard = tenure.mutex("a").ttl(Duration::from_secs(2)).lock().await.unwrap();
        tenure.store().evict(guard.name()).await.unwrap();
        guard.lost().await;
        let held = AnyGuard::One(guard);
        let refused = GuardedCommand::start(launch(&held)).await;
        assert!(matches!(refused, Err(NotStarted::Lost(_))), "{refused:?}");
    }
}
