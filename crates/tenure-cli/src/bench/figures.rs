//! From what was measured to what is reported.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::output::bench::{LatencyStats, PairMeasurement};

/// Lengths of time, to a hundredth of each.
#[derive(Clone, Debug)]
pub(super) struct LatencyHistogram(Histogram<u64>);

impl LatencyHistogram {
    pub(super) fn new() -> Result<Self, String> {
        Histogram::new(2).map(Self).map_err(|error| error.to_string())
    }

    pub(super) fn add(&mut self, nanos: u64) {
        // It grows for whatever comes: this fails for no length that a clock can tell.
        let _ = self.0.record(nanos);
    }

    pub(super) fn add_all(&mut self, others: &Self) -> Result<(), String> {
        self.0.add(&others.0).map_err(|error| error.to_string())
    }

    pub(super) fn count(&self) -> u64 {
        self.0.len()
    }

    /// Nothing if there are none.
    pub(super) fn took(&self) -> Option<LatencyStats> {
        let at = |quantile| self.0.value_at_quantile(quantile) as f64 / 1e3;
        let took = || LatencyStats {
            p50_us: at(0.5),
            p99_us: at(0.99),
            max_us: self.0.max() as f64 / 1e3,
        };
        (!self.0.is_empty()).then(took)
    }
}

/// The rounds of so many tasks.
#[derive(Debug)]
pub(super) struct RoundResults {
    tasks: usize,
    times: LatencyHistogram,
    per_second: Vec<f64>,
    cpu: Duration,
}

impl RoundResults {
    pub(super) fn new(tasks: usize) -> Result<Self, String> {
        Ok(Self {
            tasks,
            times: LatencyHistogram::new()?,
            per_second: Vec::new(),
            cpu: Duration::ZERO,
        })
    }

    pub(super) fn tasks(&self) -> usize {
        self.tasks
    }

    /// A round that took `length`, for which this process spent `cpu`.
    pub(super) fn add(
        &mut self,
        times: &LatencyHistogram,
        length: Duration,
        cpu: Duration,
    ) -> Result<(), String> {
        self.per_second.push(times.count() as f64 / length.as_secs_f64().max(1e-9));
        self.cpu += cpu;
        self.times.add_all(times)
    }

    /// Nothing if nothing was measured.
    pub(super) fn figures(mut self) -> Option<PairMeasurement> {
        self.per_second.sort_unstable_by(f64::total_cmp);
        let count = self.times.count();
        Some(PairMeasurement {
            tasks: self.tasks,
            count,
            per_second: median(&self.per_second)?,
            per_second_min: *self.per_second.first()?,
            per_second_max: *self.per_second.last()?,
            took: self.times.took()?,
            cpu_us: self.cpu.as_secs_f64() * 1e6 / count as f64,
        })
    }
}

/// Of what is sorted.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0]), Some(1.0));
        assert_eq!(median(&[1.0, 3.0]), Some(2.0));
        assert_eq!(median(&[1.0, 3.0, 9.0]), Some(3.0));
    }

    #[test]
    fn the_figures_are_of_all_rounds() {
        let mut rounds = RoundResults::new(4).unwrap();
        for (nanos, pairs) in [(1_000, 98), (2_000, 100), (50_000, 2)] {
            let mut times = LatencyHistogram::new().unwrap();
            (0..pairs).for_each(|_| times.add(nanos));
            rounds.add(&times, Duration::from_millis(500), Duration::from_millis(1)).unwrap();
        }
        let figures = rounds.figures().unwrap();
        assert_eq!((figures.tasks, figures.count), (4, 200));
        assert_eq!(figures.per_second, 196.0);
        assert_eq!((figures.per_second_min, figures.per_second_max), (4.0, 200.0));
        assert_eq!(figures.cpu_us, 15.0);
        let near = |figure: f64, wanted: f64| (figure / wanted - 1.0).abs() < 0.01;
        let LatencyStats { p50_us, p99_us, max_us } = figures.took;
        assert!(near(p50_us, 2.0) && near(p99_us, 2.0) && near(max_us, 50.0), "{figures:?}");
    }

    #[test]
    fn nothing_measured_has_no_figures() {
        assert!(RoundResults::new(1).unwrap().figures().is_none());
        assert!(LatencyHistogram::new().unwrap().took().is_none());
    }
}
