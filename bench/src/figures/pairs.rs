//! Acquire and release on a server, with nobody else there.

use std::time::Instant;

use tokio::runtime::Runtime;

use super::{Measured, Scene, figure};
use crate::{failure::Failure, kinds, process::cpu, report::Figure};

/// Pairs that one value is the mean of.
const BATCH: usize = 50;

/// How often a JVM does it before it is measured.
const WARM: usize = 3_000;

/// Contestants whose figures stand beside each other.
pub(crate) struct Pairs {
    /// What the figures are called: time, CPU, calls.
    pub(crate) titles: [&'static str; 3],
    pub(crate) note: &'static str,
    pub(crate) contestants: Vec<(&'static str, Box<dyn Players>)>,
}

/// Who acquires and releases.
pub(crate) trait Players {
    /// How long so many pairs took, in microseconds.
    fn pairs(&mut self, runtime: &Runtime, count: usize) -> Result<f64, Failure>;

    /// Whether it is a JVM, whose CPU is not counted, and which is warmed up.
    fn is_jvm(&self) -> bool {
        false
    }
}

struct Looped<F>(F);

impl<F: AsyncFnMut() -> Result<(), Failure>> Players for Looped<F> {
    fn pairs(&mut self, runtime: &Runtime, count: usize) -> Result<f64, Failure> {
        runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..count {
                (self.0)().await?;
            }
            Ok(start.elapsed().as_secs_f64() * 1e6)
        })
    }
}

/// One that does a `pair` again and again.
pub(crate) fn looped(pair: impl AsyncFnMut() -> Result<(), Failure> + 'static) -> Box<dyn Players> {
    Box::new(Looped(pair))
}

/// tenure with a lock of some kind.
pub(crate) fn tenure(lock: kinds::Lock) -> Box<dyn Players> {
    looped(async move || lock.pair().await)
}

/// What each round of one contestant took, per pair.
#[derive(Default)]
struct Values {
    time: Vec<f64>,
    client: Vec<f64>,
    server: Vec<f64>,
    calls: Vec<f64>,
}

pub(super) fn measure<S: Measured>(scene: &Scene<'_, S>) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for pairs in S::pairs(scene)? {
        figures.extend(taken(scene, pairs)?);
    }
    Ok(figures)
}

fn taken<S: Measured>(scene: &Scene<'_, S>, pairs: Pairs) -> Result<[Figure; 3], Failure> {
    let Pairs { titles: [time, cpu, calls], note, contestants: mut all } = pairs;
    let runtime = &scene.runtime;
    let warm = if scene.quick { BATCH } else { WARM };
    for (_, who) in &mut all {
        let count = if who.is_jvm() { warm } else { BATCH };
        who.pairs(runtime, count)?;
    }
    let mut values: Vec<_> = all.iter().map(|_| Values::default()).collect();
    let count = BATCH as f64;
    for _ in 0..scene.rounds {
        for ((_, who), values) in all.iter_mut().zip(&mut values) {
            // The server is asked before its CPU is looked at, which the question needs, too.
            let ((), ran) = scene.server.calls_during(|| {
                let (client, server) = (cpu::own()?, scene.server.cpu());
                values.time.push(who.pairs(runtime, BATCH)? / count);
                values.client.push((cpu::own()? - client) / count);
                values.server.push((scene.server.cpu() - server) / count);
                Ok(())
            })?;
            values.calls.push(ran / count);
        }
    }
    let mut time = figure::<S>(time, "µs per pair", note).goal(Some(S::WORDS.pair_goal));
    let mut cpu = figure::<S>(cpu, "µs of CPU per pair", "What the client and the server used.");
    let unit = format!("{} per pair", S::CALLS);
    let mut calls = figure::<S>(calls, unit, S::WORDS.pair_calls);
    for ((name, who), values) in all.into_iter().zip(values) {
        time.row(name, values.time);
        if !who.is_jvm() {
            cpu.row(format!("{name}: client"), values.client);
        }
        cpu.row(format!("{name}: server"), values.server);
        calls.row(name, values.calls);
    }
    Ok([time, cpu, calls])
}
