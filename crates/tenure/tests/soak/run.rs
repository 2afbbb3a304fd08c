//! A run on one store.

use std::{
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use crate::{
    child::{Heard, Losses, Player, locked},
    measures::{Measures, lines},
    options::Options,
    part::Part,
    place::{Kind, Place},
    series::{self, Series},
    tally,
    told::Done,
};

/// The ttl of what is kept, of what is used, and of what is used by processes that are killed.
const TTLS: [Duration; 3] =
    [Duration::from_secs(30), Duration::from_secs(10), Duration::from_secs(4)];
/// How long processes may take to begin, or to end.
const PATIENCE: Duration = Duration::from_secs(120);
/// So long without a grant is too long.
const STANDSTILL: Duration = Duration::from_secs(60);
/// So few calls may fail while the server is there, in a long run: one in so many grants.
const FAILED_ONE_IN: u64 = 1_000;
/// Lines that a process may log each time its server goes, and the number of processes at a time.
const LINES: u64 = 8;
const PROCESSES: u64 = 4;

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) store: Kind,
    pub(crate) seconds: f64,
    pub(crate) done: Done,
    pub(crate) restarts: usize,
    /// For how many seconds the server was away at most.
    pub(crate) longest_away: f64,
    pub(crate) kills: usize,
    pub(crate) losses: Losses,
    pub(crate) failed_while_away: u64,
    pub(crate) failed: u64,
    /// Some of these.
    pub(crate) failures: Vec<String>,
    pub(crate) logged: Vec<(String, u64)>,
    pub(crate) series: Vec<Series>,
    /// Connections and things when all processes had ended.
    pub(crate) left: [Option<f64>; 2],
    /// What fails the run.
    pub(crate) wrong: Vec<String>,
}

impl Outcome {
    pub(crate) fn failed(store: Kind, why: String) -> Self {
        Self {
            store,
            seconds: 0.0,
            done: Done::default(),
            restarts: 0,
            longest_away: 0.0,
            kills: 0,
            losses: Losses::default(),
            failed_while_away: 0,
            failed: 0,
            failures: Vec::new(),
            logged: Vec::new(),
            series: Vec::new(),
            left: [None; 2],
            wrong: vec![why],
        }
    }
}

pub(crate) fn run(store: Kind, options: &Options) -> Outcome {
    tally::sees_faults();
    series::sees_growth();
    let place = Place::start(store);
    let heard = Arc::new(Mutex::new(Heard::default()));
    let part = |keeps, ttl, rate| {
        let url = place.url(ttl);
        Part { keeps, url, ttl, rate, holds: options.holds }
    };
    // Two fifths for each worker, and one for the one that is killed.
    let [keeps, works, dies] = TTLS;
    let rate = |fifths: u32| (options.rate * fifths / 5).max(1);
    let victim = part(false, dies, rate(1));
    let parts = [
        ("holder", part(true, keeps, 1)),
        ("worker 1", part(false, works, rate(2))),
        ("worker 2", part(false, works, rate(2))),
    ];
    let players = parts.iter().map(|(name, part)| start(store, name, part, &heard)).collect();
    let victim = (start(store, "victim", &victim, &heard), victim);
    let mut run = Run { store, options, place, heard, players, victim, restarts: 0, kills: 0 };
    let mut wrong = Vec::new();
    let mut measures = Measures::new(store, &run.players);
    let began = Instant::now();
    if run.begins() {
        run.goes_on(&mut measures, &mut wrong);
    } else {
        wrong.push("its processes do not begin".to_owned());
    }
    let seconds = began.elapsed().as_secs_f64();
    wrong.extend(run.ends());
    run.outcome(seconds, measures, wrong)
}

fn start(store: Kind, name: &str, part: &Part, heard: &Arc<Mutex<Heard>>) -> Player {
    Player::start(name, part, store.counts(part.ttl), heard)
}

struct Run<'a> {
    store: Kind,
    options: &'a Options,
    place: Place,
    heard: Arc<Mutex<Heard>>,
    players: Vec<Player>,
    victim: (Player, Part),
    restarts: usize,
    kills: usize,
}

/// When something is done that is done again and again.
struct Times {
    every: Duration,
    next: Instant,
}

impl Times {
    fn every(every: Duration, from: Instant) -> Self {
        Self { every, next: from + every }
    }

    fn is_due(&mut self) -> bool {
        let is_due = Instant::now() >= self.next;
        if is_due {
            self.next = Instant::now() + self.every;
        }
        is_due
    }
}

