//! The simulation over many seeds, and one seed by itself.

use std::time::Instant;

use tenure_sim::{SweepReport, replay, seeds_wanted, sweep};

#[test]
fn simulation_of_many_seeds_breaks_no_promise() {
    let (seeds, began) = (seeds_wanted(), Instant::now());
    let swept = sweep(seeds.clone());
    if let Some(run) = &swept.failure {
        let seed = run.seed;
        panic!(
            "SEED={seed} breaks {}\nsee it again: {}",
            run.violation.as_ref().expect("a failing run broke something"),
            SweepReport::replay_command(seed)
        );
    }
    println!("seeds {seeds:?} in {:.1?}\n{:#?}\n{:#?}", began.elapsed(), swept.counts, swept.tally);
    let seeds = swept.seeds;
    if seeds < 1_000 {
        return;
    }
    assert_eq!(swept.missing(), [], "these faults never happened");
    let counts = swept.counts;
    assert!(counts.holds > seeds, "too little happened: {counts:?}");
    let modes = [counts.readers, counts.permits, counts.downgrades];
    let kinds = [counts.entries, counts.news, counts.looks, counts.arrivals, counts.counted];
    let slots = [counts.slot_runs, counts.slots_finished, counts.slots_skipped];
    assert!(
        modes.iter().chain(&kinds).chain(&slots).all(|count| *count > seeds / 50),
        "too little happened: {counts:?}"
    );
    let handed = [counts.detached, counts.attached];
    let rare = [
        counts.passes,
        counts.losses,
        counts.in_doubt,
        counts.fenced_off,
        counts.overlaps,
        counts.schedules_refused,
    ];
    let of_scopes = [counts.levels, counts.kept_out, counts.scopeless];
    let of_latches = [counts.let_through, counts.held_up];
    assert!(
        rare.iter().chain(&handed).chain(&of_scopes).chain(&of_latches).all(|count| *count > 0),
        "too little happened: {counts:?}"
    );
}

/// A caller waited for a slot that was over: the run before it was told for seconds why it is replaced.
#[test]
fn a_seed_that_broke_a_promise_breaks_none_any_more() {
    let violation = replay(22_815).violation;
    assert!(violation.is_none(), "{violation:?}");
}

#[test]
fn simulation_of_a_seed_replays_identically() {
    for seed in 0..50 {
        let (one, other) = (replay(seed), replay(seed));
        assert_eq!(one.trace, other.trace, "seed {seed}");
        assert_eq!(one.fingerprint, other.fingerprint, "seed {seed}");
    }
}

/// Shows the seed in `TENURE_SIM_SEED` line by line, or seed 0.
#[test]
fn simulation_of_one_seed_can_be_shown() {
    let seed = std::env::var("TENURE_SIM_SEED").ok().and_then(|seed| seed.parse().ok());
    let run = replay(seed.unwrap_or(0));
    for line in &run.trace {
        println!("{line}");
    }
    assert!(!run.trace.is_empty());
    assert_eq!(run.violation, None);
}
