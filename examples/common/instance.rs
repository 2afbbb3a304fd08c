//! A service as its supervisor runs it, for the tests of the services.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::StatusCode;

/// One process of a service. It is killed at the latest when this is dropped.
pub(crate) struct Instance {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Instance {
    /// Starts the service, and waits until it listens.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address = first.strip_prefix("listening on ").unwrap().to_owned();
        // The rest is read, so that the service never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, String) {
        let response = reqwest::get(format!("{}{path}", self.address)).await.unwrap();
        (response.status(), response.text().await.unwrap())
    }

    pub(crate) fn terminate(&self) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