impl Run<'_> {
    fn begins(&mut self) -> bool {
        let by = Instant::now() + PATIENCE;
        while Instant::now() < by && !self.players.iter_mut().any(Player::has_ended) {
            if locked(&self.heard).ready > self.players.len() {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    }

    fn goes_on(&mut self, measures: &mut Measures, wrong: &mut Vec<String>) {
        let (began, options) = (Instant::now(), self.options);
        let mut samples = Times::every(options.between_samples, began);
        let mut kills = Times::every(options.between_kills, began);
        let mut restarts = Times::every(options.between_restarts, began);
        let (mut grants, mut granted) = (0, Instant::now());
        while began.elapsed() < options.length {
            thread::sleep(Duration::from_millis(50));
            if let Some(ended) =
                self.players.iter_mut().find_map(|one| one.has_ended().then_some(&one.name))
            {
                wrong.push(format!("{ended} ended by itself"));
                return;
            }
            let so_far = {
                let mut heard = locked(&self.heard);
                heard.look();
                if !heard.wrong.is_empty() {
                    return;
                }
                heard.done().grants
            };
            if so_far > grants {
                (grants, granted) = (so_far, Instant::now());
            } else if granted.elapsed() > STANDSTILL {
                wrong.push(format!("nothing was granted for {STANDSTILL:?}"));
                return;
            }
            if kills.is_due() {
                self.victim.0.kill();
                self.victim.0 = start(self.store, "victim", &self.victim.1, &self.heard);
                self.kills += 1;
            }
            if restarts.is_due() {
                self.restarts();
            }
            if samples.is_due() {
                measures.take(
                    began.elapsed().as_secs_f64(),
                    &self.players,
                    &self.place,
                    &self.heard,
                );
                if options.is_long {
                    self.tells(began.elapsed(), measures);
                }
            }
        }
    }

    fn restarts(&mut self) {
        if self.store == Kind::Embedded {
            return;
        }
        locked(&self.heard).goes_away();
        self.place.restart(self.restarts);
        self.restarts += 1;
        locked(&self.heard).is_back();
    }

    /// How far it is.
    fn tells(&self, elapsed: Duration, measures: &Measures) {
        let heard = locked(&self.heard);
        let (grants, losses) = (heard.done().grants, heard.losses());
        let figures = measures.all.iter().filter_map(|series| {
            let name = series.name.replace("memory, ", "");
            Some(format!("{name} {:.0}", series.last()?))
        });
        eprintln!(
            "{} {} of {} s, {grants} grants, {} restarts, {} killed, lost {} + {} and {} excused, failed {} and {} while \
             away; {}",
            self.store.name(),
            elapsed.as_secs(),
            self.options.length.as_secs(),
            self.restarts,
            self.kills,
            losses.kept,
            losses.other,
            losses.excused,
            heard.failed,
            heard.failed_while_away,
            figures.collect::<Vec<_>>().join(", ")
        );
    }

    /// Has all of them let go, and says what is wrong with that.
    fn ends(&mut self) -> Vec<String> {
        let by = Instant::now() + PATIENCE;
        let mut wrong = Vec::new();
        let players = self.players.iter_mut().chain([&mut self.victim.0]);
        let mut players: Vec<_> = players.collect();
        players.iter_mut().for_each(|player| player.is_to_end());
        for player in players {
            if !player.ends_well(by) {
                wrong.push(format!("{} does not end well", player.name));
            }
            player.kill();
        }
        wrong
    }

    fn outcome(self, seconds: f64, measures: Measures, mut wrong: Vec<String>) -> Outcome {
        let heard = locked(&self.heard);
        wrong.extend(heard.wrong.iter().take(5).cloned());
        let losses = heard.losses();
        if losses.kept + losses.other > 0 {
            let (kept, other) = (losses.kept, losses.other);
            wrong.push(format!(
                "lost while its server was there: {kept} that were kept, {other} others"
            ));
            wrong.extend(heard.examples_of_losses());
        }
        let grants = heard.done().grants;
        if self.options.is_long && heard.failed * FAILED_ONE_IN > grants {
            wrong.push(format!(
                "{} calls failed while the server was there, of {grants} grants",
                heard.failed
            ));
        }
        let (lines, times) = (lines(&heard), self.restarts as u64 + 1);
        let may = LINES * PROCESSES * times;
        if lines > may {
            wrong.push(format!("{lines} lines were logged, and {may} is the most"));
        }
        wrong.extend(measures.all.iter().filter_map(|series| series.wrong(self.options.is_long)));
        Outcome {
            store: self.store,
            seconds,
            done: heard.done(),
            restarts: self.restarts,
            longest_away: heard.longest_away(),
            kills: self.kills,
            losses,
            failed_while_away: heard.failed_while_away,
            failed: heard.failed,
            failures: heard.failures.clone(),
            logged: heard.logged().into_iter().collect(),
            series: measures.all,
            left: [self.place.connections(), self.place.things()],
            wrong,
        }
    }
}
