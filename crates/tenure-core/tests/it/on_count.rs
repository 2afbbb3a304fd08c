//! Something that happens just when something else is counted, which no clock can time.

use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    with_local_recorder,
};

#[derive(Default)]
struct Work(Mutex<Option<Box<dyn FnOnce() + Send>>>);

/// Does something as soon as one metric is counted.
pub(crate) struct OnCount {
    metric: &'static str,
    work: Arc<Work>,
}

impl OnCount {
    /// Nothing is to be done yet.
    pub(crate) fn of(metric: &'static str) -> Self {
        Self { metric, work: Arc::default() }
    }

    /// To be done the next time, and not again.
    pub(crate) fn next_time(&self, work: impl FnOnce() + Send + 'static) {
        *self.work.0.lock().unwrap() = Some(Box::new(work));
    }

    /// Runs `scene` on this thread alone, so that all that it counts is noticed.
    pub(crate) fn run<F: Future<Output = ()>>(&self, scene: F) {
        with_local_recorder(self, || {
            tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(scene);
        });
        assert!(self.work.0.lock().unwrap().is_none(), "{} was not counted", self.metric);
    }
}

impl Recorder for OnCount {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        if key.name() == self.metric {
            Counter::from_arc(self.work.clone())
        } else {
            Counter::noop()
        }
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

impl CounterFn for Work {
    fn increment(&self, _: u64) {
        let work = self.0.lock().unwrap().take();
        if let Some(work) = work {
            work();
        }
    }

    fn absolute(&self, _: u64) {}
}
