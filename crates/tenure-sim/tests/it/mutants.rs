//! The simulation bites: with any rule broken, some seed breaks a promise.
//!
//! To see one of them line by line: `cargo run -p tenure-sim --example mutants RULE`.

use tenure_core::proto::rule::Rule;
use tenure_sim::sweep_with;

/// No rule may need more seeds than this to be noticed; the gate runs several times as many.
const SEEDS: u64 = 5_000;

/// Where rules were noticed that take many seeds. These are tried first: if the simulation changed since, all are.
const NOTICED: [(Rule, u64); 9] = [
    (Rule::LostHoldNotEntered, 275),
    (Rule::OneScheduleForAName, 298),
    (Rule::ResignedLeadsNoMore, 711),
    (Rule::LostIsFinal, 918),
    (Rule::ArrivalIsSeen, 940),
    (Rule::RenewalNeverCreates, 970),
    (Rule::SlotEnds, 1_029),
    (Rule::UntakenGoesOn, 1_740),
    (Rule::LateCopyOfSlotsRefused, 2_356),
];

#[test]
fn every_broken_rule_is_noticed() {
    let mut unnoticed = Vec::new();
    println!("{:<26} {:>5}  what caught it", "rule", "seed");
    // Those of quorums are broken where quorums are tested.
    for rule in Rule::ALL.iter().copied().filter(|rule| !Rule::OF_QUORUMS.contains(rule)) {
        let noticed = NOTICED.iter().find(|(noticed, _)| *noticed == rule);
        let again = noticed.and_then(|(_, at)| sweep_with(*at..at + 1, Some(rule)).failure);
        let caught = again.or_else(|| sweep_with(0..SEEDS, Some(rule)).failure);
        let seed = caught.as_ref().map_or("-".to_owned(), |run| run.seed.to_string());
        match caught.and_then(|run| run.violation) {
            Some(violation) => println!("{:<26} {seed:>5}  {violation:.90}", format!("{rule:?}")),
            None => unnoticed.push(rule),
        }
    }
    assert_eq!(unnoticed, [], "nothing noticed that these rules were broken");
}
