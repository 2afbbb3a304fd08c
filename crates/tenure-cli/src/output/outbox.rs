//! Lines on their way to standard output or standard error, which nobody may read for a while.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use tokio::sync::Notify;

use crate::{exit::Failure, explanation::Explanation};

/// With so many lines unread, those that can be done without are left out.
const MANY: usize = 1024;
/// With so many unread, or so many bytes, the program is taken to read no more.
const MOST: usize = 64 * 1024;
const MOST_BYTES: usize = 16 * 1024 * 1024;

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
    /// How many bytes that are.
    bytes: usize,
    /// Whether some are being written.
    writing: bool,
    /// Whether nobody reads any more.
    is_unread: bool,
}

/// Whether a line may be left out if many are unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// The program can do without it.
    Droppable,
    /// How a hold begins or ends.
    Required,
}

impl Outbox {
    /// Begins to write to standard output.
    pub(crate) fn start() -> Result<Self, Failure> {
        Self::start_on(io::stdout().as_fd(), "output")
    }

    /// Begins to write to standard error.
    pub(crate) fn start_log() -> Result<Self, Failure> {
        Self::start_on(io::stderr().as_fd(), "error")
    }

    fn start_on(out: BorrowedFd<'_>, what: &str) -> Result<Self, Failure> {
        let started = out.try_clone_to_owned().and_then(|out| Self::to(out.into()));
        started.map_err(|error| {
            let what = format!("tenure cannot write to standard {what} in the background");
            Failure::Failed(Explanation::from_io_error(&what, &error))
        })
    }

    fn to(mut out: File) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (writer, watcher, watched) = (shared.clone(), shared.clone(), out.try_clone()?);
        thread::Builder::new().name("lines".to_owned()).spawn(move || writer.write_to(&mut out))?;
        thread::Builder::new().name("reader".to_owned()).spawn(move || {
            if wait(watched.as_fd(), PollFlags::empty()) {
                watcher.give_up(&mut watcher.lines());
            }
        })?;
        Ok(Self { shared })
    }

    /// Adds a line.
    pub(crate) fn push(&self, line: String, priority: Priority) {
        let mut lines = self.shared.lines();
        let unread = lines.waiting.len();
        if lines.is_unread || (priority == Priority::Droppable && unread >= MANY) {
            return;
        }
        lines.bytes = lines.bytes.saturating_add(line.len());
        if unread >= MOST || lines.bytes > MOST_BYTES {
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
        lines.bytes = 0;
        self.more.notify_one();
        self.unread.notify_one();
        self.settled.notify_one();
    }

    fn write_to(&self, out: &mut File) {
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
            lines.bytes = lines.bytes.saturating_sub(line.len());
            drop(lines);
            if write_all(out, format!("{line}\n").as_bytes()).is_err() {
                return self.give_up(&mut self.lines());
            }
        }
    }
}

/// Writes all of it, also where the program made its end of the pipe return at once.
fn write_all(out: &mut File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match out.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                wait(out.as_fd(), PollFlags::OUT);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether one of these is so at this moment, or the other end is closed.
pub(crate) fn is_so(descriptor: BorrowedFd<'_>, wanted: PollFlags) -> bool {
    let mut polled = [PollFd::new(&descriptor, wanted)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// Returns when one of these is so, or the other end is closed. Says whether it came to that.
pub(crate) fn wait(descriptor: BorrowedFd<'_>, wanted: PollFlags) -> bool {
    let mut polled = [PollFd::new(&descriptor, wanted)];
    loop {
        match poll(&mut polled, None) {
            Ok(_) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, pipe},
        os::fd::OwnedFd,
    };

    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    fn piped() -> (Outbox, BufReader<io::PipeReader>) {
        let (reader, writer) = pipe().unwrap();
        (Outbox::to(OwnedFd::from(writer).into()).unwrap(), BufReader::new(reader))
    }

    #[tokio::test]
    async fn lines_are_written_in_order() {
        let (outbox, mut reader) = piped();
        outbox.push("one".to_owned(), Priority::Droppable);
        outbox.push("two".to_owned(), Priority::Required);
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
            outbox.push(long.clone(), Priority::Droppable);
        }
        outbox.push("end".to_owned(), Priority::Required);
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
    async fn a_reader_that_is_gone_is_noticed_though_nothing_is_written() {
        let (outbox, reader) = piped();
        drop(reader);
        tokio::time::timeout(SOON, outbox.unread()).await.unwrap();
        outbox.flush(SOON).await;
    }

    #[tokio::test]
    async fn a_reader_that_lets_far_too_much_wait_is_given_up() {
        for (length, count) in [(1, MOST), (64 * 1024, MOST_BYTES / 1024 / 64)] {
            let (outbox, _reader) = piped();
            let long = "x".repeat(length);
            // One may be on its way.
            for _ in 0..=count + 64 * 1024 / length {
                outbox.push(long.clone(), Priority::Required);
            }
            tokio::time::timeout(SOON, outbox.unread()).await.unwrap();
            assert!(outbox.shared.lines().waiting.is_empty());
        }
    }

    #[tokio::test]
    async fn all_is_written_also_to_a_pipe_that_returns_at_once() {
        let (reader, writer) = pipe().unwrap();
        rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
        let outbox = Outbox::to(OwnedFd::from(writer).into()).unwrap();
        let long = "x".repeat(100_000);
        let reading = thread::spawn(move || {
            let mut lines = BufReader::new(reader).lines().map(Result::unwrap);
            (lines.next().unwrap().len(), lines.next().unwrap().len())
        });
        outbox.push(long.clone(), Priority::Required);
        outbox.push(long, Priority::Required);
        outbox.flush(SOON).await;
        assert_eq!(reading.join().unwrap(), (100_000, 100_000));
    }
}
