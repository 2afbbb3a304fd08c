//! Acquire and release, uncontended.

use std::time::Duration;

use serde::Deserialize;

use super::{Scene, Values};
use crate::{failure::Failure, peers::server::Asked};

/// For what is left to do when the time is over.
const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct Told {
    pairs: f64,
    errors: f64,
    /// Where a peer has never been seen to hang, it does not say so.
    #[serde(default)]
    hung: f64,
    seconds: f64,
}

pub(super) fn measure(scene: &Scene<'_>, tasks: usize) -> Result<Values, Failure> {
    let time = scene.bench.times.pair;
    let mut contender = scene.start("pair", tasks, time, &[])?;
    let mut asked = scene.server.as_ref().map(Asked::new).transpose()?;
    let mut server = || asked.as_mut().map(Asked::said).transpose();
    let (before, used) = (server()?, contender.cpu());
    contender.begin()?;
    let told: Told = contender.result(time + scene.bench.times.grace + DEADLINE)?;
    let (after, used) = (server()?, contender.cpu() - used);
    let mut values = Values::from([
        ("per_second", told.pairs / told.seconds),
        ("client_us", used / told.pairs),
        ("errors", told.errors),
        ("hung", told.hung),
    ]);
    if let (Some(before), Some(after)) = (before, after) {
        values.insert("server_us", (after.cpu() - before.cpu()) / told.pairs);
    }
    Ok(values)
}

/// Commands and bytes of a pair.
pub(super) fn count(scene: &Scene<'_>) -> Result<Values, Failure> {
    let time = Duration::from_millis(100);
    let mut contender = scene.start("pair", 1, time, &[("warm", "20".to_owned())])?;
    let mut pairs = 0.0;
    let server = scene.server()?;
    let (sent, inside) = Asked::watch(server, || {
        contender.begin()?;
        pairs = contender.result::<Told>(time + scene.bench.times.grace + DEADLINE)?.pairs;
        Ok(())
    })?;
    drop(contender);
    // Again without the watch, whose words would count as the server's.
    let mut contender = scene.start("pair", 1, time, &[("warm", "20".to_owned())])?;
    let mut asked = Asked::new(server)?;
    let from = asked.said()?;
    contender.begin()?;
    let told: Told = contender.result(time + scene.bench.times.grace + DEADLINE)?;
    let to = asked.said()?;
    let each = |field| (to.number(field) - from.number(field)) / told.pairs;
    Ok(Values::from([
        ("sent", sent / pairs),
        ("inside", inside / pairs),
        ("bytes_in", each("total_net_input_bytes")),
        ("bytes_out", each("total_net_output_bytes")),
    ]))
}
