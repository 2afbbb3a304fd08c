//! The run: round after round, each time in another order.

use std::{
    ffi::OsString,
    path::Path,
    time::{Instant, SystemTime},
};

use indicatif::{ProgressBar, ProgressStyle};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::{
    Arguments, Chosen,
    install::install,
    machine::{self, Machine},
    roster::Contestant,
    run::{Load, MESSAGE, Run, Taking},
    work::{self, Bench, Kind, Times, Work},
};
use crate::failure::Failure;

/// How many rounds there are, unless told otherwise.
const ROUNDS: usize = 3;

pub(crate) fn measure(
    arguments: &Arguments,
    chosen: &Chosen,
    root: &Path,
    target: &Path,
    json: &Path,
) -> Result<Run, Failure> {
    // Many connections of one client.
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    let begun = Instant::now();
    let made = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let progress = Progress::new();
    let languages = chosen.contestants.iter().map(|each| each.language);
    let folder = tempfile::tempdir()?;
    let bench = Bench {
        dir: folder.path().to_owned(),
        installed: install(root, target, languages, |said| progress.say(said)),
        server: server(arguments),
        times: if arguments.quick { Times::QUICK } else { Times::FULL },
    };
    let rounds = arguments.rounds.unwrap_or(if arguments.quick { 1 } else { ROUNDS });
    let mut run = Run {
        made,
        rounds,
        quick: arguments.quick,
        seed: arguments.seed,
        seconds: 0,
        machine: Machine::here(&bench)?,
        loads: Vec::new(),
        contestants: chosen.contestants.iter().map(|each| taking(each, &bench, root)).collect(),
        results: Vec::new(),
    };
    progress.expect(steps(chosen, rounds));
    let mut order = Order(arguments.seed);
    for round in 0..rounds {
        let before = machine::load();
        for work in &chosen.works {
            if round == 0 || work.kind.each_round() {
                one_work(work, chosen, &bench, &mut order, &progress, &mut run);
            }
        }
        run.loads.push(Load { before, after: machine::load() });
        run.seconds = begun.elapsed().as_secs();
        // What there is stays if somebody stops it.
        run.write(json)?;
    }
    progress.end();
    Ok(run)
}

fn server(arguments: &Arguments) -> OsString {
    let said = arguments.server.clone().or_else(|| std::env::var_os("TENURE_REDIS_SERVER"));
    said.unwrap_or("redis-server".into())
}

/// Who of them takes part in a work.
fn suited<'a>(chosen: &'a Chosen, work: &Work) -> impl Iterator<Item = &'static Contestant> + 'a {
    let (keeps, kind) = (work.keeps, work.kind);
    let suits = move |each: &&Contestant| each.keeps == keeps && kind.suits(each);
    chosen.contestants.iter().copied().filter(suits)
}

fn steps(chosen: &Chosen, rounds: usize) -> usize {
    let of = |work: &&Work| {
        suited(chosen, work).count() * if work.kind.each_round() { rounds } else { 1 }
    };
    chosen.works.iter().map(of).sum()
}

fn one_work(
    work: &Work,
    chosen: &Chosen,
    bench: &Bench,
    order: &mut Order,
    progress: &Progress,
    run: &mut Run,
) {
    let mut all: Vec<_> = suited(chosen, work).collect();
    order.shuffle(&mut all);
    // Nobody works while it waits for a ttl to end, so all of them wait together.
    if work.kind == Kind::Kill {
        let measured: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                all.iter().map(|who| scope.spawn(|| work.measure(bench, who))).collect();
            let lost = || Err("its thread failed".into());
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
        });
        for (who, measured) in all.iter().zip(measured) {
            progress.step(work, who, &measured);
            run.add(work.name, who.name, measured);
        }
        return;
    }
    for who in all {
        progress.begin(work, who);
        let measured = work.measure(bench, who);
        progress.step(work, who, &measured);
        run.add(work.name, who.name, measured);
    }
    if work.name == "handoff" {
        run.add(work.name, MESSAGE, work::messages(bench));
    }
}

fn taking(contestant: &Contestant, bench: &Bench, root: &Path) -> Taking {
    let program = bench.installed.get(&contestant.language);
    Taking {
        name: contestant.name.to_owned(),
        version: contestant.version(root).unwrap_or_default(),
        language: contestant.language.name().to_owned(),
        token: contestant.token,
        renews: contestant.renews,
        used: contestant.used.to_owned(),
        missing: program.and_then(|program| program.as_ref().err().cloned()),
    }
}

/// Another order each time, the same for the same seed.
struct Order(u64);

impl Order {
    fn next(&mut self) -> u64 {
        // SplitMix64, which needs no more than this.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            let other = self.next() % (last as u64 + 1);
            all.swap(last, usize::try_from(other).unwrap_or(0));
        }
    }
}

/// How far it is, for people: a bar, or lines where nobody watches.
struct Progress(ProgressBar);

impl Progress {
    fn new() -> Self {
        let bar = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {eta} {msg}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    fn say(&self, said: &str) {
        if self.0.is_hidden() {
            eprintln!("{said}");
        } else {
            self.0.println(said);
        }
    }

    fn expect(&self, steps: usize) {
        self.0.set_length(steps as u64);
    }

    fn begin(&self, work: &Work, who: &Contestant) {
        self.0.set_message(format!("{}: {}", work.name, who.name));
    }

    fn step<T>(&self, work: &Work, who: &Contestant, measured: &Result<T, Failure>) {
        self.0.inc(1);
        if let Err(trouble) = measured {
            self.say(&format!("{}: {}: {trouble:#}", work.name, who.name));
        } else if self.0.is_hidden() {
            eprintln!(
                "{}/{} {}: {}",
                self.0.position(),
                self.0.length().unwrap_or(0),
                work.name,
                who.name
            );
        }
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_another_order_of_the_same_contestants() {
        let mut order = Order(1);
        let mut first: Vec<_> = (0..10).collect();
        order.shuffle(&mut first);
        let mut second: Vec<_> = (0..10).collect();
        order.shuffle(&mut second);
        assert_ne!(first, second);
        let mut again: Vec<_> = (0..10).collect();
        Order(1).shuffle(&mut again);
        assert_eq!(again, first);
        again.sort_unstable();
        assert_eq!(again, (0..10).collect::<Vec<_>>());
    }
}
