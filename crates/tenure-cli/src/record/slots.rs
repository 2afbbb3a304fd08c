//! The gauges of a slot: which one it was, and what became of it.

use std::time::Duration;

use tenure::once::{Skipped, SlotId};

use crate::{
    exposition::text::{Family, Sample},
    outcome::SlotOutcome,
};

const BEGAN: Family = Family::new(
    "tenure_run_last_slot_timestamp_seconds",
    "When the slot of the last tenure run began, in seconds since 1970.",
);
const OUTCOME: Family = Family::new(
    "tenure_run_last_slot_outcome",
    "1 for what became of the slot of the last tenure run, otherwise 0.",
);
pub(super) const FINISHED: Family = Family::new(
    "tenure_run_last_slot_finished_timestamp_seconds",
    "When the last slot began that is known to be finished on any host, in seconds since 1970.",
);

/// The slot of a run, and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct SlotNews {
    pub(crate) slot: SlotId,
    pub(crate) outcome: SlotOutcome,
}

impl SlotNews {
    /// The gauges for one lock. `is_known` says whether the file shows that a later slot than this is finished.
    pub(super) fn samples(&self, lock: &str, is_known: impl FnOnce(f64) -> bool) -> Vec<Sample> {
        let gauge =
            |family, value| Sample { family, labels: vec![("lock", lock.to_owned())], value };
        let mut samples = Vec::new();
        if let SlotId::At(start) = self.slot {
            let start = Duration::from_micros(start).as_secs_f64();
            samples.push(gauge(BEGAN, start));
            let is_finished = matches!(
                self.outcome,
                SlotOutcome::Finished | SlotOutcome::Skipped(Skipped::Finished { .. })
            );
            if is_finished && !is_known(start) {
                samples.push(gauge(FINISHED, start));
            }
        }
        for word in SlotOutcome::WORDS {
            let value = if word == self.outcome.word() { 1.0 } else { 0.0 };
            let mut sample = gauge(OUTCOME, value);
            sample.labels.push(("outcome", word.to_owned()));
            samples.push(sample);
        }
        samples
    }
}
