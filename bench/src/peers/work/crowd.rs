//! One name that many want.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;

use super::{Scene, Values};
use crate::{failure::Failure, peers::server::Asked};

#[derive(Deserialize)]
struct Told {
    grants: Vec<f64>,
    waits: BTreeMap<u32, u64>,
    longest_us: f64,
    errors: f64,
    hung: f64,
    seconds: f64,
}

pub(super) fn measure(
    scene: &Scene<'_>,
    processes: usize,
    tasks: usize,
    section: Duration,
) -> Result<Values, Failure> {
    let times = scene.bench.times;
    let extra = [("section", section.as_micros().to_string())];
    let mut contenders = Vec::new();
    for _ in 0..processes {
        contenders.push(scene.start("hot", tasks, times.crowd, &extra)?);
    }
    let mut asked = scene.server.as_ref().map(Asked::new).transpose()?;
    let mut server = || asked.as_mut().map(Asked::said).transpose();
    let before = server()?;
    let used: f64 = contenders.iter().map(super::Contender::cpu).sum();
    for contender in &mut contenders {
        contender.begin()?;
    }
    let mut all = Vec::new();
    for contender in &mut contenders {
        all.push(contender.result::<Told>(times.crowd + times.grace + Duration::from_secs(30))?);
    }
    let after = server()?;
    let used = contenders.iter().map(super::Contender::cpu).sum::<f64>() - used;
    let mut values = together(&all);
    // Those that were granted after the end took their part of it too.
    let served: u64 = all.iter().flat_map(|told| told.waits.values()).sum();
    let served = (served as f64).max(1.0);
    values.insert("client_us", used / served);
    if let (Some(before), Some(after)) = (before, after) {
        values.insert("server_us", (after.cpu() - before.cpu()) / served);
        values.insert("commands", (after.calls() - before.calls()) / served);
    }
    Ok(values)
}

fn together(all: &[Told]) -> Values {
    let mut waits = BTreeMap::new();
    for (bucket, count) in all.iter().flat_map(|told| &told.waits) {
        *waits.entry(*bucket).or_insert(0) += count;
    }
    let grants: Vec<f64> = all.iter().flat_map(|told| told.grants.iter().copied()).collect();
    let most = grants.iter().copied().fold(0.0, f64::max);
    let fewest = grants.iter().copied().fold(f64::INFINITY, f64::min);
    let seconds = all.iter().map(|told| told.seconds).fold(0.0, f64::max);
    let longest = all.iter().map(|told| told.longest_us).fold(0.0, f64::max) / 1e3;
    // The middle of the last bucket may lie behind the longest of all.
    let wait = |part| quantile(&waits, part).min(longest);
    Values::from([
        ("per_second", grants.iter().sum::<f64>() / seconds),
        ("wait_p50_ms", wait(0.5)),
        ("wait_p99_ms", wait(0.99)),
        ("wait_max_ms", longest),
        // Unknown where somebody was never granted.
        ("most_fewest", if fewest > 0.0 { most / fewest } else { f64::NAN }),
        ("never", grants.iter().filter(|grants| **grants == 0.0).count() as f64),
        ("hung", all.iter().map(|told| told.hung).sum()),
        ("errors", all.iter().map(|told| told.errors).sum()),
    ])
}

/// The middle of the bucket where that part of all waits is reached, in milliseconds.
fn quantile(waits: &BTreeMap<u32, u64>, part: f64) -> f64 {
    let all: u64 = waits.values().sum();
    let mut seen = 0;
    for (bucket, count) in waits {
        seen += count;
        if seen as f64 >= part * all as f64 {
            return 1.1_f64.powf(f64::from(*bucket) + 0.5) / 1e6;
        }
    }
    f64::NAN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(grants: &[f64], waits: &[(u32, u64)]) -> Told {
        Told {
            grants: grants.to_vec(),
            waits: waits.iter().copied().collect(),
            longest_us: 2_000.0,
            errors: 0.0,
            hung: 0.0,
            seconds: 2.0,
        }
    }

    #[test]
    fn who_was_never_granted_is_counted_and_has_no_ratio() {
        let starved = together(&[told(&[4.0, 0.0], &[]), told(&[2.0, 0.0], &[])]);
        assert_eq!(starved["never"], 2.0);
        assert_eq!(starved["per_second"], 3.0);
        assert!(starved["most_fewest"].is_nan());
        assert_eq!(together(&[told(&[4.0, 2.0], &[])])["most_fewest"], 2.0);
    }

    #[test]
    fn the_waits_of_all_processes_count() {
        // 1.1^145 ns are a millisecond.
        let values = together(&[told(&[1.0], &[(121, 1)]), told(&[1.0], &[(145, 9)])]);
        assert!((0.9..1.1).contains(&values["wait_p50_ms"]), "{values:?}");
        assert_eq!(values["wait_max_ms"], 2.0);
    }
}
