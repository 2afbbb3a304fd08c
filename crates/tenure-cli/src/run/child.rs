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
use tenure::proto::Timestamp;

use super::{
    GUARDIAN, descriptors,
    guardian::{
        group::{Group, adopt_orphans},
        vigil::Terms,
    },
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
    /// Until when the lock is held.
    pub(crate) deadline: Timestamp,
}

/// A command under its guardian.
#[derive(Debug)]
pub(crate) struct Child {
    guardian: process::Child,
    link: Link<Report>,
    group: Option<Group>,
}

impl Child {
    /// Starts the guardian and tells it to start the command.
    pub(crate) async fn start(launch: Launch<'_>) -> io::Result<Self> {
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
        let deadline = launch.deadline.as_nanos();
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

    /// Waits for the guardian to go after its last report.
    pub(crate) fn dismiss(mut self) {
        let _ = self.guardian.wait();
    }
}
