//! Random histories of one name keep every rule.

use proptest::prelude::*;

use crate::queue_model::{history, play};

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn every_history_of_a_name_keeps_the_rules(history in history()) {
        if let Err(broken) = play(&history) {
            return Err(TestCaseError::fail(broken));
        }
    }
}
