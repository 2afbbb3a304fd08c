//! Handles of a recorder on its series, which threads keep: finding one takes longer than counting.
//!
//! A recorder may remove a series that was idle, and what is counted by a handle on it is lost then. So no handle is kept
//! for longer than a second or so: only while the engine sets gauges once a second, until it does so the next time.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    thread::LocalKey,
};

use metrics::{Counter, Histogram};

/// How many handles of a kind a thread keeps. Two series that have one place take turns.
const PLACES: usize = 64;

/// Until when handles are kept.
#[derive(Debug, Default)]
pub(super) struct KeepTerm {
    /// The recorder that knows of the metrics and shows the gauges; 0 for none.
    pub(super) recorder: AtomicUsize,
    /// Whether the engine sets gauges, or is going to begin.
    pub(super) gauges_set: AtomicBool,
    /// How often it has set them.
    number: AtomicU64,
}

impl KeepTerm {
    /// The engine sets the gauges now, and does not keep on unless it says so.
    pub(super) fn end(&self) {
        self.gauges_set.store(false, Ordering::SeqCst);
        // After that: a handle that is kept in the next term is kept until the end of that one.
        self.number.fetch_add(1, Ordering::SeqCst);
    }

    /// The term in which handles of this recorder may be kept; `None` if nothing would end it.
    fn of(&self, recorder: usize) -> Option<u64> {
        if self.recorder.load(Ordering::Relaxed) != recorder {
            // A program has one recorder. Another one, such as a test's, is not the engine's.
            return Some(u64::MAX);
        }
        let number = self.number.load(Ordering::SeqCst);
        self.gauges_set.load(Ordering::SeqCst).then_some(number)
    }
}

/// A kind of handle that is kept.
pub(super) trait Keep: Sized + 'static {
    fn places() -> &'static LocalKey<RefCell<Vec<Option<Kept<Self>>>>>;
}

impl Keep for Counter {
    fn places() -> &'static LocalKey<RefCell<Vec<Option<Kept<Self>>>>> {
        thread_local!(static KEPT: RefCell<Vec<Option<Kept<Counter>>>> = const { RefCell::new(Vec::new()) });
        &KEPT
    }
}

impl Keep for Histogram {
    fn places() -> &'static LocalKey<RefCell<Vec<Option<Kept<Self>>>>> {
        thread_local!(static KEPT: RefCell<Vec<Option<Kept<Histogram>>>> = const { RefCell::new(Vec::new()) });
        &KEPT
    }
}

/// A handle, and what it is of: a series of a recorder, in a term.
pub(super) struct Kept<H> {
    of: (usize, usize, u64),
    handle: H,
}

/// Calls `record` with the handle of this thread on the series with this number, or with a new one.
pub(super) fn with_kept<H: Keep>(
    series: usize,
    recorder: usize,
    term: &KeepTerm,
    register: impl Fn() -> H,
    record: impl Fn(&H),
) {
    let Some(term) = term.of(recorder) else { return record(&register()) };
    let of = (series, recorder, term);
    let kept = H::places().try_with(|places| {
        let Ok(mut places) = places.try_borrow_mut() else { return false };
        if places.is_empty() {
            places.resize_with(PLACES, || None);
        }
        let Some(place) = places.get_mut(series % PLACES) else { return false };
        if place.as_ref().is_none_or(|kept| kept.of != of) {
            *place = Some(Kept { of, handle: register() });
        }
        let Some(kept) = place else { return false };
        record(&kept.handle);
        true
    });
    // The thread is about to end, or its recorder counts something while it counts this.
    if kept != Ok(true) {
        record(&register());
    }
}
