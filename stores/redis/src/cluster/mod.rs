//! The nodes of a cluster, and which of them has a lock.
//!
//! Nodes are asked one after another who has which slots, and each says of a command that another one has to
//! be asked. Of two answers the one with the greater epoch counts.

mod map;
mod panel;
mod redirect;
mod slots;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tenure_core::{Fault, FaultKind};
use tokio::sync::{Notify, watch};

pub(crate) use self::{
    map::{Map, Node, Place},
    panel::{Panel, no_cluster},
    redirect::Redirect,
    slots::{SLOTS, slot},
};
use crate::{RedisOptions, options::bracketed};

/// How many nodes are asked together when one did not do what it should.
const TOGETHER: usize = 5;
/// How long the others have to answer after the first one has.
const OTHERS: Duration = Duration::from_millis(100);
/// The pauses between two questions: when something is wrong, and when nothing is.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// How many questions follow each other closely when something was wrong.
const HURRIED: u32 = 30;

/// What is known of a cluster, for all connections of a store.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) options: Arc<RedisOptions>,
    seeds: Vec<Place>,
    state: Mutex<State>,
    /// One asks at a time.
    asking: tokio::sync::Mutex<()>,
    map: watch::Sender<Arc<Map>>,
    /// A node did not do what it should.
    doubts: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// When nodes were asked last, and when one has answered.
    asked: Option<Instant>,
    answered: Option<Instant>,
    /// Who did not do what they should since then.
    doubted: Vec<Place>,
    /// Counts questions, so that another one is asked each time.
    turn: usize,
}

impl Cluster {
    pub(crate) fn new(options: Arc<RedisOptions>, seeds: Vec<Place>) -> Self {
        let (state, asking) = (Mutex::default(), tokio::sync::Mutex::default());
        let (map, doubts) = (watch::Sender::default(), Notify::new());
        Self { options, seeds, state, asking, map, doubts }
    }

    /// What is known now.
    pub(crate) fn map(&self) -> Arc<Map> {
        self.map.borrow().clone()
    }

