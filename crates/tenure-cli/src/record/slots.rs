//! The gauges of a slot: which one it was, and what became of it.

use std::time::Duration;

use tenure::once::{Skipped, SlotId};

use crate::{
    exposition::text::{Family, Sample},
    outcome::SlotOutcome,
};

pub(super) const BEGAN: Family = Family::new(
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
    /// When the slot began, in seconds since 1970, unless it has a name.
    pub(super) fn start(&self) -> Option<f64> {
        let SlotId::At(start) = self.slot else { return None };
        Some(Duration::from_micros(start).as_secs_f64())
    }

    /// The gauges of the last slot, for one lock.
    pub(super) fn of_last_slot(&self, lock: &str) -> Vec<Sample> {
        let start = self.start().map(|start| sample(BEGAN, lock, start));
        let outcomes = SlotOutcome::WORDS.map(|word| {
            let value = if word == self.outcome.word() { 1.0 } else { 0.0 };
            let mut sample = sample(OUTCOME, lock, value);
            sample.labels.push(("outcome", word.to_owned()));
            sample
        });
        start.into_iter().chain(outcomes).collect()
    }

    /// The gauge of the last slot that is finished, if this one is.
    pub(super) fn of_finished_slot(&self, lock: &str) -> Option<Sample> {
        let is_finished = matches!(
            self.outcome,
            SlotOutcome::Finished | SlotOutcome::Skipped(Skipped::Finished { .. })
        );
        self.start().filter(|_| is_finished).map(|start| sample(FINISHED, lock, start))
    }
}

fn sample(family: Family, lock: &str, value: f64) -> Sample {
    Sample { family, labels: vec![("lock", lock.to_owned())], value }
}
