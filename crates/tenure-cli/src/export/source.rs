//! Asking the store, at most once a second and for a few seconds.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tenure::{Tenure, config::Config, store::Listing};
use tenure_core::NamePattern;
use tenure_url::without_password;
use tokio::{sync::Mutex, time::timeout};

use super::{
    metrics::{Exported, FAMILIES, samples},
    names::Names,
};
use crate::{
    exit::Failure,
    explanation::Explanation,
    exposition::text::{Sample, render},
    output::{Event, Reporter, human},
    store::{open, report_location},
};

/// For so long an answer is given to all that ask: they may be many.
const FRESH: Duration = Duration::from_secs(1);
/// How long the store may take. Prometheus gives up after 10 s unless it is configured otherwise, and what comes then
/// gets no answer at all, not that the store is away.
const DEADLINE: Duration = Duration::from_secs(4);
/// How long it may take to leave a store.
const LEAVE: Duration = Duration::from_millis(100);
/// More names than these are not looked at for each beginning.
const MOST: usize = 1_000;

/// A store that is asked for the same names again and again.
pub(crate) struct Source {
    config: Config,
    names: Names,
    voice: Reporter,
    /// Locked while the store is asked: all that come meanwhile get the same answer.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tenure: Option<Tenure>,
    last: Option<(Instant, Arc<str>)>,
    is_down: bool,
}

/// What is told of an answer.
struct Answer {
    outcome: Result<Exported, Failure>,
    took: Duration,
}

impl Answer {
    fn samples(&self) -> Vec<Sample> {
        samples(self.outcome.as_ref().ok(), self.took, human::now())
    }
}

impl Source {
    pub(crate) fn new(config: Config, patterns: Vec<NamePattern>, voice: Reporter) -> Self {
        Self { config, names: Names::new(patterns), voice, state: Mutex::default() }
    }

    /// The metrics as text, of a second ago at most.
    pub(crate) async fn text(&self) -> Arc<str> {
        let mut state = self.state.lock().await;
        match &state.last {
            Some((at, text)) if at.elapsed() < FRESH => text.clone(),
            _ => self.renew(&mut state).await.0,
        }
    }

    /// Asks once, so that what cannot be used is refused at the start. A store that is away may come.
    pub(crate) async fn check(&self) -> Result<(), Failure> {
        let mut state = self.state.lock().await;
        match self.renew(&mut state).await.1 {
            Err(wrong @ Failure::Usage(_)) => Err(wrong),
            _ => Ok(()),
        }
    }

    /// The samples of this moment, and the failure where there is one.
    pub(crate) async fn once(&self) -> (Vec<Sample>, Result<(), Failure>) {
        let answer = self.ask(&mut *self.state.lock().await).await;
        (answer.samples(), answer.outcome.map(drop))
    }

    /// Ends the use of the store, unless it is just being asked and does not answer: then the process ends first.
    pub(crate) async fn close(&self) {
        if let Ok(mut state) = timeout(LEAVE, self.state.lock()).await {
            leave(state.tenure.take()).await;
        }
    }

    async fn renew(&self, state: &mut State) -> (Arc<str>, Result<(), Failure>) {
        let answer = self.ask(state).await;
        let text: Arc<str> = render(&FAMILIES, &answer.samples()).into();
        // From now on, not from when it was asked: what waited for this answer does not ask for the next.
        state.last = Some((Instant::now(), text.clone()));
        match &answer.outcome {
            Err(failure) if !state.is_down => {
                self.voice.event(&Event::ExportDown { why: &failure.explanation().line() });
            }
            Ok(_) if state.is_down => self.voice.event(&Event::ExportUp),
            _ => {}
        }
        state.is_down = answer.outcome.is_err();
        (text, answer.outcome.map(drop))
    }

    async fn ask(&self, state: &mut State) -> Answer {
        let begun = Instant::now();
        let asked = timeout(DEADLINE, self.lists(&mut state.tenure)).await;
        let outcome = asked.unwrap_or_else(|_| Err(self.unanswered()));
        let took = begun.elapsed();
        if outcome.is_err() {
            // The next connection may get through where this one hangs.
            leave(state.tenure.take()).await;
        }
        Answer { outcome: outcome.map(|lists| self.names.chosen(lists)), took }
    }

    async fn lists(&self, opened: &mut Option<Tenure>) -> Result<Vec<Listing>, Failure> {
        let tenure = match opened {
            Some(tenure) => tenure,
            None => {
                let tenure = open(&self.config).await?;
                report_location(&tenure, &self.config, &self.voice);
                opened.insert(tenure)
            }
        };
        let mut lists = Vec::new();
        for prefix in self.names.prefixes() {
            let list = tenure.list(prefix).limit(MOST).await;
            lists.push(list.map_err(|error| Failure::failed(&error))?);
        }
        Ok(lists)
    }

    fn unanswered(&self) -> Failure {
        let store = without_password(self.config.store().unwrap_or_default());
        let store = if store.is_empty() { "file:".to_owned() } else { store };
        let limit = human::length(DEADLINE);
        let why = Explanation::new(format!("{store} did not answer within {limit}"));
        Failure::Away(why.of_store(&store).advise("tenure doctor says how far the way to it leads"))
    }
}

async fn leave(tenure: Option<Tenure>) {
    if let Some(tenure) = tenure {
        let _ = tenure.shutdown(LEAVE).await;
    }
}