    /// What is known, now and later.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<Map>> {
        self.map.subscribe()
    }

    /// Where the slot is, unless something was wrong there.
    pub(crate) fn known(&self, slot: u16) -> Option<Place> {
        let place = self.map.borrow().owner(slot).map(|node| node.place.clone())?;
        (!self.doubts(&place)).then_some(place)
    }

    fn doubts(&self, place: &Place) -> bool {
        lock(&self.state).doubted.contains(place)
    }

    /// Where the slot is, asked for now if it is not known.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub(crate) async fn find(&self, panel: &Panel, slot: u16) -> Result<Place, Fault> {
        if let Some(place) = self.known(slot) {
            return Ok(place);
        }
        self.ask(panel, TOGETHER).await?;
        let place = self.map.borrow().owner(slot).map(|node| node.place.clone());
        place.ok_or_else(|| {
            let what = format!("no node of {} has slot {slot}", self.place());
            let cure = "see CLUSTER INFO and CLUSTER NODES; redis-cli --cluster fix gives each slot a node";
            Fault::new(FaultKind::Unreachable, what, cure)
        })
    }

    /// Asks so many nodes who has which slots, unless somebody has just done so.
    pub(crate) async fn ask(&self, panel: &Panel, count: usize) -> Result<(), Fault> {
        let came = Instant::now();
        let _alone = self.asking.lock().await;
        let mut places = {
            let mut state = lock(&self.state);
            let meanwhile = state.answered.is_some_and(|answered| answered > came);
            let lately = state.asked.is_some_and(|asked| asked.elapsed() < PAUSES.0);
            if meanwhile || lately && state.answered.is_some() {
                return Ok(());
            }
            state.asked = Some(came);
            state.turn = state.turn.wrapping_add(1);
            self.places(&state)
        };
        let mut told: Result<(), Fault> = Err(self.nobody());
        while told.is_err() && !places.is_empty() {
            let rest = places.split_off(count.min(places.len()));
            told = self.hear(panel, std::mem::replace(&mut places, rest)).await;
        }
        told
    }

    /// Whom to ask: those first of whom nothing is wrong, another one each time.
    fn places(&self, state: &State) -> Vec<Place> {
        let map = self.map();
        let mut places: Vec<_> = map.places().chain(&self.seeds).cloned().collect();
        places.sort_unstable();
        places.dedup();
        let turn = state.turn % places.len().max(1);
        places.rotate_left(turn);
        places.sort_by_key(|place| state.doubted.contains(place));
        places
    }

    /// Asks these, and takes what they say.
    async fn hear(&self, panel: &Panel, places: Vec<Place>) -> Result<(), Fault> {
        let ask = |place: Place| async move { panel.ask(&self.options, &place).await };
        let mut asking: FuturesUnordered<_> = places.into_iter().map(ask).collect();
        let (mut told, mut fault) = (Vec::new(), None);
        while let Some(answer) = asking.next().await {
            match answer {
                Ok(map) => {
                    told.push(map);
                    break;
                }
                Err(other) => fault = Some(other),
            }
        }
        if told.is_empty() {
            return Err(fault.unwrap_or_else(|| self.nobody()));
        }
        let others = async {
            while let Some(answer) = asking.next().await {
                told.extend(answer);
            }
        };
        // Who has not answered by now does not count.
        let _ = tokio::time::timeout(OTHERS, others).await;
        let known = self.map();
        let now = told.iter().fold((*known).clone(), |known, told| known.and(told));
        {
            let mut state = lock(&self.state);
            state.answered = Some(Instant::now());
            state.doubted.clear();
        }
        self.learn(now);
        Ok(())
    }

    fn learn(&self, now: Map) {
        self.map.send_if_modified(|known| {
            let is_new = **known != now;
            if is_new {
                if !known.nodes().is_empty() && !known.agrees(&now) {
                    tracing::info!(store = "redis", place = %self.place(), "slots have other owners");
                }
                *known = Arc::new(now);
            }
            is_new
        });
    }

    /// That node did not do what it should, so others are asked before it is used.
    pub(crate) fn suspect(&self, place: &Place) {
        let mut state = lock(&self.state);
        if !state.doubted.contains(place) && state.doubted.len() < self.map().nodes().len() {
            state.doubted.push(place.clone());
        }
        drop(state);
        self.doubts.notify_one();
    }

    /// A node says that this one has the slot.
    pub(crate) fn moved(&self, slot: u16, place: &Place) {
        self.learn(self.map().moved(slot, place.clone()));
        self.doubts.notify_one();
    }

    /// Returns when no node there has any slot.
    pub(crate) async fn has_no(&self, place: &Place) {
        let mut map = self.map.subscribe();
        // The sender is here.
        let _ = map.wait_for(|map| !map.has(place)).await;
    }

    /// Whether a node has answered.
    pub(crate) fn is_there(&self) -> bool {
        lock(&self.state).answered.is_some()
    }

    /// Asks again and again, more often when something was wrong, so that nobody has to wait for it. When
    /// slots have other owners `moved` is called.
    pub(crate) async fn follow(&self, moved: impl Fn() + Send) {
        let panel = Panel::default();
        let mut last: Option<Arc<Map>> = None;
        let mut hurried = 0_u32;
        loop {
            let count = if hurried > 0 { TOGETHER } else { 1 };
            if let Err(fault) = self.ask(&panel, count).await {
                tracing::debug!(store = "redis", %fault, "nobody tells who has which slots");
            }
            let now = self.map();
            if last.as_ref().is_some_and(|last| !last.nodes().is_empty() && !last.agrees(&now)) {
                moved();
            }
            last = Some(now);
            hurried = hurried.saturating_sub(1);
            let pause = if hurried > 0 { PAUSES.0 } else { PAUSES.1 };
            if tokio::time::timeout(pause, self.doubts.notified()).await.is_ok() {
                hurried = HURRIED;
                // Many doubts at once are one.
                tokio::time::sleep(PAUSES.0 / 2).await;
            }
        }
    }

    /// The epoch of the slot's owner.
    pub(crate) fn epoch(&self, slot: u16) -> u64 {
        self.map.borrow().owner(slot).map_or(0, |node| node.epoch)
    }

    /// Some node of which nothing wrong is known, asked for now.
    pub(crate) async fn any(&self, panel: &Panel) -> Result<Place, Fault> {
        self.ask(panel, 1).await?;
        let map = self.map();
        let state = lock(&self.state);
        let sound = |node: &&Node| !state.doubted.contains(&node.place);
        let sound: Vec<_> = map.nodes().iter().filter(sound).collect();
        let one = sound.get(state.turn % sound.len().max(1)).copied().or(map.nodes().first());
        one.map(|node| node.place.clone()).ok_or_else(|| self.nobody())
    }

    pub(crate) fn place(&self) -> String {
        self.options.location()
    }

    fn nobody(&self) -> Fault {
        let what = format!("none of the nodes of {} answers", self.place());
        let cure = "see that they run, that their hosts and ports in the URL are right, and that no \
                    firewall is between";
        Fault::new(FaultKind::Unreachable, what, cure)
    }
}

/// A place as it is written.
pub(crate) fn written(place: &Place) -> String {
    format!("{}:{}", bracketed(&place.0), place.1)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
