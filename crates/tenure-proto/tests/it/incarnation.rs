//! What tells one memory of a store from the next.

use proptest::prelude::*;
use tenure_proto::Incarnation;

proptest! {
    #[test]
    fn an_incarnation_is_its_bytes_and_each_has_a_text_of_its_own(one: [u8; 16], other: [u8; 16]) {
        let (first, second) = (Incarnation::from_bytes(one), Incarnation::from_bytes(other));
        prop_assert_eq!(first.as_bytes(), &one);
        prop_assert_eq!(one == other, first == second);
        prop_assert_eq!(one == other, first.to_string() == second.to_string());
    }
}
