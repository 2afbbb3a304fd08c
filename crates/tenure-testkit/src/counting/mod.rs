//! Processes that count under a lock, in a table of the lock's own database, while that crashes.
//!
//! Each increment reads the count and writes one more, in a transaction that checks a [fence](Ledger::claim) and
//! leaves a row of its own. So a lost increment shows in the count, one that was written twice meets its row, and one
//! that came late has a smaller token than the one before it.
//!
//! A store's tests implement [`Ledger`] over its driver. A child [counts](count), and the parent has [many of
//! them](run) do so and then [looks](assert_history) at what they left.

#![allow(clippy::panic, reason = "it is part of a test, which may fail")]

mod history;
mod hold;
mod processes;
mod tally;

use async_trait::async_trait;
use tenure_core::{AcquireError, Tenure, Token};

pub use history::{IncrementRow, assert_history};
pub use hold::{Hold, TTL, TransactionStep};
pub use processes::{Size, run};
pub use tally::Tally;

/// How long one increment may take to get the lock: with many others, and while the server is away.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(600);

/// The name of the lock.
pub const LOCK: &str = "count";

/// The tables beside the lock, over one session.
#[async_trait]
pub trait Ledger: Sized + Send {
    /// Opens a session, if the server answers.
    async fn open(url: &str) -> Option<Self>;

    /// Claims the fence, by itself. Whoever held the lock before writes nothing from now on.
    async fn claim(&mut self, token: Token) -> Result<(), Refusal>;

    /// Whether the row of this increment is there.
    async fn has(&mut self, id: u64) -> Result<bool, Refusal>;

    /// One transaction: reads the count, writes one more, leaves a row, and checks the fence. It calls
    /// [`Hold::reaches`] at each step, and commits by [`Hold::commits`].
    async fn add(&mut self, hold: &Hold<'_>) -> Result<(), Refusal>;
}

/// Why it is not known that something was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The fence refused a late holder: nothing was written.
    Stale,
    /// It failed before the commit was sent: nothing was written.
    Failed,
    /// The commit was sent, and nobody said what became of it.
    InDoubt,
}

/// In a child: adds to the count so often, whatever becomes of the server meanwhile. `url` is for the ledger.
///
/// # Panics
/// When an increment was written whose commit had failed, or the lock is not to be had.
pub async fn count<L: Ledger>(tenure: &Tenure, url: &str, process: u64, rounds: u64) -> Tally {
    let (mut tally, mut ledger) = (Tally::default(), None);
    for round in 0..rounds {
        let id = process * rounds + round;
        // Some freeze once, not all at the same step, and some do not hear what became of their commit.
        let mut freezes =
            TransactionStep::of_process(process).filter(|_| round == process % rounds);
        let mut hangs_up = id % 8 == 5;
        let mut in_doubt = false;
        loop {
            let lock = tenure.mutex(LOCK).lock().ttl(TTL).wait(PATIENCE);
            let guard = match lock.await {
                Ok(guard) => guard,
                // The server is away, or went away in the middle.
                Err(AcquireError::Unreachable { .. } | AcquireError::InDoubt { .. }) => continue,
                Err(error) => panic!("{error:#}"),
            };
            let hold = Hold::new(id, &guard, freezes, hangs_up);
            let done = count_once::<L>(url, &mut ledger, &hold, &mut in_doubt, &mut tally).await;
            if hold.has_frozen() {
                freezes = None;
                tally.frozen += 1;
            }
            // It may be gone from the server by now.
            let _ = guard.release().await;
            match done {
                Ok(()) => break,
                Err(Refusal::Stale) => tally.refused += 1,
                Err(Refusal::Failed) => tally.failed += 1,
                Err(Refusal::InDoubt) => (in_doubt, hangs_up) = (true, false),
            }
        }
    }
    tally
}

/// After the claim nothing of this increment can still be under way, so its row says what became of it.
async fn count_once<L: Ledger>(
    url: &str,
    kept: &mut Option<L>,
    hold: &Hold<'_>,
    in_doubt: &mut bool,
    tally: &mut Tally,
) -> Result<(), Refusal> {
    let session = match kept.take() {
        Some(session) => Some(session),
        None => L::open(url).await,
    };
    let mut ledger = session.ok_or(Refusal::Failed)?;
    ledger.claim(hold.token()).await?;
    let is_there = ledger.has(hold.id()).await?;
    if std::mem::take(in_doubt) {
        let outcome = if is_there { &mut tally.kept } else { &mut tally.void };
        *outcome += 1;
    } else {
        assert!(!is_there, "increment {} is there, and nobody was in doubt", hold.id());
    }
    if !is_there {
        ledger.add(hold).await?;
    }
    // One that failed is thrown away.
    *kept = Some(ledger);
    Ok(())
}
