//! What `tenure doctor` is told: where the locks are, and which promise holds there.

use std::sync::Arc;

use tenure_core::store::Diagnostic;

use crate::{
    inner::{Inner, OpenTrace},
    machine::{Machine, lock_directory::LockDirectory},
};

/// The steps of opening a store and, if it could be opened, a look at it; else the step that failed
/// comes last.
pub(crate) fn examine(place: LockDirectory, machine: Arc<dyn Machine>) -> Vec<Diagnostic> {
    let mut journal = OpenTrace::default();
    let opened = Inner::open_traced(place, machine, &mut journal);
    let mut steps: Vec<_> =
        journal.done.into_iter().map(|(step, found)| Diagnostic::good(step, found)).collect();
    match opened {
        Ok(inner) => {
            let looks = inner.health();
            // What is looked at once more is told once.
            steps.retain(|step| looks.iter().all(|look| look.what != step.what));
            steps.extend(looks);
        }
        Err(fault) => {
            steps.push(Diagnostic::failed(journal.at, &fault));
        }
    }
    steps
}

impl Inner {
    /// LivenessChecks at the real files.
    pub(crate) fn health(&self) -> Vec<Diagnostic> {
        vec![
            self.place_found(),
            self.file_system_found(),
            self.sharing_found(),
            self.files_found(),
            self.tokens_found(),
            self.clock_found(),
            self.hints_found(),
            self.members_found(),
        ]
    }

    fn place_found(&self) -> Diagnostic {
        let found = format!("{}, {}", self.layout.root.path().display(), self.place.chosen);
        match self.members.check() {
            Ok(()) => Diagnostic::good("place", found),
            Err(fault) => Diagnostic::failed("place", &fault).touches("S1"),
        }
    }

    fn file_system_found(&self) -> Diagnostic {
        if self.file_system.is_a_layer() {
            let found = format!(
                "{}: local, its locks hold; in a container it is a layer of that container alone, \
                 and is lost with it",
                self.file_system
            );
            let help =
                "in a container, name a directory on a volume that all sharers of the locks mount";
            return Diagnostic::warning("file system", found, "S1", help);
        }
        if self.file_system.is_persistent() {
            return Diagnostic::good(
                "file system",
                format!("{}: local, its locks hold", self.file_system),
            );
        }
        Diagnostic::warning(
            "file system",
            format!(
                "{}: a reboot empties it, tokens then continue from the clock",
                self.file_system
            ),
            "S2",
            "keep the store on a disk if the clock may be set back across a reboot",
        )
    }

    fn sharing_found(&self) -> Diagnostic {
        let access = self.layout.access();
        if access.is_open_to_all() {
            return Diagnostic::warning(
                "sharing",
                "every user of the machine may read and change these locks",
                "S4",
                "give the directory to a group: chgrp GROUP and chmod 2770",
            );
        }
        if access.is_shared() {
            let found = format!("user {} and group {} meet here", access.uid(), access.gid());
            return Diagnostic::good("sharing", found);
        }
        let found = format!("only user {} meets here", access.uid());
        let mut alone = Diagnostic::good("sharing", found).touches("S1");
        let help = "for locks between users name one directory they share, as in file:/path";
        alone.help = Some(help.to_owned());
        alone
    }

    fn files_found(&self) -> Diagnostic {
        match self.survey() {
            Ok(survey) if survey.damaged.is_empty() => {
                let found = match survey.names.len() {
                    0 => "none yet".to_owned(),
                    1 => "of one name, in order".to_owned(),
                    many => format!("of {many} names, all in order"),
                };
                Diagnostic::good("files", found)
            }
            Ok(survey) => {
                let paths: Vec<_> =
                    survey.damaged.iter().map(|path| path.display().to_string()).collect();
                Diagnostic::bad(
                    "files",
                    format!("{} cannot be read", paths.join(", ")),
                    "S1",
                    "their names are refused until `tenure break NAME` repairs them",
                )
            }
            Err(fault) => Diagnostic::failed("files", &fault).touches("S1"),
        }
    }

    fn tokens_found(&self) -> Diagnostic {
        let wall = self.machine.clock().wall();
        match self.clock.highest() {
            Err(fault) => Diagnostic::failed("tokens", &fault).touches("S2"),
            Ok(highest) if highest > wall.saturating_add(3_600_000_000) => {
                let hours = (highest - wall) / 3_600_000_000;
                Diagnostic::warning(
                    "tokens",
                    format!("they have run {hours} h ahead of the clock, which was once set ahead"),
                    "S2",
                    "nothing: they keep rising. Check that the clock is right now",
                )
            }
            Ok(_) if !self.file_system.is_persistent() => Diagnostic::good(
                "tokens",
                "rise until the next reboot, and after it if the clock is not set back across that",
            ),
            Ok(_) => Diagnostic::good(
                "tokens",
                "rise, also after a loss of power: their bound is on the disk",
            ),
        }
    }

    fn clock_found(&self) -> Diagnostic {
        let boot = format!("{:032x}", u128::from_be_bytes(self.boot));
        let short = boot.get(..8).unwrap_or_default();
        match self.decision_context(&|_| true) {
            Ok(_) => Diagnostic::good(
                "clock",
                format!("counts suspension; leases end with boot {short}"),
            ),
            Err(fault) => Diagnostic::failed("clock", &fault).touches("S3"),
        }
    }

    fn hints_found(&self) -> Diagnostic {
        match self.watch.unavailable_reason() {
            None => Diagnostic::good("hints", "a release wakes the next waiter at once"),
            Some(trouble) => Diagnostic::warning(
                "hints",
                format!("none ({trouble:#}): the first waiter asks every 50 ms, others later"),
                "S6",
                "check that sockets can be made in the store's directory",
            ),
        }
    }

    fn members_found(&self) -> Diagnostic {
        match self.members.sweep(usize::MAX, self.machine.clock().now()) {
            Ok(living) => {
                let found =
                    format!("{living} live, including this one; killed processes are noticed");
                Diagnostic::good("members", found).touches("S5")
            }
            Err(error) => Diagnostic::warning(
                "members",
                format!("cannot be listed: {error:#}"),
                "S5",
                "check the permissions of the store's directory",
            ),
        }
    }
}
