//! Asking the sentinels of a service, over connections that are kept.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tenure_core::{Fault, FaultKind};
use tokio::sync::Notify;

use super::{
    SentinelGroup,
    client::{SentinelClient, at},
    lock,
    verdict::{Primary, SentinelReport, Verdict, counts, verdict},
};
use crate::options::{HostPort, Sentinels, bracketed};

/// Connections to sentinels, of one task or one runtime.
#[derive(Debug, Default)]
pub(crate) struct SentinelClients {
    clients: Mutex<Vec<Arc<SentinelClient>>>,
    /// Whose turn it is to ask, of those who may share an answer.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// Who is told when a sentinel tells of a failover.
    switched: Option<Arc<Notify>>,
}

/// What a majority says.
pub(super) struct SentinelMajority {
    pub(super) primary: Primary,
    /// For how long no majority can think that it is down.
    pub(super) patience: Duration,
    /// Where those who answered say that others are.
    pub(super) places: Vec<HostPort>,
    /// How many sentinels there are.
    pub(super) of: usize,
    /// How many replicas there are, as the one says that knows most.
    pub(super) replicas: u32,
}

/// What each of them made of the question.
#[derive(Debug)]
pub(crate) struct SentinelSurvey {
    pub(crate) answered: usize,
    /// How many there are, as far as those know who answered.
    pub(crate) of: usize,
    /// How many say the same, at most.
    pub(crate) alike: usize,
    /// Of how many sentinels the one that knows fewest knows, itself counted.
    pub(crate) know: usize,
    /// How soon one of them thinks that a silent primary is down.
    pub(crate) down_after: Option<Duration>,
    /// How many have to find the primary down, by the one that wants most of them.
    pub(crate) quorum: Option<usize>,
    pub(crate) faults: Vec<Fault>,
    /// Who has said nothing at all.
    pub(crate) silent: HashSet<HostPort>,
}

impl SentinelSurvey {
    /// Why those who did not answer did not.
    pub(crate) fn why(&self) -> Vec<String> {
        why(&self.faults, &self.silent)
    }
}

fn why(faults: &[Fault], silent: &HashSet<HostPort>) -> Vec<String> {
    let silent = silent.iter().map(|place| format!("{} says nothing", at(place)));
    faults.iter().map(Fault::message_and_cause).chain(silent).collect()
}

/// What was answered so far.
#[derive(Default)]
struct SentinelAnswers {
    answers: Vec<SentinelReport>,
    faults: Vec<Fault>,
    /// How many sentinels there are at least.
    at_least: usize,
    /// Who was asked and has not answered.
    silent: HashSet<HostPort>,
    /// Where those who answered say that others are.
    places: Vec<HostPort>,
}

impl SentinelClients {
    /// One that hears of failovers.
    pub(super) fn that_hears(switched: Arc<Notify>) -> Self {
        Self { switched: Some(switched), ..Self::default() }
    }

    /// How many sentinels would tell of a failover.
    pub(super) fn hears(&self) -> usize {
        lock(&self.clients).iter().filter(|client| client.hears()).count()
    }

    /// Asks until a majority has said the same, and can be counted on for a while.
    pub(super) async fn ask(&self, group: &SentinelGroup) -> Result<SentinelMajority, Fault> {
        let enough = |said: &Verdict| matches!(said, Verdict::Agreed { patience, .. } if !patience.is_zero());
        let mut heard = self.query_until(group, enough).await;
        let verdict = verdict(&heard.answers, heard.at_least);
        if !matches!(verdict, Verdict::TooFew { .. }) {
            group.is_there.store(true, Ordering::Relaxed);
        }
        match verdict {
            Verdict::Agreed { primary, patience } if !patience.is_zero() => {
                let mut twice = HashSet::new();
                heard.places.retain(|place| twice.insert(place.clone()));
                // A majority of as many as were known before has told of them.
                let (_, of, _) = counts(&heard.answers, 1);
                let replicas = heard.answers.iter().map(|told| told.replicas).max().unwrap_or(0);
                Ok(SentinelMajority { primary, patience, places: heard.places, of, replicas })
            }
            undecided => Err(unknown(group, &undecided, &heard)),
        }
    }

