//! Lines on their way to standard output, which nobody may read for a while.

use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tokio::sync::Notify;

use crate::{exit::Failure, explanation::Explanation};

/// With so many lines unread, those that can be done without are left out.
const MANY: usize = 1024;
/// With so many unread, the program is taken to read no more.
const MOST: usize = 64 * 1024;

/// Writes lines in a thread of its own: whoever adds one never waits for the reader.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<Lines>,
    /// There are lines to be written.
    more: Condvar,
    /// All are written, or nobody can read any more.
    settled: Notify,
    /// Nobody reads any more.
    unread: Notify,
}

#[derive(Debug, Default)]
struct Lines {
    waiting: VecDeque<String>,
    /// Whether some are being written.
    writing: bool,
    /// Whether nobody reads any more.
    is_unread: bool,
}

/// Whether a line may be left out if many are unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The program can do without it.
    Light,
    /// How a hold begins or ends.
    Heavy,
}

impl Outbox {
    /// Begins to write to standard output.
    pub(crate) fn start() -> Result<Self, Failure> {
        Self::to(io::stdout())
    }

    fn to(mut out: impl Write + Send + 'static) -> Result<Self, Failure> {
        let shared = Arc::new(Shared::default());
        let writer = shared.clone();
        let started = thread::Builder::new()
            .name("lines".to_owned())
            .spawn(move || writer.write_to(&mut out));
        match started {
            Ok(_) => Ok(Self { shared }),
            Err(error) => {
                let why = Explanation::from_io_error("tenure cannot start a thread", &error);
                Err(Failure::Failed(why))
            }
        }
    }

    /// Adds a line.
    pub(crate) fn push(&self, line: String, weight: Weight) {
        let mut lines = self.shared.lines();
        let unread = lines.waiting.len();
        if lines.is_unread || (weight == Weight::Light && unread >= MANY) {
            return;
        }
        if unread >= MOST {
            return self.shared.give_up(&mut lines);
        }
        lines.waiting.push_back(line);
        self.shared.more.notify_one();
    }

    /// Returns when nobody reads what is written: the reading end is closed, or far too much is unread.
    pub(crate) async fn unread(&self) {
        while !self.shared.lines().is_unread {
            self.shared.unread.notified().await;
        }
    }

    /// Waits until all lines are written, for this long at most.
    pub(crate) async fn flush(&self, within: Duration) {
        let settled = async {
            while self.shared.lines().is_busy() {
                self.shared.settled.notified().await;
            }
        };
        let _ = tokio::time::timeout(within, settled).await;
    }
}

impl Lines {
    fn is_busy(&self) -> bool {
        !self.is_unread && (self.writing || !self.waiting.is_empty())
    }
}

impl Shared {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_up(&self, lines: &mut Lines) {
        lines.is_unread = true;
        lines.waiting.clear();
        self.unread.notify_one();
        self.settled.notify_one();
    }

    fn write_to(&self, out: &mut impl Write) {
        loop {
            let mut lines = self.lines();
            lines.writing = false;
            if lines.waiting.is_empty() {
                self.settled.notify_one();
            }
            while lines.waiting.is_empty() {
                if lines.is_unread {
                    return;
                }
                lines = self.more.wait(lines).unwrap_or_else(PoisonError::into_inner);
            }
            let Some(line) = lines.waiting.pop_front() else { continue };
            lines.writing = true;
            drop(lines);
            let written = writeln!(out, "{line}").and_then(|()| out.flush());
            if written.is_err() {
                return self.give_up(&mut self.lines());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, Read, pipe},
        os::fd::OwnedFd,
    };

    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn piped() -> (Outbox, BufReader<io::PipeReader>) {
        let (reader, writer) = pipe().unwrap();
        (Outbox::to(writer).unwrap(), BufReader::new(reader))
    }

    #[tokio::test]
    async fn lines_are_written_in_order() {
        let (outbox, mut reader) = piped();
        outbox.push("one".to_owned(), Weight::Light);
        outbox.push("two".to_owned(), Weight::Heavy);
        outbox.flush(SOON).await;
        let mut read = String::new();
        reader.read_line(&mut read).unwrap();
        reader.read_line(&mut read).unwrap();
        assert_eq!(read, "one\ntwo\n");
    }

    #[tokio::test]
    async fn what_nobody_reads_keeps_nobody_waiting_and_is_bounded() {
        let (outbox, reader) = piped();
        let long = "x".repeat(1000);
        // More than the pipe has room for.
        for _ in 0..MANY * 2 {
            outbox.push(long.clone(), Weight::Light);
        }
        outbox.push("end".to_owned(), Weight::Heavy);
        let unread = outbox.shared.lines().waiting.len();
        assert!((MANY..=MANY + 1).contains(&unread), "{unread}");
        let reading = thread::spawn(move || {
            let mut lines = reader.lines().map(Result::unwrap);
            lines.find(|line| line == "end")
        });
        outbox.flush(SOON).await;
        drop(outbox);
        assert_eq!(reading.join().unwrap().as_deref(), Some("end"));
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_is_noticed() {
        let (outbox, reader) = piped();
        drop(reader);
        outbox.push("one".to_owned(), Weight::Heavy);
        tokio::time::timeout(SOON, outbox.unread()).await.unwrap();
        outbox.flush(SOON).await;
    }

    #[tokio::test]
    async fn a_reader_that_lets_far_too_much_wait_is_given_up() {
        let (outbox, reader) = piped();
        let long = "x".repeat(1000);
        for _ in 0..=MOST + 128 {
            outbox.push(long.clone(), Weight::Heavy);
        }
        tokio::time::timeout(SOON, outbox.unread()).await.unwrap();
        assert!(outbox.shared.lines().waiting.is_empty());
        // Lets the thread of the outbox end.
        let mut rest = Vec::new();
        let mut pipe = std::fs::File::from(OwnedFd::from(reader.into_inner())).take(1 << 17);
        pipe.read_to_end(&mut rest).ok();
    }
}
