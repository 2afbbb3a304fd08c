//! Which connection a call takes, and how many there are.
//!
//! A process with one lock has two: one for what callers ask, and its own one for messages, renewals and what tenure
//! does by itself. There are more for as long as calls are in each other's way, where one hangs, and while histories are
//! written.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tenure_core::Fault;
use tenure_sql::AbandonedCallState;
use tokio::time::Instant;

use crate::connection::{
    lane::{ConnectionFactory, ConnectionSlot},
    open::Connection,
};

/// One whose first call was not answered for so long gets no other while there is a better one.
const SLOW: Duration = Duration::from_millis(100);
/// One whose first call was not answered for so long may hang, and another one is made instead.
const HANGS: Duration = Duration::from_secs(1);
/// How many more than all lanes there may be for a while, because of those that hang.
const SPARE: usize = 2;

/// One more than two that was not used for so long is closed, and how often it is looked.
const NEEDED: Duration = Duration::from_secs(10);
const TIDIES: Duration = Duration::from_secs(5);
/// How often it is looked whether what was left is answered.
const LOOKS: Duration = Duration::from_millis(5);

pub(crate) struct ConnectionPool {
    maker: ConnectionFactory,
    /// For messages, and for what tenure does by itself.
    pub(crate) own: ConnectionSlot,
    callers: Vec<ConnectionSlot>,
    /// For renewals, where all others are busy.
    renewals: ConnectionSlot,
    /// For histories, which hold up nothing else.
    histories: ConnectionSlot,
    crowd: Mutex<ContentionScore>,
}

/// Whether calls are in each other's way, and not only for a moment.
#[derive(Debug, Default)]
struct ContentionScore {
    score: u32,
    last: Option<Instant>,
}

/// So many calls in a row that find others before them are a crowd.
const CROWD: u32 = 60;
/// A pause of this length ends it.
const PAUSE: Duration = Duration::from_millis(50);

impl ContentionScore {
    fn record_call(&mut self, now: Instant, is_busy: bool) -> bool {
        if self.last.is_none_or(|last| now - last > PAUSE) {
            self.score = 0;
        }
        self.last = Some(now);
        // Two that always come at the same time are a crowd, too: every second call finds another one before it.
        self.score = if is_busy { self.score + 2 } else { self.score.saturating_sub(1) };
        let grows = self.score >= 2 * CROWD;
        if grows {
            self.score = 0;
        }
        grows
    }
}

impl Connection {
    fn is_slow(&self) -> bool {
        self.flights.oldest() > SLOW
    }
}

/// For how long an answer has been waited for.
fn waits(one: &Arc<Connection>) -> Duration {
    one.flights.oldest()
}

fn is_among(one: &Arc<Connection>, others: &[Arc<Connection>]) -> bool {
    others.iter().any(|other| Arc::ptr_eq(one, other))
}

impl ConnectionPool {
    pub(crate) fn new(maker: &ConnectionFactory, callers: usize) -> Arc<Self> {
        let lane = || ConnectionSlot::new(maker.clone());
        Arc::new(Self {
            own: lane(),
            callers: (0..callers).map(|_| lane()).collect(),
            renewals: lane(),
            histories: lane(),
            crowd: Mutex::default(),
            maker: maker.clone(),
        })
    }

    fn open(&self) -> Vec<Arc<Connection>> {
        self.callers.iter().filter_map(ConnectionSlot::open).collect()
    }

    fn all_open(&self) -> Vec<Arc<Connection>> {
        // The own one first: one more for renewals that each renewal took would never go again.
        let others = [self.own.open(), self.renewals.open()];
        others.into_iter().flatten().chain(self.open()).collect()
    }

    /// A connection for what a caller asks.
    pub(crate) async fn for_caller(self: &Arc<Self>) -> Result<Arc<Connection>, Fault> {
        let mut least: Option<(usize, Arc<Connection>)> = None;
        for open in self.callers.iter().filter_map(ConnectionSlot::open) {
            let (load, oldest) = open.flights.count_and_age();
            if oldest <= SLOW && least.as_ref().is_none_or(|(least, _)| load < *least) {
                least = Some((load, open));
            }
            if load == 0 {
                break;
            }
        }
        if let Some((load, least)) = least {
            self.record_contention(load > 0);
            return Ok(least);
        }
        if let Some(closed) = self.callers.iter().find(|lane| lane.open().is_none()) {
            return closed.get().await.or_else(|fault| self.most_responsive().ok_or(fault));
        }
        let slowest = self.callers.iter().max_by_key(|lane| lane.open().as_ref().map(waits));
        if let Some((lane, open)) = slowest.and_then(|lane| Some((lane, lane.open()?)))
            && open.flights.oldest() > HANGS
            && self.maker.count.all() < self.callers.len() + 3 + SPARE
        {
            return lane
                .get_another(Some(&open))
                .await
                .or_else(|fault| self.most_responsive().ok_or(fault));
        }
        match self.most_responsive() {
            Some(any) => Ok(any),
            None => self.own.get().await,
        }
    }

    /// The one that is most likely to answer soon.
    fn most_responsive(&self) -> Option<Arc<Connection>> {
        self.all_open().into_iter().min_by_key(waits)
    }

