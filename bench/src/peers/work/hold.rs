//! Many locks that one process holds and renews.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use serde::Deserialize;

use super::{Scene, Values};
use crate::{Failure, peers::server::Asked};

/// How long acquiring all of them may take.
const ACQUIRING: Duration = Duration::from_secs(180);

#[derive(Deserialize)]
struct Told {
    held: f64,
}

pub(super) fn measure(scene: &Scene<'_>, names: usize) -> Result<Values, Failure> {
    let mut asked = Asked::new(scene.server()?)?;
    let mut contender = scene.start("hold", names, Duration::ZERO, &[])?;
    let (keys, memory, bytes) = (asked.keys()?, contender.memory(), asked.said()?);
    contender.begin()?;
    let told: Told = contender.result(ACQUIRING)?;
    let (held, taken) = (asked.keys()? - keys, contender.memory() - memory);
    let before = asked.said()?;
    let (since, used) = (Instant::now(), contender.cpu());
    sleep(scene.bench.times.hold);
    let seconds = since.elapsed().as_secs_f64();
    let after = asked.said()?;
    let percent = |micros: f64| micros / seconds / 1e4;
    Ok(Values::from([
        ("client_bytes", taken / told.held),
        ("server_bytes", (before.number("used_memory") - bytes.number("used_memory")) / told.held),
        ("commands", (after.calls() - before.calls()) / seconds),
        ("client_cpu", percent(contender.cpu() - used)),
        ("server_cpu", percent(after.cpu() - before.cpu())),
        ("lapsed", held - (asked.keys()? - keys)),
    ]))
}
