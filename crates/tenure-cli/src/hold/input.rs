//! Commands as they come in on standard input.

use std::{
    io::{self, BufRead},
    os::fd::AsFd,
    thread,
};

use nix::sys::signal::{SigSet, Signal};
use rustix::event::PollFlags;
use tokio::sync::{mpsc, oneshot};

use super::command::LONGEST;
use crate::{
    exit::Failure,
    explanation::Explanation,
    output::outbox::{is_so, wait},
};

/// How many are read before they are obeyed.
const AHEAD: usize = 64;

/// A line of the input; why it cannot be one.
pub(crate) type Line = Result<String, String>;

/// Standard input, which a thread of its own reads.
#[derive(Debug)]
pub(crate) struct Input {
    lines: mpsc::Receiver<Line>,
    begins: Option<oneshot::Receiver<bool>>,
}

impl Input {
    /// The next line; none at its end. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        self.lines.recv().await
    }

    /// Whether it had ended already when it began, as `/dev/null`.
    pub(crate) async fn is_empty(&mut self) -> bool {
        match self.begins.take() {
            Some(begins) => begins.await.unwrap_or(true),
            None => false,
        }
    }
}

/// Begins to read.
pub(crate) fn read() -> Result<Input, Failure> {
    let (lines, read) = mpsc::channel(AHEAD);
    let (begun, begins) = oneshot::channel();
    let started = thread::Builder::new().name("input".to_owned()).spawn(move || {
        // In the background of a terminal, reading it would stop this process and its renewals.
        let _ = SigSet::from(Signal::SIGTTIN).thread_block();
        let stdin = io::stdin();
        let more = || {
            wait(stdin.as_fd(), PollFlags::IN);
        };
        let mut input = stdin.lock();
        let is_ready = is_so(stdin.as_fd(), PollFlags::IN);
        let _ = begun.send(is_ready && matches!(input.fill_buf(), Ok([])));
        forward(&mut input, more, |line| lines.blocking_send(line).is_ok());
    });
    match started {
        Ok(_) => Ok(Input { lines: read, begins: Some(begins) }),
        Err(error) => {
            Err(Failure::Failed(Explanation::from_io_error("tenure cannot start a thread", &error)))
        }
    }
}

/// Gives each line to `send`, until it wants no more or there are none. `wait` returns when there is more to read, where
/// the program made its end of the pipe return at once. Input that cannot be read has ended.
fn forward(input: &mut impl BufRead, wait: impl Fn(), mut send: impl FnMut(Line) -> bool) {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let is_over = match input.fill_buf() {
            Ok([]) => {
                give(&mut line, is_too_long, &mut send);
                return;
            }
            Ok(buffer) => {
                let end = buffer.iter().position(|byte| *byte == b'\n');
                let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
                is_too_long |= line.len() + part.len() > LONGEST;
                if !is_too_long {
                    line.extend_from_slice(part);
                }
                let read = part.len() + usize::from(end.is_some());
                input.consume(read);
                end.is_some()
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait();
                false
            }
            Err(error) => {
                send(Err(format!("standard input cannot be read, which ends the hold: {error}")));
                return;
            }
        };
        if is_over && !give(&mut line, std::mem::take(&mut is_too_long), &mut send) {
            return;
        }
    }
}

/// Gives a whole line to `send`, and says whether it wants more.
fn give(line: &mut Vec<u8>, is_too_long: bool, send: &mut impl FnMut(Line) -> bool) -> bool {
    let bytes = std::mem::take(line);
    if is_too_long {
        return send(Err(format!("the line is longer than {LONGEST} bytes")));
    }
    let line = String::from_utf8(bytes).map_err(|_| "the line is not UTF-8".to_owned());
    let is_blank = line.as_ref().is_ok_and(|line| line.trim().is_empty());
    is_blank || send(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        forward(
            &mut &*input,
            || {},
            |line| {
                lines.push(line);
                true
            },
        );
        lines
    }

    #[test]
    fn lines_come_one_by_one_and_the_last_one_needs_no_end() {
        assert_eq!(
            lines(b"check\n\n \nrelease"),
            [Ok("check".to_owned()), Ok("release".to_owned())]
        );
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn what_is_too_long_or_no_text_is_told_and_what_follows_is_read() {
        let mut input = vec![b'x'; LONGEST * 2];
        input.extend(b"\n\xff\ncheck\n");
        let lines = lines(&input);
        assert!(lines[0].as_ref().unwrap_err().contains("longer than"), "{lines:?}");
        assert!(lines[1].as_ref().unwrap_err().contains("UTF-8"), "{lines:?}");
        assert_eq!(lines[2], Ok("check".to_owned()));
        assert_eq!(lines.len(), 3);
    }
}
