//! The primary of a service, as its sentinels name it.
//!
//! What a majority of them said is trusted for a while that is shorter than any failover takes. So who
//! is cut off together with a primary stops using it before another server is one.

mod client;
mod clients;
mod told;
mod verdict;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tenure_core::Fault;
use tokio::sync::{Notify, watch};

use self::clients::SentinelMajority;
pub(crate) use self::{
    clients::{SentinelClients, SentinelSurvey},
    verdict::Primary,
};
use crate::{
    options::{HostPort, RedisOptions, Sentinels},
    servers::spares::SpareConnections,
};

/// For so long a part of the time in which no majority can think that the primary is down an answer counts.
const COUNTS: u32 = 2;
/// The longest that it counts where nobody would hear of a failover that somebody asked for.
const UNHEARD: Duration = Duration::from_millis(200);
/// How often in that time they are asked by who has nothing else to do.
const ASKS: u32 = 3;
/// The shortest and the longest pause between two questions.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How many questions follow each other closely when sentinels tell of a failover: not all of them know
/// at the same time.
const HURRIED: u32 = 30;

/// The sentinels of a service, for all connections of a store.
#[derive(Debug)]
pub(crate) struct SentinelGroup {
    pub(crate) options: Arc<RedisOptions>,
    sentinels: Sentinels,
    state: Mutex<State>,
    /// Which of all answers was the last that was new.
    named: watch::Sender<Option<Primary>>,
    /// How many hear of failovers.
    following: AtomicUsize,
    /// As many as a majority have answered.
    is_there: AtomicBool,
    /// How many replicas there are.
    pub(crate) replicas: Arc<AtomicU32>,
    spares: SpareConnections,
}

#[derive(Debug)]
struct State {
    /// Where sentinels are: those that the user named, and those that a majority told of.
    known: Vec<HostPort>,
    /// How many there are: as many as the user named, or as a majority of so many said.
    of: usize,
    /// What a majority said last.
    said: Option<MajorityAnswer>,
    /// What was asked before says nothing: a server did not do what a primary does.
    doubted: Option<Instant>,
}

#[derive(Debug)]
struct MajorityAnswer {
    primary: Primary,
    /// When they were asked, and for how long the answer counts.
    asked: Instant,
    counts_for: Duration,
}

impl SentinelGroup {
    pub(crate) fn new(options: Arc<RedisOptions>, sentinels: Sentinels) -> Self {
        let mut known = sentinels.seeds.clone();
        known.sort_unstable();
        known.dedup();
        let state = State { of: known.len(), known, said: None, doubted: None };
        let (state, named) = (Mutex::new(state), watch::Sender::new(None));
        let (following, is_there) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (replicas, spares) = (Arc::default(), SpareConnections::default());
        Self { options, sentinels, state, named, following, is_there, replicas, spares }
    }

    pub(crate) fn service(&self) -> &str {
        &self.sentinels.service
    }

    /// The primary, if a majority said so a short while ago.
    pub(crate) fn primary(&self) -> Option<Primary> {
        self.with_current_answer(|said| said.primary.clone())
    }

    /// Whether a majority said a short while ago that this is the primary.
    pub(crate) fn trusts(&self, primary: &Primary) -> bool {
        self.with_current_answer(|said| said.primary == *primary).unwrap_or(false)
    }

    /// Of what a majority said, if it counts now.
    fn with_current_answer<T>(&self, of: impl FnOnce(&MajorityAnswer) -> T) -> Option<T> {
        let heard = self.following.load(Ordering::Relaxed) > 0;
        let state = lock(&self.state);
        let said = state.said.as_ref()?;
        let counts_for = if heard { said.counts_for } else { said.counts_for.min(UNHEARD) };
        (said.asked.elapsed() < counts_for).then(|| of(said))
    }

    /// That server did not do what a primary does, so they are asked again before it is used.
    pub(crate) fn suspect(&self, primary: &Primary) {
        let mut state = lock(&self.state);
        if state.said.as_ref().is_some_and(|said| said.primary == *primary) {
            state.said = None;
            state.doubted = Some(Instant::now());
        }
    }

