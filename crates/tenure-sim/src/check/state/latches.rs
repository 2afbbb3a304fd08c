//! Who may have arrived at a latch, and who must have.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use tenure_core::{LockName, Timestamp, proto::queue::Snapshot};

/// All latches of a run.
#[derive(Debug, Default)]
pub(in crate::check) struct Latches {
    /// How long after its caller has given it up a call can still take effect.
    pub(in crate::check) late: Duration,
    pub(in crate::check) names: BTreeMap<LockName, Latch>,
}

#[derive(Debug, Default)]
pub(in crate::check) struct Latch {
    pub(in crate::check) calls: Vec<Call>,
    pub(in crate::check) known: Vec<Known>,
    pub(in crate::check) wipes: Vec<Wipe>,
}

/// One call to arrive.
#[derive(Debug)]
pub(in crate::check) struct Call {
    pub(in crate::check) who: String,
    pub(in crate::check) keep: Duration,
    pub(in crate::check) begun: Timestamp,
    pub(in crate::check) ended: Option<Timestamp>,
}

/// Somebody was there at some moment between these two.
#[derive(Debug)]
pub(in crate::check) struct Known {
    pub(in crate::check) who: String,
    pub(in crate::check) from: Timestamp,
    pub(in crate::check) until: Timestamp,
}

/// Everybody was forgotten then, of whom these were there.
#[derive(Debug)]
pub(in crate::check) struct Wipe {
    pub(in crate::check) at: Timestamp,
    pub(in crate::check) there: Vec<String>,
}

/// What a look at a latch found, which was under way between these two moments.
#[derive(Clone, Copy, Debug)]
pub struct LatchObservation<'a> {
    /// When it was asked for.
    pub from: Timestamp,
    /// When it was answered.
    pub until: Timestamp,
    /// For how many the latch counts.
    pub count: u32,
    /// How many were said to be missing.
    pub remaining: u32,
    /// Who was said to be there, if that was said.
    pub who: Option<&'a [String]>,
}

impl Latch {
    /// Somebody was there, which makes older news of it worthless.
    pub(in crate::check) fn knows(&mut self, known: Known) {
        self.known.retain(|older| older.who != known.who || older.until >= known.from);
        self.known.push(known);
    }

    /// Who may have been there at `at`.
    fn possibly_arrived(&self, at: Timestamp, late: Duration) -> BTreeSet<&str> {
        let wiped = self.wipes.iter().map(|wipe| wipe.at).filter(|wiped| *wiped <= at).max();
        let may = |call: &&Call| {
            let last = call.ended.map(|ended| ended.saturating_add(late));
            let kept = last.is_none_or(|last| at <= last.saturating_add(call.keep));
            let after = last.is_none_or(|last| Some(last) >= wiped);
            call.begun <= at && kept && after
        };
        self.calls.iter().filter(may).map(|call| call.who.as_str()).collect()
    }

    /// Who must have been there all the time between these two moments.
    fn certainly_arrived(
        &self,
        from: Timestamp,
        until: Timestamp,
        late: Duration,
    ) -> BTreeSet<&str> {
        let must = |known: &&Known| {
            let wiped = self.wipes.iter().any(|wipe| wipe.at >= known.from && wipe.at <= until);
            known.until < from && !wiped && self.lasts(known, late) > until
        };
        self.known.iter().filter(must).map(|known| known.who.as_str()).collect()
    }

    /// How long somebody who was known to be there is there at least: any call of that time may be
    /// the one that counted.
    pub(in crate::check) fn lasts(&self, known: &Known, late: Duration) -> Timestamp {
        let counted = self.calls.iter().filter(|call| {
            let last = call.ended.map(|ended| ended.saturating_add(late).saturating_add(call.keep));
            call.who == known.who
                && call.begun <= known.until
                && last.is_none_or(|last| last >= known.from)
        });
        let lasts = counted.map(|call| call.begun.saturating_add(call.keep));
        lasts.min().unwrap_or(Timestamp::ZERO)
    }

    /// What is wrong with a look, if anything is.
    pub(in crate::check) fn wrong(
        &self,
        seen: &LatchObservation<'_>,
        late: Duration,
    ) -> Option<(&'static str, String)> {
        let LatchObservation { from, until, count, remaining, who } = *seen;
        let begun = self.calls.iter().map(|call| call.begun);
        let moments = begun.filter(|at| *at > from && *at <= until).chain([from]);
        let may: Vec<_> = moments.map(|at| self.possibly_arrived(at, late)).collect();
        let arrived = usize::try_from(count.saturating_sub(remaining)).unwrap_or(usize::MAX);
        let possible = may.iter().any(|may| {
            may.len() >= arrived
                && who.is_none_or(|who| who.iter().all(|who| may.contains(who.as_str())))
        });
        if !possible {
            let what = format!("{arrived} were said to have arrived, {who:?}, of at most {may:?}");
            return Some(("S1", what));
        }
        let must = self.certainly_arrived(from, until, late);
        let named = who.is_none_or(|who| must.iter().all(|must| who.iter().any(|who| who == must)));
        let fewer = must.len() > arrived && remaining > 0;
        (fewer || !named).then(|| {
            ("S6", format!("{arrived} were said to have arrived, {who:?}, of at least {must:?}"))
        })
    }
}

/// Who has arrived and let go, and was not forgotten.
pub(in crate::check) fn present_arrivals(snapshot: &Snapshot) -> Vec<String> {
    let kept = snapshot.holders.iter().filter(|holder| holder.lingering);
    kept.map(|holder| holder.label.clone()).collect()
}
