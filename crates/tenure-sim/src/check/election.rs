//! Elections: what observers are shown, beside what candidates hold.

use tenure_core::{Clock, InspectError, Leader, LockName, ReleaseError, Timestamp, Token};

use super::{Checker, checker::State, state::Observer};

impl Checker {
    /// Somebody follows the leaders of a name from now on. Answers what to call the observer.
    pub fn follows(&self, process: u64, name: &LockName) -> usize {
        let observers = &mut self.lock().observers.0;
        observers.push(Observer::new(process, name));
        observers.len() - 1
    }

    /// An observer is told who leads.
    pub fn told_leader(&self, observer: usize, leader: Option<&Leader>) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.counts.news += 1;
        let Some(observer) = state.observers.0.get_mut(observer) else { return };
        let news = leader.map(|leader| leader.term);
        let wrong = observer.told(news);
        let (process, name) = (observer.process, observer.name.clone());
        state.history.record(now, format_args!("process {process} sees {news:?} lead {name}"));
        if let Some((promise, what)) = wrong {
            self.broken(&mut state, promise, what);
        }
    }

    /// Somebody who asked at `sent` who leads was told this.
    pub fn leads(&self, name: &LockName, sent: Timestamp, leader: Option<&Leader>) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.counts.looks += 1;
        let term = leader.map(|leader| leader.term);
        state.history.record(now, format_args!("{term:?} leads {name}"));
        let lossless = self.lossless(&state);
        if let Some((promise, what)) = leader_violation(&state, name, sent, term, lossless) {
            self.broken(&mut state, promise, what);
        }
    }

    /// By now all observers of `name` in these processes must have been told that `term` leads, or
    /// nobody.
    pub fn all_told(&self, name: &LockName, term: Option<Token>, alive: &[u64]) {
        let mut state = self.lock();
        let late = |observer: &&Observer| {
            let here = observer.name == *name && alive.contains(&observer.process);
            here && observer.told != Some(term)
        };
        if let Some(late) = state.observers.0.iter().find(late) {
            let (process, told) = (late.process, late.told);
            let what = format!("process {process} was told {told:?} of {name}, not {term:?}");
            self.broken(&mut state, "S6", what);
        }
    }

    /// Nobody leads although nothing is in the way.
    pub fn nobody_leads(&self, name: &LockName) {
        let what = format!("{name} has no leader long after the last one's lease");
        self.broken(&mut self.lock(), "S6", what);
    }

    /// A leader could not resign although all is well.
    pub fn not_resigned(&self, name: &LockName, error: &ReleaseError) {
        self.broken(
            &mut self.lock(),
            "S9",
            format!("a leader of {name} did not resign: {error:#}"),
        );
    }

    /// A look at a name failed.
    pub fn look_failed(&self, error: &InspectError) {
        self.broken(&mut self.lock(), "S9", format!("a look failed: {error:#}"));
    }
}

/// What is wrong with a look that was sent then and found `term`, if anything is.
fn leader_violation(
    state: &State,
    name: &LockName,
    sent: Timestamp,
    term: Option<Token>,
    lossless: bool,
) -> Option<(&'static str, String)> {
    let mut before =
        state.holds.iter().filter(|hold| hold.watched.name == *name && hold.began < sent);
    let Some(term) = term else {
        let led = before.find(|hold| lossless && !hold.orphaned && hold.valid())?;
        let led = led.watched.token;
        return Some(("S1", format!("nobody was said to lead {name}, but {led} did")));
    };
    before.find_map(|hold| {
        let (token, resigned) = (hold.watched.token, hold.released.is_some_and(|at| at < sent));
        let why = if token > term {
            format!("after {token} had led")
        } else if token == term && resigned {
            "after it had resigned".to_owned()
        } else {
            return None;
        };
        Some(("S2", format!("{term} was said to lead {name} {why}")))
    })
}
