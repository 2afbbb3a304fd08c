//! Commands as they come in on standard input.

use std::{
    io::{self, BufRead, Read},
    thread,
};

use nix::sys::signal::{SigSet, Signal};
use tokio::sync::mpsc;

use super::order::LONGEST;
use crate::{exit::Failure, explanation::Explanation};

/// How many are read before they are obeyed.
const AHEAD: usize = 64;

/// A line of the input; why it cannot be one.
pub(crate) type Line = Result<String, String>;

/// Reads standard input in a thread of its own. The channel ends with the input.
pub(crate) fn read() -> Result<mpsc::Receiver<Line>, Failure> {
    let (lines, read) = mpsc::channel(AHEAD);
    let started = thread::Builder::new().name("input".to_owned()).spawn(move || {
        // In the background of a terminal, reading it would stop this process and its renewals.
        let _ = SigSet::from(Signal::SIGTTIN).thread_block();
        forward(&mut io::stdin().lock(), |line| lines.blocking_send(line).is_ok());
    });
    match started {
        Ok(_) => Ok(read),
        Err(error) => {
            Err(Failure::Failed(Explanation::from_io_error("tenure cannot start a thread", &error)))
        }
    }
}

/// Gives each line to `send`, until it wants no more or there are none. Input that cannot be read has ended.
fn forward(input: &mut impl BufRead, mut send: impl FnMut(Line) -> bool) {
    let limit = u64::try_from(LONGEST).unwrap_or(u64::MAX);
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(limit).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        }
        let is_whole = line.last() == Some(&b'\n');
        let line = if is_whole || line.len() < LONGEST {
            String::from_utf8(line).map_err(|_| "the line is not UTF-8".to_owned())
        } else if skip_line(input).is_ok() {
            Err(format!("the line is longer than {LONGEST} bytes"))
        } else {
            return;
        };
        let is_blank = line.as_ref().is_ok_and(|line| line.trim().is_empty());
        if !is_blank && !send(line) {
            return;
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let (skipped, is_over) = match input.fill_buf() {
            Ok([]) => return Ok(()),
            Ok(buffer) => match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), false),
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        input.consume(skipped);
        if is_over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        forward(&mut &*input, |line| {
            lines.push(line);
            true
        });
        lines
    }

    #[test]
    fn lines_come_one_by_one_and_the_last_one_needs_no_end() {
        assert_eq!(
            lines(b"check\n\n \nrelease"),
            [Ok("check\n".to_owned()), Ok("release".to_owned())]
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
        assert_eq!(lines[2], Ok("check\n".to_owned()));
        assert_eq!(lines.len(), 3);
    }
}
