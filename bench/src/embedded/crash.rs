//! From the death of a holder to the next grant.

use std::{path::Path, sync::mpsc, time::Duration};

use crate::{
    contestants::{open_tenure, runtime},
    failure::Failure,
    process::child::{Player, await_order, now, say},
    report::Figure,
};

/// What the next holder would wait for without noticing the death.
const TTL: Duration = Duration::from_secs(600);

pub(crate) fn measure(dir: &Path, rounds: usize) -> Result<Figure, Failure> {
    let mut figure = Figure::new(
        "kill -9 of a holder",
        "ms from the kill to the waiter's grant",
        "Embedded store, a ttl of ten minutes.",
    )
    .goal(Some("under 200 ms"));
    let mut values = Vec::new();
    for _ in 0..rounds.max(2) {
        values.push(death(dir)?);
    }
    figure.row("tenure, embedded", values);
    Ok(figure)
}

fn death(dir: &Path) -> Result<f64, Failure> {
    let mut holder = Player::start(&["hold"], dir)?;
    holder.hear()?;
    let runtime = runtime()?;
    let mutex = runtime.block_on(open_tenure(dir))?.mutex("deadly");
    let (waits, waiting) = mpsc::channel();
    let lock = mutex.lock().on_busy(move |_| waits.send(()).unwrap_or_default());
    let waiter = runtime.spawn(async move {
        let guard = lock.await?;
        let granted = now()?;
        guard.release().await?;
        Ok::<_, Failure>(granted)
    });
    waiting.recv()?;
    let killed = now()?;
    holder.kill()?;
    let granted = runtime.block_on(waiter)??;
    Ok(granted.saturating_sub(killed) as f64 / 1e6)
}

/// A child: holds the lock until it is killed.
pub(crate) fn hold(dir: &Path) -> Result<(), Failure> {
    let runtime = runtime()?;
    let _guard = runtime.block_on(async {
        Ok::<_, Failure>(open_tenure(dir).await?.mutex("deadly").ttl(TTL).lock().await?)
    })?;
    say("held")?;
    await_order().map(|_| ())
}
