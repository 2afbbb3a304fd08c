//! The two sources of randomness.

use std::collections::BTreeSet;

use tenure_core::{Entropy, OsEntropy, SeededEntropy};

/// What SplitMix64 is known to draw after the seed 1234567.
const DRAWN: [u64; 5] = [
    6_457_827_717_110_365_317,
    3_203_168_211_198_807_973,
    9_817_491_932_198_370_423,
    4_593_380_528_125_082_431,
    16_408_922_859_458_223_821,
];

#[test]
fn a_seed_draws_what_it_draws_everywhere() {
    let entropy = SeededEntropy::new(1_234_567);
    assert_eq!(DRAWN.map(|_| entropy.jitter()), DRAWN);
}

#[test]
fn a_seeded_owner_is_two_draws() {
    let owner = SeededEntropy::new(1_234_567).owner().unwrap();
    let (low, high) = owner.as_bytes().split_at(8);
    assert_eq!((low, high), (&DRAWN[0].to_le_bytes()[..], &DRAWN[1].to_le_bytes()[..]));
}

#[test]
fn the_systems_jitter_differs_from_draw_to_draw() {
    let entropy = OsEntropy::default();
    let drawn: BTreeSet<_> = (0..100).map(|_| entropy.jitter()).collect();
    assert_eq!(drawn.len(), 100);
}
