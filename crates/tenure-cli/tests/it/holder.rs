//! `tenure hold` as a program meets it: lines out, commands in.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Instant,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::{
    process::code,
    scene::{PATIENCE, Scene, json},
};

/// One that does not outlive its test.
pub(crate) struct Holder {
    child: Option<Child>,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
}

impl Holder {
    /// `tenure hold ARGS --json`.
    pub(crate) fn start(scene: &Scene, args: &str) -> Self {
        let words = ["hold", "--json"].into_iter().chain(args.split_whitespace());
        Self::spawn(&mut scene.tenure(words))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (lines, read) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if lines.send(json(line.as_bytes())).is_err() {
                    return;
                }
            }
        });
        Self { input: child.stdin.take(), child: Some(child), lines: read }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.as_ref().unwrap().id()).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).unwrap();
    }

    /// The next line; none when there are no more.
    pub(crate) fn next(&self) -> Option<Value> {
        self.lines.recv_timeout(PATIENCE).ok()
    }

    pub(crate) fn say(&mut self, command: &str) {
        writeln!(self.input.as_mut().unwrap(), "{command}").unwrap();
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// The next line about such an event; those before are passed over.
    pub(crate) fn hear(&self, event: &str) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("no {event}"));
            if line["event"] == event {
                return line;
            }
        }
    }

    /// The exit code; 1000 and the signal if one ended it.
    pub(crate) fn end(mut self) -> i32 {
        code(&self.child.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
