//! The nodes of a cluster, and which of them has a lock.
//!
//! Nodes are asked one after another who has which slots, and each says of a command that another one has to
//! be asked. Of two answers the one with the greater epoch counts.

mod about;
mod clients;
mod index;
mod map;
mod merge;
mod node;
mod redirect;
mod replaced;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tenure_core::{Fault, FaultKind};
use tokio::sync::{Notify, watch};

pub(crate) use self::{
    about::{myself, newest},
    clients::{NodeClients, no_cluster},
    map::{ClusterMap, NodeView},
    node::Node,
    redirect::Redirect,
};
use crate::{
    client::{Connection, Failure, HighestEpoch, text},
    options::{HostPort, RedisOptions, bracketed},
    servers::spares::SpareConnections,
};

/// How many nodes are asked together when one did not do what it should.
const TOGETHER: u32 = 5;
/// How many nodes are asked by one question. Those of which nothing is wrong come first, so the next question meets others.
const ASKED: usize = 256;
/// How long others have to answer after the first one has, and one before another one is asked.
const OTHERS: Duration = Duration::from_millis(100);
/// How many reasons are given why nobody answers.
const REASONS: usize = 6;
/// After how long without anything new a doubt is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(30);
/// The pauses between two questions: when something is wrong, and when nothing is.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// For how long an answer counts: longer than it takes who goes on asking to hear the next one.
const COUNTS: Duration = Duration::from_millis(1_500);

/// What is known of a cluster, for all connections of a store.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) options: Arc<RedisOptions>,
    seeds: Vec<HostPort>,
    state: Mutex<State>,
    map: watch::Sender<Arc<ClusterMap>>,
    /// By which tokens are ahead, at whichever node: one that gets a slot by force may have a lesser epoch than the
    /// one that had it, and knows of the greater one.
    pub(crate) epoch: HighestEpoch,
    /// A node did not do what it should.
    doubts: Notify,
    spares: SpareConnections,
}

#[derive(Debug, Default)]
struct State {
    /// When a question was over last, and what came of it.
    over: Option<(Instant, Result<(), FaultParts>)>,
    /// When one was asked that answered, if any ever was.
    heard: Option<Instant>,
    /// Who did not do what they should, and has not answered since then.
    doubts: Vec<SuspectNode>,
    /// Counts questions, so that another one is asked first each time.
    turn: usize,
}

/// That something was wrong at a place, and when last.
#[derive(Debug)]
struct SuspectNode {
    place: HostPort,
    last: Instant,
}

impl State {
    /// Whether something was wrong there a moment ago.
    fn doubts_now(&self, place: &HostPort) -> bool {
        let fresh = |doubt: &SuspectNode| doubt.place == *place && doubt.last.elapsed() < PAUSES.1;
        self.doubts.iter().any(fresh)
    }

    fn doubts(&self, place: &HostPort) -> bool {
        self.doubts.iter().any(|doubt| doubt.place == *place)
    }

    /// Nothing is wrong at these any more.
    fn clear(&mut self, sound: impl Fn(&HostPort) -> bool) {
        self.doubts.retain(|doubt| !sound(&doubt.place));
    }
}

/// A fault of which several can be told.
type FaultParts = (FaultKind, String, String);

/// How nodes are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryMode {
    /// Until one answers.
    OneByOne,
    SeveralAtOnce,
}

impl Cluster {
    pub(crate) fn new(options: Arc<RedisOptions>, seeds: Vec<HostPort>) -> Self {
        let (state, map, doubts) = (Mutex::default(), watch::Sender::default(), Notify::new());
        Self {
            options,
            seeds,
            state,
            map,
            epoch: HighestEpoch::default(),
            doubts,
            spares: SpareConnections::default(),
        }
    }

    /// What is known now.
    pub(crate) fn map(&self) -> Arc<ClusterMap> {
        self.map.borrow().clone()
    }

