//! A recorder whose values can be read again and again.

use std::{collections::BTreeMap, sync::atomic::Ordering};

use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    with_local_recorder,
};
use metrics_util::registry::{AtomicStorage, Registry};

pub(crate) struct Recorded {
    registry: Registry<Key, AtomicStorage>,
}

impl Recorded {
    /// Runs `scene` on this thread, with a recorder.
    pub(crate) fn run<F: Future<Output = ()>>(scene: impl FnOnce(&'static Self) -> F) {
        let recorded: &'static Self = Box::leak(Box::new(Self::new()));
        with_local_recorder(recorded, || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(scene(recorded));
        });
    }

    pub(crate) fn new() -> Self {
        Self { registry: Registry::atomic() }
    }

    /// All series with their labels, and their values or numbers of samples.
    pub(crate) fn all(&self) -> BTreeMap<String, f64> {
        let mut all = BTreeMap::new();
        self.registry.visit_counters(|key, value| {
            all.insert(name(key), value.load(Ordering::Relaxed) as f64);
        });
        self.registry.visit_gauges(|key, value| {
            all.insert(name(key), f64::from_bits(value.load(Ordering::Relaxed)));
        });
        self.registry.visit_histograms(|key, samples| {
            all.insert(name(key), samples.data().len() as f64);
        });
        all
    }

    /// Removes all series, as if they had been idle. What is counted by a handle on one of them is not shown.
    pub(crate) fn remove_all(&self) {
        self.registry.clear();
    }

    /// The value of one of them.
    pub(crate) fn value(&self, series: &str) -> f64 {
        let all = self.all();
        *all.get(series).unwrap_or_else(|| panic!("no {series} in {all:?}"))
    }
}

/// The name of a series, with its labels.
fn name(key: &Key) -> String {
    let labels = key.labels().map(|label| format!(",{}={}", label.key(), label.value()));
    format!("{}{}", key.name(), labels.collect::<String>())
}

impl Recorder for Recorded {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.registry.get_or_create_counter(key, |counter| counter.clone().into())
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.registry.get_or_create_gauge(key, |gauge| gauge.clone().into())
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.registry.get_or_create_histogram(key, |histogram| histogram.clone().into())
    }
}