    /// Opens one more where calls are in each other's way for more than a moment. Nobody waits for it.
    fn record_contention(self: &Arc<Self>, is_busy: bool) {
        let mut crowd = self.crowd.lock().unwrap_or_else(PoisonError::into_inner);
        let grows = crowd.record_call(Instant::now(), is_busy);
        drop(crowd);
        if grows {
            let lanes = self.clone();
            self.maker.home.spawn(async move {
                // Whoever renews is not to wait behind all of them.
                let _ = lanes.renewals.get().await;
                if let Some(closed) = lanes.callers.iter().find(|lane| lane.open().is_none()) {
                    let _ = closed.get().await;
                }
            });
        }
    }

    /// A connection for what tenure does by itself.
    pub(crate) async fn for_engine(self: &Arc<Self>) -> Result<Arc<Connection>, Fault> {
        match self.own.open().filter(|own| !own.is_slow()) {
            Some(own) => Ok(own),
            None => self.for_caller().await,
        }
    }

    /// The connection for histories. Where the server has none to spare the history is lost: over one of callers, locks
    /// would wait behind it.
    pub(crate) async fn for_history(&self) -> Result<Arc<Connection>, Fault> {
        self.histories.get().await
    }

    /// A connection for a renewal, other than these: one over which nothing is under way, so that nothing is known that
    /// would hold it up.
    pub(crate) async fn for_renewal(
        &self,
        but: &[Arc<Connection>],
    ) -> Result<Arc<Connection>, Fault> {
        let all: Vec<_> = self.all_open().into_iter().filter(|one| !is_among(one, but)).collect();
        if let Some(free) = all.iter().find(|open| open.flights.load() == 0) {
            return Ok(free.clone());
        }
        let fresh = self.renewal_connection(but).await;
        fresh.or_else(|fault| all.into_iter().min_by_key(waits).ok_or(fault))
    }

    /// The connection for renewals, made anew where that is one of these.
    pub(crate) async fn renewal_connection(
        &self,
        but: &[Arc<Connection>],
    ) -> Result<Arc<Connection>, Fault> {
        let old = self.renewals.open().filter(|old| is_among(old, but) || old.is_slow());
        self.renewals.get_another(old.as_ref()).await
    }

    /// Makes that connection ahead.
    pub(crate) fn preopen_renewal(self: &Arc<Self>, but: Vec<Arc<Connection>>) {
        let lanes = self.clone();
        self.maker.home.spawn(async move { lanes.renewal_connection(&but).await.map(drop) });
    }

    /// Closes those that nobody needs any more, now and then.
    pub(crate) async fn tidy(lanes: Weak<Self>) {
        loop {
            tokio::time::sleep(TIDIES).await;
            let Some(lanes) = lanes.upgrade() else { return };
            let mut callers = lanes.open();
            // One of them stays.
            if let Some(used) = (0..callers.len())
                .min_by_key(|index| callers.get(*index).map(|open| open.flights.idle()))
            {
                callers.swap_remove(used);
            }
            let own_is_there = lanes.own.open().is_some();
            let renewals = lanes.renewals.open().filter(|_| own_is_there);
            for open in callers.into_iter().chain(renewals).chain(lanes.histories.open()) {
                if open.flights.idle() > NEEDED {
                    open.retire();
                }
            }
            lanes.all_open();
            lanes.histories.open();
        }
    }

    /// Waits until what callers did not wait for any more is answered, for so long at most.
    pub(crate) async fn settle(&self, limit: Duration) -> AbandonedCallState {
        let left: Vec<_> = self
            .all_open()
            .into_iter()
            .filter_map(|open| open.flights.last_abandoned().map(|number| (open, number)))
            .collect();
        let leaving = self.maker.leaving.last();
        if left.is_empty() && leaving.is_none() {
            return AbandonedCallState::Nothing;
        }
        let until = Instant::now() + limit;
        while leaving.is_some_and(|number| !self.maker.leaving.is_over(number)) {
            if Instant::now() >= until {
                return AbandonedCallState::Open;
            }
            tokio::time::sleep(LOOKS).await;
        }
        for (open, number) in &left {
            while open.is_usable() && !open.flights.is_answered(*number) {
                if Instant::now() >= until {
                    return AbandonedCallState::Open;
                }
                tokio::time::sleep(LOOKS).await;
            }
        }
        AbandonedCallState::Answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_what_lasts() {
        let mut crowd = ContentionScore::default();
        let (now, step) = (Instant::now(), Duration::from_millis(1));
        // Ten that come at the same moment, with three calls each.
        assert!((0..30).all(|call| !crowd.record_call(now + step * call, call % 10 > 0)));
        // The same again, a second later.
        let later = now + Duration::from_secs(1);
        assert!((0..30).all(|call| !crowd.record_call(later + step * call, call % 10 > 0)));
        // Two that go on.
        let mut pairs = (0..1_000).map(|call| crowd.record_call(later + step * call, call % 2 > 0));
        assert!(pairs.any(|grows| grows));
        // One after the other.
        let latest = later + Duration::from_secs(10);
        assert!((0..1_000).all(|call| !crowd.record_call(latest + step * call, false)));
    }
}
