//! `tenure bench`: how fast a store is, from here.

use std::future::Future;

use tenure::{Tenure, config::Config};

use crate::{
    args::{self, Workload},
    bench::{MeasurementExtent, handoff, pair, progress::Progress, unique_name_prefix},
    exit::Failure,
    explanation::Explanation,
    output::{
        Reporter,
        bench::{BenchResults, json, table},
        write_answer,
    },
    run::signals::{ENDING, Signals},
    store::{self, open},
};

/// What a signal interrupts.
const INTERRUPTED: (&str, &str) = ("interrupted while measuring", "what was held is released");

pub(super) async fn bench(
    args: &args::Bench,
    config: &Config,
    voice: &Reporter,
) -> Result<u8, Failure> {
    let mut signals = Signals::new();
    signals.listen(&ENDING).map_err(Failure::failed)?;
    let opened = signals.unless_interrupted(INTERRUPTED, open(config)).await?;
    if !voice.is_json() {
        // The answer says it there.
        store::report_location(&opened, config, voice);
    }
    // The same store without what the configuration says of locks.
    let tenure = Tenure::with_store(opened.store().clone());
    let done = measure(args, config, &tenure, voice, &mut signals).await;
    super::close_store(&tenure, &done).await;
    super::close_store(&opened, &done).await;
    let figures = done?;
    write_answer(&if voice.is_json() { json(&figures) } else { table(&figures) })?;
    Ok(0)
}

async fn measure(
    args: &args::Bench,
    config: &Config,
    tenure: &Tenure,
    voice: &Reporter,
    signals: &mut Signals,
) -> Result<BenchResults, Failure> {
    let extent = MeasurementExtent { length: args.length, rounds: args.rounds };
    let (names, progress) = (unique_name_prefix(), Progress::new(voice));
    let mut figures = BenchResults {
        kind: tenure.store().kind().to_owned(),
        location: tenure.store().location(),
        cores: cores(),
        pair: None,
        handoff: None,
    };
    if args.wants(Workload::Pair) {
        let tasks = args.tasks();
        let work = pair::measure(tenure, &names, &tasks, extent, &progress);
        figures.pair = Some(signals.unless_interrupted(INTERRUPTED, work).await?);
    }
    if args.wants(Workload::Handoff) {
        let url = config.store().map_err(|error| Failure::Usage(error.into()))?;
        let name = format!("{names}:turns");
        let work = handoff::measure(url, &name, extent, &progress, signals, INTERRUPTED);
        figures.handoff = Some(work.await?);
    }
    Ok(figures)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// As a program does it that has many tasks.
pub(super) fn on_all_cores(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    crate::system::runtime_of_many()
        .map_err(|error| {
            Failure::Failed(Explanation::from_io_error("tenure cannot start", &error))
        })?
        .block_on(work)
}
