//! Many locks that one process holds and renews.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use serde::Deserialize;

use super::{Scene, Values};
use crate::{failure::Failure, peers::server::Asked};

/// How long acquiring all of them may take.
const ACQUIRING: Duration = Duration::from_secs(180);

#[derive(Deserialize)]
struct Told {
    held: f64,
}

impl Told {
    /// Fewer holds cost less: what they cost says nothing of all.
    fn has_all(&self, names: usize) -> Result<(), Failure> {
        if self.held < names as f64 {
            return Err(format!("holds {} of {names} names", self.held).into());
        }
        Ok(())
    }
}

pub(super) fn measure(scene: &Scene<'_>, names: usize) -> Result<Values, Failure> {
    let mut asked = Asked::new(scene.server()?)?;
    let mut contender = scene.start("hold", names, Duration::ZERO, &[])?;
    let (keys, memory, bytes) = (asked.keys()?, contender.memory(), asked.said()?);
    contender.begin()?;
    let told: Told = contender.result(ACQUIRING)?;
    told.has_all(names)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_fewer_names_than_asked_for_has_no_figures() {
        let told = |text| serde_json::from_str::<Told>(text).unwrap();
        assert!(told(r#"{"held":100000,"errors":false}"#).has_all(100_000).is_ok());
        let few = told(r#"{"held":65535,"errors":true}"#).has_all(100_000).unwrap_err();
        assert_eq!(few.to_string(), "holds 65535 of 100000 names");
    }
}
