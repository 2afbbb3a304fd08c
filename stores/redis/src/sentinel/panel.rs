//! Asking the sentinels of a service, over connections that are kept.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tenure_core::{Fault, FaultKind};
use tokio::sync::Notify;

use super::{
    Group, lock,
    seat::{Place, Seat},
    verdict::{Primary, Told, Verdict, counts, verdict},
};
use crate::Sentinels;

/// Connections to sentinels, of one task or one runtime.
#[derive(Debug, Default)]
pub(crate) struct Panel {
    seats: Mutex<Vec<Arc<Seat>>>,
    /// Who is told when a sentinel tells of a fail-over.
    switched: Option<Arc<Notify>>,
}

/// What a majority says.
pub(super) struct Agreed {
    pub(super) primary: Primary,
    /// For how long none of them will think that it is down.
    pub(super) patience: Duration,
    /// Where those who answered say that others are.
    pub(super) places: Vec<Place>,
}

/// What each of them made of the question.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) answered: usize,
    /// How many there are, as far as those know who answered.
    pub(crate) of: usize,
    /// How many say the same, at most.
    pub(crate) alike: usize,
    pub(crate) faults: Vec<Fault>,
}

/// What was answered so far.
#[derive(Default)]
struct Heard {
    answers: Vec<Told>,
    faults: Vec<Fault>,
    /// Where those who answered say that others are.
    places: Vec<Place>,
}

impl Panel {
    /// One that hears of fail-overs.
    pub(super) fn that_hears(switched: Arc<Notify>) -> Self {
        Self { seats: Mutex::default(), switched: Some(switched) }
    }

    /// Asks until a majority has said the same.
    pub(super) async fn ask(&self, group: &Group) -> Result<Agreed, Fault> {
        let mut heard = self.hear(group, |said| matches!(said, Verdict::Agreed { .. })).await;
        match verdict(&heard.answers) {
            Verdict::Agreed { primary, patience } => {
                let mut twice = HashSet::new();
                heard.places.retain(|place| twice.insert(place.clone()));
                Ok(Agreed { primary, patience, places: heard.places })
            }
            undecided => Err(unknown(group, &undecided, &heard.faults)),
        }
    }

    /// Asks all of them.
    pub(super) async fn survey(&self, group: &Group) -> Survey {
        let Heard { answers, faults, .. } = self.hear(group, |_| false).await;
        let (answered, of, alike) = counts(&answers);
        Survey { answered, of, alike, faults }
    }

    /// Asks all sentinels together, those too that the answers tell of, until they say enough.
    async fn hear(&self, group: &Group, enough: fn(&Verdict) -> bool) -> Heard {
        let places = group.known();
        lock(&self.seats).retain(|seat| places.contains(&seat.place));
        let mut asked: HashSet<Place> = places.iter().cloned().collect();
        let mut asking: FuturesUnordered<_> =
            places.into_iter().map(|place| self.ask_one(group, place)).collect();
        let mut heard = Heard::default();
        let all = async {
            while let Some(answer) = asking.next().await {
                match answer {
                    Ok((told, others)) => {
                        heard.answers.push(told);
                        if enough(&verdict(&heard.answers)) {
                            heard.places.extend(others);
                            return;
                        }
                        for place in &others {
                            if asked.len() < Sentinels::MOST && asked.insert(place.clone()) {
                                asking.push(self.ask_one(group, place.clone()));
                            }
                        }
                        heard.places.extend(others);
                    }
                    Err(fault) => heard.faults.push(fault),
                }
            }
        };
        // Who has not answered by now does not count.
        let _ = tokio::time::timeout(group.options.connect_timeout, all).await;
        heard
    }

    async fn ask_one(&self, group: &Group, place: Place) -> Result<(Told, Vec<Place>), Fault> {
        self.seat(place).ask(group, self.switched.as_ref()).await
    }

    fn seat(&self, place: Place) -> Arc<Seat> {
        let mut seats = lock(&self.seats);
        if let Some(seat) = seats.iter().find(|seat| seat.place == place) {
            return seat.clone();
        }
        let seat = Arc::new(Seat::new(place));
        seats.push(seat.clone());
        seat
    }
}

/// Why nobody knows which server is the primary.
fn unknown(group: &Group, verdict: &Verdict, faults: &[Fault]) -> Fault {
    let place = group.place();
    let why: Vec<_> = faults.iter().map(Fault::what_and_why).collect();
    // Nobody has to wait for what no time will change.
    let for_good = |fault: &&Fault| !fault.is_passing();
    let fault = match verdict {
        Verdict::TooFew { answered: 0, .. } => {
            if let Some(fault) = faults.iter().find(for_good) {
                let cure = fault.cure().to_owned();
                return Fault::new(fault.kind(), fault.what_and_why(), cure);
            }
            let what = format!("none of the sentinels of {place} answers");
            let cure = "see that they run, that their hosts and ports in the URL are right, and that no \
                        firewall is between";
            Fault::new(FaultKind::Unreachable, what, cure)
        }
        Verdict::TooFew { answered, of } => {
            let what = format!("only {answered} of {of} sentinels of {place} answer");
            let cure = "see that a majority of them runs and can be reached: without one nobody knows \
                        which server is the primary; SENTINEL RESET makes them forget those that are gone";
            Fault::new(FaultKind::Unreachable, what, cure)
        }
        Verdict::Apart { .. } | Verdict::Agreed { .. } => {
            let what = format!("the sentinels of {place} do not agree on the primary");
            let cure = "wait for the fail-over to end; if it lasts, compare their SENTINEL MASTER";
            Fault::new(FaultKind::Unreachable, what, cure)
        }
    };
    if why.is_empty() { fault } else { fault.because(why.join("; ")) }
}
