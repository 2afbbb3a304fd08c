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
    register: impl FnOnce() -> H,
    record: impl FnOnce(&H),
) {
    let Some(term) = term.of(recorder) else { return record(&register()) };
    let of = (series, recorder, term);
    // The place is free meanwhile: the recorder may count something else.
    let kept = change(series, |place| place.take_if(|kept| kept.of == of));
    let kept = kept.unwrap_or_else(|| Kept { of, handle: register() });
    record(&kept.handle);
    // What is replaced is dropped when the places can be used again.
    drop(change(series, |place| place.replace(kept)));
}

/// Changes the place of a series; `None` if this thread is about to end.
fn change<H: Keep>(
    series: usize,
    change: impl FnOnce(&mut Option<Kept<H>>) -> Option<Kept<H>>,
) -> Option<Kept<H>> {
    let changed = H::places().try_with(|places| {
        let mut places = places.try_borrow_mut().ok()?;
        if places.is_empty() {
            places.resize_with(PLACES, || None);
        }
        change(places.get_mut(series % PLACES)?)
    });
    changed.ok().flatten()
}