    /// What is known, now and later.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<ClusterMap>> {
        self.map.subscribe()
    }

    /// Where the slot is, unless something was wrong there, or nobody has said so for long.
    pub(crate) fn trusted_location(&self, slot: u16) -> Option<HostPort> {
        let place = self.last_location(slot)?;
        let state = lock(&self.state);
        let counts = state.heard.is_some_and(|heard| heard.elapsed() < COUNTS);
        let is_known = counts && !state.doubts_now(&place);
        drop(state);
        is_known.then_some(place)
    }

    /// Where the slot was said to be last.
    fn last_location(&self, slot: u16) -> Option<HostPort> {
        self.map.borrow().owner(slot).map(|node| node.place.clone())
    }

    /// Whether the node there still has this epoch, as far as is known: else it may have been replaced meanwhile.
    pub(crate) fn is_same(&self, place: &HostPort, epoch: u64) -> bool {
        let same = |node: &Node| node.id.is_empty() || node.epoch <= epoch;
        self.map.borrow().at(place).is_none_or(same)
    }

    /// Where the slot is, asked for now if it is not known.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub(crate) async fn find(&self, clients: &NodeClients, slot: u16) -> Result<HostPort, Fault> {
        if let Some(place) = self.trusted_location(slot) {
            return Ok(place);
        }
        // Nothing may be wrong, and it was only said long ago.
        let named = self.last_location(slot);
        let is_doubted = named.is_none_or(|place| lock(&self.state).doubts_now(&place));
        let manner = if is_doubted { QueryMode::SeveralAtOnce } else { QueryMode::OneByOne };
        self.ask(clients, manner).await?;
        self.last_location(slot).ok_or_else(|| {
            let what = format!("no node of {} has slot {slot}", self.place());
            let help = "see CLUSTER INFO and CLUSTER NODES; redis-cli --cluster fix gives each slot a node";
            Fault::new(FaultKind::Unreachable, what, help)
        })
    }

    /// Asks nodes who has which slots, unless somebody has just done so.
    pub(crate) async fn ask(&self, clients: &NodeClients, manner: QueryMode) -> Result<(), Fault> {
        let came = Instant::now();
        let _alone = clients.asking.lock().await;
        let places = {
            let mut state = lock(&self.state);
            if let Some((over, outcome)) = &state.over
                && (*over > came || over.elapsed() < PAUSES.0)
            {
                let again = |(kind, what, help): FaultParts| Fault::new(kind, what, help);
                return outcome.clone().map_err(again);
            }
            state.turn = state.turn.wrapping_add(1);
            self.places(&state)
        };
        let outcome = self.query_nodes(clients, places, manner).await;
        if outcome.is_ok() {
            let mut state = lock(&self.state);
            state.heard = state.heard.max(Some(came));
        }
        let told =
            |fault: &Fault| (fault.kind(), fault.message_and_cause(), fault.help().to_owned());
        lock(&self.state).over = Some((Instant::now(), outcome.as_ref().copied().map_err(told)));
        outcome
    }

    /// Whom to ask: those first of whom nothing is wrong, another one each time.
    fn places(&self, state: &State) -> Vec<HostPort> {
        let map = self.map();
        let mut places: Vec<_> = map.places().chain(&self.seeds).cloned().collect();
        places.sort_unstable();
        places.dedup();
        let turn = state.turn % places.len().max(1);
        places.rotate_left(turn);
        let doubted: HashSet<_> = state.doubts.iter().map(|doubt| &doubt.place).collect();
        places.sort_by_key(|place| doubted.contains(place));
        places.truncate(ASKED);
        places
    }

    /// Asks these until one answers that knows a node that is known, and takes what it says. Those who know
    /// none are of another cluster, or of this one after all of it was replaced: they count when all were
    /// asked.
    async fn query_nodes(
        &self,
        clients: &NodeClients,
        places: Vec<HostPort>,
        manner: QueryMode,
    ) -> Result<(), Fault> {
        let ask = |(number, place): (usize, HostPort)| async move {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let turn = if manner == QueryMode::OneByOne { number } else { number / TOGETHER };
            tokio::time::sleep(OTHERS.saturating_mul(turn)).await;
            (clients.ask(&self.options, &self.spares, &place).await, place)
        };
        let mut asking: FuturesUnordered<_> = places.into_iter().enumerate().map(ask).collect();
        let (mut ours, mut others, mut faults) = (Vec::new(), Vec::new(), Vec::new());
        while ours.is_empty()
            && let Some((answer, place)) = asking.next().await
        {
            match answer {
                Ok(told) if told.is_of(&self.map()) => ours.push((told, place)),
                Ok(told) => others.push((told, place)),
                Err(other) => {
                    self.doubt(&place);
                    faults.push(other);
                }
            }
        }
        if manner == QueryMode::SeveralAtOnce && !ours.is_empty() {
            let rest = async {
                while let Some((answer, place)) = asking.next().await {
                    let told = answer.ok().filter(|told| told.is_of(&self.map()));
                    ours.extend(told.map(|told| (told, place)));
                }
            };
            // Who has not answered by now does not count.
            let _ = tokio::time::timeout(OTHERS, rest).await;
        }
        let (is_replaced, judged) = (ours.is_empty(), self.map());
        let told = if is_replaced { self.credible_replacements(others) } else { ours };
        if told.is_empty() {
            return Err(self.silence(faults));
        }
        // Before the map is taken: who has the state may want the map.
        let doubted: Vec<_> =
            lock(&self.state).doubts.iter().map(|doubt| doubt.place.clone()).collect();
        self.update_map(|known| {
            let is_replaced = is_replaced && *known == *judged;
            let known = if is_replaced { ClusterMap::default() } else { known.clone() };
            // Somebody else may have heard of another cluster meanwhile.
            let and = |known: ClusterMap, told: &NodeView| {
                if !told.is_of(&known) {
                    return known;
                }
                // Before it is known who has which slots now.
                self.epoch.raise_to(told.epoch());
                known.merge(told, &doubted)
            };
            told.iter().fold(known, |known, (told, _)| and(known, told))
        });
        lock(&self.state).clear(|place| told.iter().any(|(_, answered)| answered == place));
        Ok(())
    }

    /// Of those who know no node that is known the ones who count: where a node was there is another one, or
    /// none has answered for long.
    fn credible_replacements(
        &self,
        mut others: Vec<(NodeView, HostPort)>,
    ) -> Vec<(NodeView, HostPort)> {
        // One that lost all it knew, or was told to forget it, replaces nothing.
        others.retain(|(told, _)| !told.map.nodes().is_empty());
        let heard = lock(&self.state).heard;
        if heard.is_some_and(|heard| heard.elapsed() < FORGOTTEN) {
            let map = self.map();
            others.retain(|(_, place)| map.places().any(|known| known == place));
        }
        others
    }

    /// Takes over what is known now.
    fn update_map(&self, now: impl FnOnce(&ClusterMap) -> ClusterMap) {
        self.map.send_if_modified(|known| {
            let now = now(known);
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

    /// Remembers it of a place until it answers; whether that is new.
    fn doubt(&self, place: &HostPort) -> bool {
        let last = Instant::now();
        let mut state = lock(&self.state);
        state.doubts.retain(|doubt| doubt.last.elapsed() < FORGOTTEN);
        if let Some(doubt) = state.doubts.iter_mut().find(|doubt| doubt.place == *place) {
            doubt.last = last;
            return false;
        }
        state.doubts.push(SuspectNode { place: place.clone(), last });
        true
    }

    /// A connection to that node could be opened.
    pub(crate) fn trust(&self, place: &HostPort) {
        lock(&self.state).clear(|sound| sound == place);
    }

    /// That node did not do what it should, so others are asked before it is used.
    pub(crate) fn suspect(&self, place: &HostPort) {
        if self.doubt(place) {
            self.doubts.notify_one();
        }
    }

    /// Asks a node which epochs it knows.
    pub(crate) async fn query_epochs(&self, connection: &Connection) -> Result<(), Failure> {
        let told = connection.send(&["CLUSTER", "NODES"]).await?;
        self.epoch.raise_to(newest(&text(&told).ok_or(Failure::Nonsense)?));
        Ok(())
    }

    /// A node says that this one has the slot.
    pub(crate) fn moved(&self, slot: u16, place: &HostPort) {
        self.update_map(|known| known.moved(slot, place));
        self.doubts.notify_one();
    }

    /// Returns when the node there has no slots any more, or a greater epoch than this: it may have been
    /// replaced and come back meanwhile.
    pub(crate) async fn wait_until_replaced(&self, place: &HostPort, epoch: u64) {
        let mut map = self.map.subscribe();
        // One that gets its first slot is not there yet.
        let mut had = false;
        let leaves = |map: &Arc<ClusterMap>| match map.at(place) {
            Some(node) => {
                had = true;
                !node.id.is_empty() && node.epoch > epoch
            }
            None => had,
        };
        // The sender is here.
        let _ = map.wait_for(leaves).await;
    }

    /// Whether a node has answered.
    pub(crate) fn has_answered(&self) -> bool {
        lock(&self.state).heard.is_some()
    }

    /// Asks again and again, more often when something was wrong, so that nobody has to wait for it. When
    /// slots have other owners `moved` is called.
    pub(crate) async fn follow(&self, moved: impl Fn() + Send) {
        let clients = NodeClients::default();
        let mut last: Option<Arc<ClusterMap>> = None;
        let mut pause = PAUSES.1;
        loop {
            let manner =
                if pause < PAUSES.1 { QueryMode::SeveralAtOnce } else { QueryMode::OneByOne };
            if let Err(fault) = self.ask(&clients, manner).await {
                tracing::debug!(store = "redis", fault = %format_args!("{fault:#}"), "no node says which node has which slots");
            }
            let now = self.map();
            if last.as_ref().is_some_and(|last| !last.nodes().is_empty() && !last.agrees(&now)) {
                moved();
            }
            last = Some(now);
            if tokio::time::timeout(pause, self.doubts.notified()).await.is_ok() {
                pause = PAUSES.0;
                // Many doubts at once are one.
                tokio::time::sleep(PAUSES.0 / 2).await;
            } else {
                // What takes longer to change is asked for less often.
                pause = (pause + pause / 4).min(PAUSES.1);
            }
        }
    }

    /// Some node of which nothing wrong is known, asked for now.
    pub(crate) async fn any(&self, clients: &NodeClients) -> Result<HostPort, Fault> {
        self.ask(clients, QueryMode::OneByOne).await?;
        let map = self.map();
        let state = lock(&self.state);
        let sound = |node: &&Node| !state.doubts(&node.place);
        let sound: Vec<_> = map.nodes().iter().filter(sound).collect();
        let one = sound.get(state.turn % sound.len().max(1)).copied().or(map.nodes().first());
        one.map(|node| node.place.clone()).ok_or_else(|| self.nobody())
    }

    pub(crate) fn place(&self) -> String {
        self.options.location()
    }

    /// What it means that none answered.
    fn silence(&self, mut faults: Vec<Fault>) -> Fault {
        // Nobody has to wait for what no time will change.
        if !faults.is_empty() && faults.iter().all(|fault| !fault.is_transient()) {
            return faults.swap_remove(0);
        }
        let why: Vec<_> = faults.iter().take(REASONS).map(Fault::message_and_cause).collect();
        if why.is_empty() { self.nobody() } else { self.nobody().because(why.join("; ")) }
    }

    fn nobody(&self) -> Fault {
        let what = format!("none of the nodes of {} answers", self.place());
        let help = "check that they run, that their hosts and ports in the URL are right, and that no \
                    firewall is between";
        Fault::new(FaultKind::Unreachable, what, help)
    }
}

/// A place as it is written.
pub(crate) fn written(place: &HostPort) -> String {
    format!("{}:{}", bracketed(&place.0), place.1)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