    /// Asks all of them.
    pub(super) async fn survey(&self, group: &SentinelGroup) -> SentinelSurvey {
        let SentinelAnswers { answers, faults, at_least, silent, .. } =
            self.query_until(group, |_| false).await;
        let (answered, of, alike) = counts(&answers, at_least);
        let know = answers.iter().map(|told| told.others + 1).min().unwrap_or(0);
        let down_after = answers.iter().map(|told| told.down_after).min();
        let quorum = answers.iter().filter_map(|told| told.quorum).max();
        SentinelSurvey { answered, of, alike, know, down_after, quorum, faults, silent }
    }

    /// Asks all sentinels together, those too that the answers tell of, until they say enough.
    async fn query_until(
        &self,
        group: &SentinelGroup,
        enough: fn(&Verdict) -> bool,
    ) -> SentinelAnswers {
        let (places, at_least) = group.known();
        lock(&self.clients).retain(|client| places.contains(&client.place));
        let mut asked: HashSet<HostPort> = places.iter().cloned().collect();
        let mut asking: FuturesUnordered<_> =
            places.into_iter().map(|place| self.ask_one(group, place)).collect();
        let mut heard =
            SentinelAnswers { at_least, silent: asked.clone(), ..SentinelAnswers::default() };
        let all = async {
            while let Some((place, answer)) = asking.next().await {
                heard.silent.remove(&place);
                match answer {
                    Ok((told, others)) => {
                        heard.answers.push(told);
                        heard.places.extend(others.iter().cloned());
                        if enough(&verdict(&heard.answers, at_least)) {
                            return;
                        }
                        for place in others {
                            if asked.len() < Sentinels::MOST && asked.insert(place.clone()) {
                                heard.silent.insert(place.clone());
                                asking.push(self.ask_one(group, place));
                            }
                        }
                    }
                    Err(fault) => heard.faults.push(fault),
                }
            }
        };
        // Who has not answered by now does not count.
        let _ = tokio::time::timeout(group.options.connect_timeout, all).await;
        heard
    }

    async fn ask_one(
        &self,
        group: &SentinelGroup,
        place: HostPort,
    ) -> (HostPort, Result<(SentinelReport, Vec<HostPort>), Fault>) {
        let answer = self.client(place.clone()).ask(group, self.switched.as_ref()).await;
        (place, answer)
    }

    fn client(&self, place: HostPort) -> Arc<SentinelClient> {
        let mut clients = lock(&self.clients);
        if let Some(client) = clients.iter().find(|client| client.place == place) {
            return client.clone();
        }
        let client = Arc::new(SentinelClient::new(place));
        clients.push(client.clone());
        client
    }
}

/// Why nobody knows which server is the primary.
fn unknown(group: &SentinelGroup, verdict: &Verdict, heard: &SentinelAnswers) -> Fault {
    let place = group.place();
    let (faults, why) = (&heard.faults, why(&heard.faults, &heard.silent));
    let fault = match verdict {
        Verdict::TooFew { answered: 0, .. } => {
            // Nobody has to wait for what no time will change.
            if let Some(fault) = faults.first()
                && heard.silent.is_empty()
                && faults.iter().all(|fault| !fault.is_transient())
            {
                return Fault::new(
                    fault.kind(),
                    fault.message_and_cause(),
                    fault.help().to_owned(),
                );
            }
            let what = format!("none of the sentinels of {place} answers");
            let help = "check that they run, that their hosts and ports in the URL are right, and that no \
                        firewall is between";
            Fault::new(FaultKind::Unreachable, what, help)
        }
        Verdict::TooFew { answered, of } => {
            let what = format!("only {answered} of {of} sentinels of {place} answer");
            let help = "check that a majority of them runs and can be reached: without a majority the primary is unknown; remove those that are gone for good from the URL, and make the others forget them with SENTINEL RESET";
            Fault::new(FaultKind::Unreachable, what, help)
        }
        Verdict::Agreed { primary, .. } => {
            let at = format!("{}:{}", bracketed(&primary.host), primary.port);
            let what = format!(
                "the sentinels of {place} report that the primary {at} is down, or are replacing it"
            );
            Fault::new(FaultKind::Unreachable, what, "wait for the failover to end")
        }
        Verdict::Apart { .. } => {
            let what = format!("the sentinels of {place} do not agree on the primary");
            let help = "wait for the failover to end; if it lasts, compare their SENTINEL MASTER";
            Fault::new(FaultKind::Unreachable, what, help)
        }
    };
    if why.is_empty() { fault } else { fault.because(why.join("; ")) }
}
