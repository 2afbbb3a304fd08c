//! Quorums under simulated trouble, and with their rules broken.

use std::{sync::Arc, time::Instant};

use tenure_core::proto::rule::Rule;
use tenure_sim::{RunReport, seeds_wanted};
use tenure_testkit::fault::Kind;

use crate::sim::{simulate, sweep};

#[test]
fn simulation_of_quorums_breaks_no_promise() {
    let (seeds, began) = (seeds_wanted(), Instant::now());
    // A quorum's run is several times as long as a single store's.
    let seeds = seeds.start..seeds.start + (seeds.end - seeds.start) / 10;
    let (swept, seen) = sweep(seeds.clone(), None);
    if let Some(run) = &swept.failure {
        let (seed, what) = (run.seed, run.violation.as_ref().unwrap());
        let again = "cargo test -p tenure-quorum of_one_quorum -- --nocapture";
        panic!("SEED={seed} breaks {what}\nsee it again: TENURE_SIM_SEED={seed} {again}");
    }
    println!("seeds {seeds:?} in {:.1?}\n{:#?}", began.elapsed(), swept.counts);
    println!("{:#?}\n{seen:#?}", swept.tally);
    let seeds = swept.seeds;
    if seeds < 1_000 {
        return;
    }
    let missing: Vec<_> = TROUBLES.iter().filter(|kind| swept.tally.of(**kind) == 0).collect();
    assert!(missing.is_empty(), "these faults never happened: {missing:?}");
    assert_eq!(seen.missing(), [], "these never happened");
    let counts = swept.counts;
    let often = [counts.readers, counts.downgrades, counts.passes, counts.losses];
    assert!(counts.holds > seeds, "too little happened: {counts:?}");
    assert!(often.iter().all(|count| *count > seeds / 50), "too little happened: {counts:?}");
    assert!(counts.detached > 0 && counts.attached > 0, "too little happened: {counts:?}");
    assert!(counts.in_doubt > 0 && counts.fenced_off > 0, "too little happened: {counts:?}");
}

/// What goes wrong for a quorum, beside what is seen of its members.
const TROUBLES: &[Kind] = &[
    Kind::Refused,
    Kind::RequestLost,
    Kind::ReplyLost,
    Kind::Repeated,
    Kind::RequestLate,
    Kind::ReplyLate,
    Kind::Outage,
    Kind::Paused,
    Kind::Crashed,
    Kind::ClockRate,
    Kind::DataLost,
    Kind::Evicted,
    Kind::WallSetBack,
    Kind::AcquireDropped,
    Kind::ReleaseDropped,
    Kind::DowngradeDropped,
    Kind::DetachDropped,
    Kind::AttachDropped,
];

/// Shows the seed in `TENURE_SIM_SEED` line by line, or some other.
#[test]
fn simulation_of_one_quorum_can_be_repeated() {
    let seed = std::env::var("TENURE_SIM_SEED").ok().and_then(|seed| seed.parse().ok());
    // In the others many calls wait for a process that stands still.
    for seed in seed.map_or(vec![7, 15, 131, 152, 160, 435], |seed: u64| vec![seed]) {
        let run = || -> RunReport { simulate(seed, &Arc::default(), &Arc::default(), true) };
        let (one, other) = (run(), run());
        for line in &one.trace {
            println!("{line}");
        }
        assert_eq!((one.violation, one.fingerprint), (None, other.fingerprint), "seed {seed}");
    }
}

/// No rule may need more seeds than this to be noticed.
const SEEDS: u64 = 10_000;

/// Where rules were noticed that take many seeds. These are tried first: if the simulation changed since, all are.
const NOTICED: [(Rule, u64); 6] = [
    (Rule::WipedMemberKeptOut, 494),
    (Rule::RestartedMemberKeptOut, 4_011),
    (Rule::NewMarkCountsLater, 6_070),
    (Rule::SilentMemberReleasedAgain, 643),
    (Rule::LateGrantGivenBack, 1_892),
    (Rule::RenewalMakesNoMajority, 902),
];

#[test]
fn every_broken_rule_of_quorums_is_noticed() {
    let mut unnoticed = Vec::new();
    for rule in Rule::OF_QUORUMS.iter().copied() {
        let noticed = NOTICED.iter().find(|(noticed, _)| *noticed == rule);
        let again = noticed.and_then(|(_, at)| sweep(*at..at + 1, Some(rule)).0.failure);
        match again.or_else(|| sweep(0..SEEDS, Some(rule)).0.failure) {
            Some(run) => println!("{rule:?}, seed {}: {:.150}", run.seed, run.violation.unwrap()),
            None => unnoticed.push(rule),
        }
    }
    assert_eq!(unnoticed, [], "nothing noticed that these rules were broken");
}
