//! The part of a process that takes turns with another one, and what it says to the one that started it.
//!
//! It hears a line for each round on its standard input, and says one JSON object a line on its standard
//! output. The end of its input ends it: nothing stays held when the other one is gone.

use std::{
    env::{self, ArgsOs},
    io::{self, Write},
    process::ExitCode,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tenure::{
    Mutex, Tenure,
    clock::{Clock, SystemClock},
};
use tokio::{runtime::Runtime, sync::mpsc, task, time::timeout};

use super::{BenchError, PATIENCE, lock};
use crate::{exit, run::signals};

/// The variable with the store's URL, which may have a password and so stands on no command line.
pub(super) const STORE: &str = "TENURE_STORE";
/// Longer than `PAUSE`, so that the other process waits when a hold ends.
const HOLD: Duration = Duration::from_millis(2);
/// Long enough that the other process, and not this one, gets the lock.
const PAUSE: Duration = Duration::from_millis(1);
/// How often the lock is held in a round at least, however short that is.
const LEAST: u32 = 8;
/// How long the end may take.
pub(super) const LEAVE: Duration = Duration::from_secs(2);

/// What it says.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum HandoffMessage {
    /// The store is open.
    Ready,
    /// When it was granted the lock and when it let go of it, in a round, in nanoseconds of the clock
    /// that all processes of this machine share.
    Held(Vec<(u64, u64)>),
    /// It cannot go on, for this reason.
    Failed(String),
}

/// Its words on the command line: the lock's name, how many rounds there are, and how many
/// milliseconds each takes.
pub(super) fn main(mut args: ArgsOs) -> ExitCode {
    let mut next = || args.next()?.into_string().ok();
    let mut words = || Some((next()?, next()?.parse().ok()?, next()?.parse().ok()?));
    let Some((name, rounds, millis)) = words() else { return ExitCode::from(exit::USAGE) };
    let play =
        |runtime: Runtime| runtime.block_on(play(&name, rounds, Duration::from_millis(millis)));
    match prepare().and_then(play) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = say(&HandoffMessage::Failed(format!("{error:#}")));
            ExitCode::from(exit::FAILED)
        }
    }
}

fn prepare() -> Result<Runtime, BenchError> {
    // Ctrl-C is for the one that started it, which ends it then.
    signals::blocked_signals().thread_block()?;
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_name(c"lock-bench")?;
    Ok(crate::system::runtime()?)
}

async fn play(name: &str, rounds: u32, length: Duration) -> Result<(), BenchError> {
    let mut orders = orders();
    let tenure = Tenure::open(&env::var(STORE).unwrap_or_default()).await?;
    let played = async {
        let lock = lock(&tenure, name);
        say(&HandoffMessage::Ready)?;
        for _ in 0..rounds {
            let Ok(Some(())) = timeout(PATIENCE, orders.recv()).await else { break };
            tokio::select! {
                held = turns(&lock, length) => say(&HandoffMessage::Held(held?))?,
                // Nothing is said before a round is over: that was the end.
                _ = orders.recv() => break,
            }
        }
        Ok(())
    }
    .await;
    let _ = tenure.shutdown(LEAVE).await;
    played
}

/// The lines of standard input, until that ends.
fn orders() -> mpsc::UnboundedReceiver<()> {
    let (hear, orders) = mpsc::unbounded_channel();
    // A thread of its own, as the read of one of the runtime's would keep the process from its end.
    std::thread::spawn(move || {
        for line in io::stdin().lines() {
            if line.is_err() || hear.send(()).is_err() {
                break;
            }
        }
    });
    orders
}

/// Takes the lock again and again, for `length`.
async fn turns(lock: &Mutex, length: Duration) -> Result<Vec<(u64, u64)>, BenchError> {
    let until = Instant::now() + length;
    let mut held = Vec::new();
    for turn in 0u32.. {
        if turn >= LEAST && Instant::now() >= until {
            break;
        }
        // Spread over a millisecond, so that a release meets a poll at any point of its pause.
        let spread = Duration::from_micros(u64::from(turn.wrapping_mul(37) % 100) * 10);
        let guard = lock.lock().await?;
        let granted = SystemClock.now();
        sleep(HOLD + spread).await?;
        let released = SystemClock.now();
        guard.release().await?;
        held.push((granted.as_nanos(), released.as_nanos()));
        sleep(PAUSE).await?;
    }
    Ok(held)
}

/// To the microsecond, where the runtime's timers know milliseconds.
async fn sleep(length: Duration) -> Result<(), BenchError> {
    Ok(task::spawn_blocking(move || std::thread::sleep(length)).await?)
}

fn say(word: &HandoffMessage) -> Result<(), BenchError> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    Ok(out.flush()?)
}
