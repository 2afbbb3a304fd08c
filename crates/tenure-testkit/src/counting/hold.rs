//! A hold that counts, and how it freezes in the middle.

use std::{
    process::{self, Command},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tenure_core::{Clock, Guard, SystemClock, Timestamp, Token};

use super::Refusal;

/// The ttl of the lock.
pub const TTL: Duration = Duration::from_secs(2);

/// For how long a process is stopped: until others had their turns, also where they look seldom.
const FROZEN: Duration = Duration::from_secs(6);

/// What a transaction does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStep {
    /// It has read, and writes.
    Write,
    /// It has written, and checks the fence.
    Check,
    /// It has checked, and commits.
    Commit,
}

impl TransactionStep {
    /// Where a process freezes, if it does.
    pub(super) fn of_process(process: u64) -> Option<Self> {
        let step = match process % 16 {
            1 => Self::Write,
            6 | 11 => Self::Check,
            15 => Self::Commit,
            _ => return None,
        };
        Some(step)
    }
}

/// A hold that counts once.
#[derive(Debug)]
pub struct Hold<'a> {
    id: u64,
    guard: &'a Guard,
    began: Timestamp,
    freezes: Option<TransactionStep>,
    hangs_up: bool,
    frozen: AtomicBool,
}

impl<'a> Hold<'a> {
    pub(super) fn new(
        id: u64,
        guard: &'a Guard,
        freezes: Option<TransactionStep>,
        hangs_up: bool,
    ) -> Self {
        let (began, frozen) = (SystemClock.now(), AtomicBool::new(false));
        Self { id, guard, began, freezes, hangs_up, frozen }
    }

    /// The number of the increment: no other has it.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The token of the lock.
    #[must_use]
    pub fn token(&self) -> Token {
        self.guard.token()
    }

    /// When it began, and when it last knew that it had the lock, in nanoseconds of a clock that all of this machine
    /// share.
    #[must_use]
    pub fn times(&self) -> [u64; 2] {
        let now = SystemClock.now();
        let ended = if self.guard.check().is_ok() { now } else { self.began };
        [self.began.as_nanos(), ended.as_nanos()]
    }

    /// Says what comes next. The process may be stopped here, for longer than its lease lasts.
    ///
    /// # Panics
    /// When it cannot be stopped.
    pub fn reaches(&self, step: TransactionStep) {
        if self.freezes != Some(step) || self.frozen.swap(true, Ordering::Relaxed) {
            return;
        }
        let (own, length) = (process::id().to_string(), FROZEN.as_secs().to_string());
        let stop = "kill -STOP $0; sleep $1; kill -CONT $0";
        let stopped = Command::new("sh").args(["-c", stop, &own, &length]).status();
        assert!(stopped.is_ok_and(|status| status.success()), "this process cannot be stopped");
    }

    /// Has the transaction commit. Its answer may be lost, as where a connection breaks in the middle of it.
    ///
    /// # Errors
    /// [`Refusal::InDoubt`] if nobody said that it was committed: the session is not to be used any more.
    pub async fn commits<E>(
        &self,
        commit: impl Future<Output = Result<(), E>> + Send,
    ) -> Result<(), Refusal> {
        self.reaches(TransactionStep::Commit);
        if self.hangs_up {
            // Once polled it is sent.
            let _ = tokio::time::timeout(Duration::ZERO, commit).await;
            return Err(Refusal::InDoubt);
        }
        commit.await.map_err(|_| Refusal::InDoubt)
    }

    pub(super) fn has_frozen(&self) -> bool {
        self.frozen.load(Ordering::Relaxed)
    }
}
