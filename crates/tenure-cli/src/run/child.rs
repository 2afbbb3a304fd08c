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

use nix::{sys::signal::Signal, unistd::Pid};
use tenure::Lost;

use super::{
    GUARDIAN, descriptors,
    guardian::{
        group::{Group, adopt_orphans},
        vigil::Terms,
    },
    held::Held,
    own_program,
    protocol::{Link, Order, Report},
};

/// What a command is started with.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    /// The lock's name, which also names the guardian in a list of processes.
    pub(crate) name: &'a str,
    /// The command and its arguments.
    pub(crate) command: Vec<OsString>,
    /// What is added to its environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Whether it gets the terminal.
    pub(crate) foreground: bool,
    /// What keeps the hold alive in the store's eyes.
    pub(crate) liveness: Option<OwnedFd>,
    /// When and how to end it.
    pub(crate) terms: Terms,
    /// What it runs under.
    pub(crate) held: &'a Held,
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

/// A command under its guardian.
#[derive(Debug)]
pub(crate) struct Child {
    guardian: process::Child,
    link: Link<Report>,
    group: Option<Group>,
}

impl Child {
    /// Starts the guardian and tells it to start the command, unless the lock is lost by then.
    pub(crate) async fn start(launch: Launch<'_>) -> Result<Self, NotStarted> {
        // If the guardian dies first, the command's group falls to this process.
        adopt_orphans()?;
        let (ours, theirs) = UnixStream::pair()?;
        let guardian = Command::new(own_program()?)
            .arg0(GUARDIAN)
            .arg(launch.name)
            .envs(launch.environment)
            .stdin(OwnedFd::from(theirs))
            .process_group(0)
            .spawn()?;
        let stdin = io::stdin();
        let mut files = vec![stdin.as_fd()];
        files.extend(launch.liveness.as_ref().map(AsFd::as_fd));
        descriptors::send(&ours, &files)?;
        ours.set_nonblocking(true)?;
        let link = Link::new(tokio::net::UnixStream::from_std(ours)?);
        let mut child = Self { guardian, link, group: None };
        // This process may have stood still since the grant, and another may hold the lock.
        let deadline = launch.held.deadline().as_nanos();
        if let Err(lost) = launch.held.check() {
            child.dismiss();
            return Err(NotStarted::Lost(lost));
        }
        let order = Order::start(launch.command, launch.foreground, launch.terms, deadline);
        child.link.say(&order).await?;
        Ok(child)
    }

    /// What the guardian has to say; `None` when it is dead. Cancel-safe.
    pub(crate) async fn report(&mut self) -> Option<Report> {
        let report = self.link.hear().await?;
        if let Report::Started(leader) = report {
            self.group = Some(Group::led_by(leader));
        }
        Some(report)
    }

    /// Tells the guardian something.
    ///
    /// # Errors
    /// The guardian is dead, or has not listened for very long.
    pub(crate) fn tell(&self, order: &Order) -> io::Result<()> {
        self.link.say_now(order)
    }

    /// The command's process group, once it runs.
    pub(crate) fn group(&self) -> Option<Pid> {
        self.group.map(Group::leader)
    }

    /// Does the guardian's work in its place: ends the guardian and kills the group, and returns
    /// when it is gone.
    pub(crate) async fn take_over(&mut self) {
        // The guardian's end makes this process the one that collects the group.
        let _ = self.guardian.kill();
        let _ = self.guardian.wait();
        // It may have started the command without coming to say so.
        while let Some(report) = self.link.hear().await {
            if let Report::Started(leader) = report {
                self.group = Some(Group::led_by(leader));
            }
        }
        let Some(group) = self.group else { return };
        loop {
            group.signal(Signal::SIGKILL);
            group.bury();
            if group.is_gone() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits for the guardian to go after its last report, or before its first order.
    pub(crate) fn dismiss(self) {
        let Self { mut guardian, link, .. } = self;
        drop(link);
        let _ = guardian.wait();
    }
}

#[cfg(test)]
mod tests {
    use tenure::Tenure;

    use super::*;

    fn launch(held: &Held) -> Launch<'_> {
        let terms = Terms { grace: Duration::ZERO, margin: Duration::ZERO, kill_when_lost: true };
        // Here the program that is started as a guardian is that of the tests: it finds none of
        // this name, and ends.
        let (name, command) = ("no such test", vec!["true".into()]);
        let environment = Vec::new();
        Launch { name, command, environment, foreground: false, liveness: None, terms, held }
    }

    #[tokio::test]
    async fn nothing_is_started_under_a_lock_that_is_known_to_be_lost() {
        let tenure = Tenure::open("memory:").await.unwrap();
        let guard = tenure.mutex("a").ttl(Duration::from_secs(2)).lock().await.unwrap();
        tenure.store().evict(guard.name()).await.unwrap();
        guard.lost().await;
        let held = Held::One(guard);
        let refused = Child::start(launch(&held)).await;
        assert!(matches!(refused, Err(NotStarted::Lost(_))), "{refused:?}");
    }
}
