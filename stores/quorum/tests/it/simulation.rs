//! Quorums under simulated trouble, and with their rules broken.

use tenure_testkit::{proto::rule::Rule, sim::seeds_wanted};

use crate::sim::{simulate, sweep};

#[test]
fn simulation_of_quorums_breaks_no_promise() {
    // A quorum's run is several times as long as a single store's.
    let seeds = seeds_wanted() / 10;
    let (holds, wipes, failed) = sweep(0..seeds, None);
    if let Some(run) = failed {
        panic!(
            "SEED={} breaks {}\nsee it again: TENURE_SIM_SEED={} cargo test -p tenure-quorum of_one_quorum",
            run.seed,
            run.violation.unwrap_or_default(),
            run.seed
        );
    }
    println!("{seeds} seeds, {holds} holds, {wipes} members lost their memory");
    assert!(seeds < 100 || (holds > seeds && wipes > 0), "too little happened");
}

#[test]
fn simulation_of_one_quorum_can_be_repeated() {
    let seed = std::env::var("TENURE_SIM_SEED").ok().and_then(|seed| seed.parse().ok());
    let (one, other) = (simulate(seed.unwrap_or(7)), simulate(seed.unwrap_or(7)));
    assert_eq!(one.violation, None);
    assert_eq!((one.holds, one.wipes), (other.holds, other.wipes));
}

/// No rule may need more seeds than this to be noticed.
const SEEDS: u64 = 2_000;

#[test]
fn every_broken_rule_of_quorums_is_noticed() {
    let mut unnoticed = Vec::new();
    for rule in Rule::OF_QUORUMS.iter().copied() {
        let (_, _, failed) = sweep(0..SEEDS, Some(rule));
        match failed {
            Some(run) => println!("{rule:?}, seed {}: {}", run.seed, run.violation.unwrap()),
            None => unnoticed.push(rule),
        }
    }
    assert_eq!(unnoticed, [], "nothing noticed that these rules were broken");
}
