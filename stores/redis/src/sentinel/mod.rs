//! The primary of a service, as its sentinels name it.
//!
//! What a majority of them said is trusted for a while that is shorter than any fail-over takes. So who
//! is cut off together with a primary stops using it before another server is one.

mod panel;
mod seat;
mod told;
mod verdict;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tenure_core::Fault;
use tokio::sync::{Notify, watch};

use self::panel::Agreed;
pub(crate) use self::{
    panel::{Panel, Survey},
    verdict::Primary,
};
use crate::{RedisOptions, Sentinels};

/// For so long a part of the time in which no sentinel can think that the primary is down an answer counts.
const COUNTS: u32 = 2;
/// How often in that time they are asked by who has nothing else to do.
const ASKS: u32 = 3;
/// The shortest and the longest pause between two questions.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How many questions follow each other closely when sentinels tell of a fail-over: not all of them know
/// at the same time.
const HURRIED: u32 = 30;

/// The sentinels of a service, for all connections of a store.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) options: Arc<RedisOptions>,
    sentinels: Sentinels,
    known: Mutex<Vec<(String, u16)>>,
    /// What a majority said last.
    said: Mutex<Option<Said>>,
    /// Which of all answers was the last that was new.
    named: watch::Sender<Option<Primary>>,
}

#[derive(Debug)]
struct Said {
    primary: Primary,
    /// When they were asked, and for how long the answer counts.
    asked: Instant,
    counts_for: Duration,
}

impl Group {
    pub(crate) fn new(options: Arc<RedisOptions>, sentinels: Sentinels) -> Self {
        let known = Mutex::new(sentinels.seeds.clone());
        Self { options, sentinels, known, said: Mutex::default(), named: watch::Sender::new(None) }
    }

    pub(crate) fn service(&self) -> &str {
        &self.sentinels.service
    }

    /// The primary, if a majority said so a short while ago.
    pub(crate) fn primary(&self) -> Option<Primary> {
        let said = lock(&self.said);
        let counts = |said: &&Said| said.asked.elapsed() < said.counts_for;
        said.as_ref().filter(counts).map(|said| said.primary.clone())
    }

    /// Whether a majority said a short while ago that this is the primary.
    pub(crate) fn trusts(&self, primary: &Primary) -> bool {
        let said = lock(&self.said);
        said.as_ref()
            .is_some_and(|said| said.primary == *primary && said.asked.elapsed() < said.counts_for)
    }

    /// That server did not do what a primary does, so they are asked again before it is used.
    pub(crate) fn suspect(&self, primary: &Primary) {
        let mut said = lock(&self.said);
        if said.as_ref().is_some_and(|said| said.primary == *primary) {
            *said = None;
        }
    }

    /// Asks all of them, and waits until a majority has said the same.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub(crate) async fn ask(&self, panel: &Panel) -> Result<Primary, Fault> {
        let asked = Instant::now();
        let Agreed { primary, patience, places } = panel.ask(self).await?;
        let mut known = self.sentinels.seeds.clone();
        known.extend(places.into_iter().filter(|place| !self.sentinels.seeds.contains(place)));
        known.truncate(Sentinels::MOST);
        *lock(&self.known) = known;
        let counts_for = patience / COUNTS;
        *lock(&self.said) = Some(Said { primary: primary.clone(), asked, counts_for });
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
            tracing::warn!(store = "redis", service, %place, epoch, "the sentinels began anew");
        } else {
            tracing::info!(store = "redis", service, %place, epoch, "another primary");
        }
    }

    /// Asks all of them, and says what each made of it.
    pub(crate) async fn survey(&self, panel: &Panel) -> Survey {
        panel.survey(self).await
    }

    /// Asks again and again, at once when one of them tells of a fail-over, so that nobody has to wait for
    /// it.
    pub(crate) async fn follow(&self) {
        let switched = Arc::new(Notify::new());
        let panel = Panel::that_hears(switched.clone());
        let (mut hurried, mut patience) = (0_u32, PAUSES.0);
        loop {
            match self.ask(&panel).await {
                Ok(_) => patience = PAUSES.0,
                Err(fault) => {
                    tracing::debug!(store = "redis", %fault, "the primary is not known");
                    patience = (patience * 2).min(PAUSES.1);
                }
            }
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
            }
        }
    }

    fn pause(&self) -> Duration {
        let said = lock(&self.said);
        let counts_for = said.as_ref().map_or(PAUSES.0, |said| said.counts_for);
        (counts_for / ASKS).clamp(PAUSES.0, PAUSES.1)
    }

    /// Returns when another server is the primary, or the same after another fail-over.
    pub(crate) async fn is_not(&self, primary: &Primary) {
        let mut named = self.named.subscribe();
        let other = |named: &Option<Primary>| named.as_ref().is_some_and(|named| named != primary);
        // The sender is here.
        let _ = named.wait_for(other).await;
    }

    /// Where sentinels are: those that the user named, and those that a majority told of.
    fn known(&self) -> Vec<(String, u16)> {
        lock(&self.known).clone()
    }

    fn place(&self) -> String {
        self.options.location()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