    /// Asks all of them, and waits until a majority has said the same.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub(crate) async fn ask(&self, clients: &SentinelClients) -> Result<Primary, Fault> {
        let asked = Instant::now();
        let SentinelMajority { primary, patience, places, of, replicas } =
            clients.ask(self).await?;
        let mut state = lock(&self.state);
        let later = state.said.as_ref().is_some_and(|said| said.asked > asked);
        if later || state.doubted.is_some_and(|doubted| doubted > asked) {
            // Whoever wants to use it finds that this does not count, and asks again.
            return Ok(primary);
        }
        let seeds = &self.sentinels.seeds;
        let told = places.into_iter().filter(|place| !seeds.contains(place));
        state.known = seeds.iter().cloned().chain(told).take(Sentinels::MOST).collect();
        state.of = of;
        self.replicas.store(replicas, Ordering::Relaxed);
        let counts_for = patience / COUNTS;
        state.said = Some(MajorityAnswer { primary: primary.clone(), asked, counts_for });
        self.named.send_if_modified(|named| {
            let is_new = named.as_ref() != Some(&primary);
            if is_new {
                self.tell(named.as_ref(), &primary);
                *named = Some(primary.clone());
            }
            is_new
        });
        Ok(primary)
    }

    fn tell(&self, before: Option<&Primary>, now: &Primary) {
        let Some(before) = before else { return };
        let (service, epoch) = (self.service(), now.epoch);
        let place = format!("{}:{}", now.host, now.port);
        if before.epoch > now.epoch {
            // As after SENTINEL REMOVE and MONITOR.
            tracing::warn!(store = "redis", service, %place, epoch, "the sentinels started over");
        } else {
            tracing::info!(store = "redis", service, %place, epoch, "another primary");
        }
    }

    /// Asks all of them, unless somebody has begun to since the call.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub(crate) async fn ask_anew(&self, clients: &SentinelClients) -> Result<(), Fault> {
        let called = Instant::now();
        let _turn = clients.turn.lock().await;
        if lock(&self.state).said.as_ref().is_some_and(|said| said.asked >= called) {
            return Ok(());
        }
        self.ask(clients).await.map(drop)
    }

    /// Asks all of them, and says what each made of it.
    pub(crate) async fn survey(&self, clients: &SentinelClients) -> SentinelSurvey {
        clients.survey(self).await
    }

    /// Asks again and again, at once when one of them tells of a failover, so that nobody has to wait for
    /// it. After each failover `moved` is called.
    pub(crate) async fn follow(&self, moved: impl Fn() + Send) {
        let switched = Arc::new(Notify::new());
        let clients = SentinelClients::that_hears(switched.clone());
        let mut hears = None;
        let mut last: Option<Primary> = None;
        let (mut hurried, mut patience) = (0_u32, PAUSES.0);
        loop {
            match self.ask(&clients).await {
                Ok(_) => patience = PAUSES.0,
                Err(fault) => {
                    tracing::debug!(store = "redis", fault = %format_args!("{fault:#}"), "the primary is not known");
                    patience = (patience * 2).min(PAUSES.1);
                }
            }
            let of = lock(&self.state).of;
            hears = (clients.hears() > of / 2)
                .then(|| hears.unwrap_or_else(|| FailoverListener::new(&self.following)));
            // Somebody else may have heard of it first.
            let now = self.named();
            if last.is_some() && last != now {
                moved();
            }
            last = now;
            let pause = match hurried.checked_sub(1) {
                Some(left) => {
                    hurried = left;
                    PAUSES.0
                }
                None if self.primary().is_some() => self.pause(),
                None => patience,
            };
            if tokio::time::timeout(pause, switched.notified()).await.is_ok() {
                hurried = HURRIED;
                // One that says so without end is not asked without end.
                tokio::time::sleep(PAUSES.0 / 2).await;
            }
        }
    }

    fn pause(&self) -> Duration {
        let counts_for = lock(&self.state).said.as_ref().map_or(PAUSES.0, |said| said.counts_for);
        (counts_for / ASKS).clamp(PAUSES.0, PAUSES.1)
    }

    /// What a majority named last, whether that counts or not.
    pub(crate) fn named(&self) -> Option<Primary> {
        self.named.borrow().clone()
    }

    /// Whether as many as a majority have answered, whatever they said.
    pub(crate) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Relaxed)
    }

    /// Returns when another server is the primary, or the same after another failover.
    pub(crate) async fn wait_until_replaced(&self, primary: &Primary) {
        let mut named = self.named.subscribe();
        let other = |named: &Option<Primary>| named.as_ref().is_some_and(|named| named != primary);
        // The sender is here.
        let _ = named.wait_for(other).await;
    }

    /// Where sentinels are, and how many there are at least.
    pub(crate) fn known(&self) -> (Vec<HostPort>, usize) {
        let state = lock(&self.state);
        (state.known.clone(), state.of)
    }

    fn place(&self) -> String {
        self.options.location()
    }
}

/// Counts one who hears of failovers for as long as it lives.
struct FailoverListener<'a>(&'a AtomicUsize);

impl<'a> FailoverListener<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for FailoverListener<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_anybody_who_hears_of_fail_overs_an_answer_counts_for_a_moment() {
        let sentinels = Sentinels::new([("a", 1)], "m").unwrap();
        let group =
            SentinelGroup::new(Arc::new(RedisOptions::found_by(sentinels.clone())), sentinels);
        let primary = Primary { host: "b".to_owned(), port: 1, epoch: 1 };
        let asked = Instant::now().checked_sub(UNHEARD).unwrap();
        let counts_for = Duration::from_secs(60);
        lock(&group.state).said =
            Some(MajorityAnswer { primary: primary.clone(), asked, counts_for });
        assert!(!group.trusts(&primary) && group.primary().is_none());
        let hears = FailoverListener::new(&group.following);
        assert!(group.trusts(&primary) && group.primary().is_some());
        drop(hears);
        assert!(!group.trusts(&primary));
    }
}
