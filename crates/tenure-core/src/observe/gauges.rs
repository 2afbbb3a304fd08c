//! The gauges: what all stores of one kind that this process has opened show together.
//!
//! Each engine publishes the figures of its own store, and then sets the gauges to the sums and maxima of all that were
//! published. So two stores of one kind do not overwrite each other's gauges.

use std::{
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

use metrics::Recorder;
use tenure_proto::{Timestamp, queue::Kind};

use super::{
    ObservedLocks, SeriesId, Shared, StoreTelemetry,
    families::OTHER,
    live::Figures,
    series::{LockSeries, recording},
};
use crate::runtime::PerProcess;

/// How often gauges are set while anything is held or waited for.
pub(crate) const GAUGES_EVERY: Duration = Duration::from_secs(1);

type Stores = Mutex<Vec<Weak<Shared>>>;

/// The stores that this process has opened. A forked child holds nothing of its parent's.
static STORES: PerProcess<Stores> = PerProcess::new();

fn stores() -> Option<MutexGuard<'static, Vec<Weak<Shared>>>> {
    let stores = STORES.get(|| Ok(Stores::default())).ok()?;
    Some(stores.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Adds a store, and forgets those that are closed.
pub(super) fn register(store: &Arc<Shared>) {
    if let Some(mut stores) = stores() {
        stores.retain(|store| store.strong_count() > 0);
        stores.push(Arc::downgrade(store));
    }
}

/// The open stores of this kind that show their gauges to this recorder.
fn stores_like(kind: &str, recorder: usize) -> Vec<Arc<Shared>> {
    // One that ends meanwhile is dropped later, when this is unlocked: it drops handles of a recorder.
    let mut open: Vec<_> =
        stores().iter().flat_map(|all| all.iter()).filter_map(Weak::upgrade).collect();
    open.retain(|store| {
        store.fields.kind == kind && store.term.recorder.load(Ordering::Acquire) == recorder
    });
    open
}

impl StoreTelemetry {
    /// Sets the gauges, if this program has a recorder. Returns when to set them again: never if nothing is held or
    /// waited for.
    pub(crate) fn set_gauges(&self, now: Timestamp) -> Timestamp {
        let shared = &*self.shared;
        // Before they are read, so that whoever changes them from now on wakes the engine.
        shared.term.end();
        let mut any = false;
        recording(|recorder, identity| {
            self.show_all(recorder, identity);
            for locks in shared.locks.iter().filter_map(OnceLock::get) {
                any |= locks.publish(now).is_busy();
            }
            shared.show_gauges(recorder, identity);
        });
        // Nothing for the first time: a stream of short holds does not wake the engine for each of them.
        if !any && !shared.was_busy.swap(false, Ordering::Relaxed) {
            return Timestamp::NEVER;
        }
        if any {
            shared.was_busy.store(true, Ordering::Relaxed);
        }
        shared.term.gauges_set.store(true, Ordering::SeqCst);
        now.saturating_add(GAUGES_EVERY)
    }

    /// Whether the engine is to begin to set the gauges: something is held or waited for, or a recorder came since.
    pub(crate) fn gauges_are_due(&self) -> bool {
        let shared = &*self.shared;
        let mut due = shared.term.gauges_set.load(Ordering::SeqCst);
        if !due {
            recording(|_, identity| due = shared.term.recorder.load(Ordering::Relaxed) != identity);
        }
        due
    }

    /// Makes the engine set the gauges from now on, if this program has a recorder.
    pub(super) fn watch_gauges(&self) {
        // Most often they are set, which is told faster by a load.
        let set = &self.shared.term.gauges_set;
        if set.load(Ordering::SeqCst) {
            return;
        }
        recording(|_, _| {
            if !set.swap(true, Ordering::SeqCst) {
                self.shared.engine.notify_one();
            }
        });
    }

    /// Takes the figures of this store out of the gauges: its engine ends, so nobody would publish any others.
    pub(crate) fn leave_gauges(&self) {
        let shared = &*self.shared;
        let shown_to = shared.term.recorder.swap(0, Ordering::AcqRel);
        recording(|recorder, identity| {
            if shown_to == identity {
                shared.show_gauges(recorder, identity);
            }
        });
    }
}

impl Shared {
    /// Sets the gauges of each series of this store. Another engine may publish meanwhile, and set them to what is right
    /// before this one sets them to what was. So this looks again after it has set them.
    fn show_gauges(&self, recorder: &dyn Recorder, identity: usize) {
        let mut shown = Vec::new();
        loop {
            let all = self.joint_figures(identity);
            if all == shown {
                return;
            }
            for (id, figures) in &all {
                if let Some(locks) = self.locks_of(*id) {
                    locks.series.set_gauges(*figures, recorder);
                }
            }
            shown = all;
        }
    }

    /// The figures that all open stores of this kind have published, for each series of this one.
    fn joint_figures(&self, identity: usize) -> Vec<(SeriesId, Figures)> {
        let all = stores_like(self.fields.kind, identity);
        let joint = |id: SeriesId| {
            let family = self.families.get(id.family());
            let like =
                all.iter().filter_map(|store| store.locks_of(store.id_of(id.kind(), family)?));
            like.map(|locks| locks.live.lock().published).fold(Figures::default(), Figures::with)
        };
        let ids = (0..).map(SeriesId).take(self.locks.len());
        ids.filter(|id| self.locks_of(*id).is_some()).map(|id| (id, joint(id))).collect()
    }

    /// Which series of this store a lock of this kind and family has.
    fn id_of(&self, kind: Kind, family: Option<&str>) -> Option<SeriesId> {
        let index = match family {
            Some(OTHER) if self.families.len() > 0 => None,
            None if self.families.len() == 0 => None,
            Some(family) => Some(self.families.index_of(family)?),
            None => return None,
        };
        Some(SeriesId::new(kind, index))
    }

    fn locks_of(&self, id: SeriesId) -> Option<&ObservedLocks> {
        self.locks.get(usize::from(id.0))?.get().map(|locks| &**locks)
    }
}

impl ObservedLocks {
    fn publish(&self, now: Timestamp) -> Figures {
        let mut live = self.live.lock();
        live.published = live.figures(now);
        live.published
    }
}

impl LockSeries {
    fn set_gauges(&self, figures: Figures, recorder: &dyn Recorder) {
        let Figures { held, waiting, oldest_hold, oldest_wait } = figures;
        let set = [
            (Some(&self.held), held as f64),
            (self.leading.as_ref(), held as f64),
            (Some(&self.waiting), waiting as f64),
            (Some(&self.oldest_hold), oldest_hold.as_secs_f64()),
            (Some(&self.oldest_wait), oldest_wait.as_secs_f64()),
        ];
        for (series, value) in set {
            if let Some(series) = series {
                series.set(recorder, value);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use metrics::{
        Counter, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, SharedString, Unit,
        with_local_recorder,
    };

    use super::*;
    use crate::{LockName, MemoryStore, observe::MetricFamilies};

    const NOW: Timestamp = Timestamp::ZERO;

    /// The gauge of held mutexes. It does something just before it is set.
    #[derive(Default)]
    struct Held {
        value: Mutex<f64>,
        before: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    }

    impl GaugeFn for Held {
        fn increment(&self, _: f64) {}
        fn decrement(&self, _: f64) {}

        fn set(&self, value: f64) {
            let before = self.before.lock().unwrap().take();
            if let Some(before) = before {
                before();
            }
            *self.value.lock().unwrap() = value;
        }
    }

    #[derive(Default)]
    struct OfHeld(Arc<Held>);

    impl Recorder for OfHeld {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
            Counter::noop()
        }

        fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
            let is_mutex = key.labels().any(|label| label.value() == "mutex");
            let is_it = is_mutex && key.name() == "tenure_held";
            if is_it { Gauge::from_arc(self.0.clone()) } else { Gauge::noop() }
        }

        fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::noop()
        }
    }

    fn opened() -> StoreTelemetry {
        StoreTelemetry::new(&MemoryStore::new(), MetricFamilies::default(), &Arc::default())
    }

    #[test]
    fn the_engine_that_sets_a_gauge_last_sets_it_to_what_is() {
        let recorder = OfHeld::default();
        with_local_recorder(&recorder, || {
            let (one, other) = (opened(), opened());
            let id = one.series(&LockName::new("a").unwrap(), Kind::Mutex);
            for store in [&one, &other] {
                store.count_hold(id, NOW);
                store.set_gauges(NOW);
            }
            assert_eq!(*recorder.0.value.lock().unwrap(), 2.0);
            // The other hold ends after this engine has added both up, and before it has set the gauge.
            *recorder.0.before.lock().unwrap() = Some(Box::new(move || {
                other.end_hold(id, NOW, Duration::ZERO);
                other.set_gauges(NOW);
            }));
            one.set_gauges(NOW);
            assert_eq!(*recorder.0.value.lock().unwrap(), 1.0);
        });
    }

    #[test]
    fn stores_that_are_closed_are_forgotten() {
        for _ in 0..1_000 {
            drop(opened());
        }
        // Other tests open stores meanwhile.
        assert!(stores().unwrap().len() < 100);
    }
}
