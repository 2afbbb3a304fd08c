//! How long to try for a file that another process keeps locked.

use std::{
    fs::{File, TryLockError},
    io,
    time::Duration,
};

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// Growing pauses between tries, until their sum is too long. A decision takes microseconds, so
/// who has to wait for long waits for a process that is stopped in the middle of one.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    left: Duration,
}

impl Backoff {
    pub(crate) const fn of(left: Duration) -> Self {
        Self { next: FIRST_PAUSE, left }
    }

    /// How long to pause now; `None` when it has been long enough.
    pub(crate) fn pause(&mut self) -> Option<Duration> {
        let pause = self.next;
        self.left = self.left.checked_sub(pause)?;
        self.next = (pause * 2).min(LONGEST_PAUSE);
        Some(pause)
    }
}

/// A kernel lock on a file, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct FileLock<'a>(&'a File);

impl<'a> FileLock<'a> {
    /// Takes the lock; `None` when another process has it.
    pub(crate) fn try_take(file: &'a File) -> io::Result<Option<Self>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {
                Ok(None)
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes the lock, and blocks the thread as long as `patience` lasts.
    pub(crate) fn take(file: &'a File, mut patience: Backoff) -> io::Result<Option<Self>> {
        loop {
            if let Some(locked) = Self::try_take(file)? {
                return Ok(Some(locked));
            }
            let Some(pause) = patience.pause() else { return Ok(None) };
            std::thread::sleep(pause);
        }
    }
}

impl Drop for FileLock<'_> {
    fn drop(&mut self) {
        // It fails for no file that is open, and closing the file would unlock it too.
        let _ = self.0.unlock();
    }
}
