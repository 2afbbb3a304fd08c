//! The order in which the locks of a multi-lock are taken.

use proptest::prelude::*;
use tenure_proto::all::in_order;

#[test]
fn of_locks_with_one_key_the_first_remains() {
    let locks = [("b", 1), ("a", 2), ("b", 3), ("a", 4), ("c", 5)];
    assert_eq!(in_order(locks), [2, 1, 5]);
}

proptest! {
    #[test]
    fn everybody_takes_the_same_locks_in_the_same_order(
        keys in prop::collection::vec(0_u8..20, 0..30),
        shuffled in any::<prop::sample::Index>(),
    ) {
        let mut other = keys.clone();
        other.reverse();
        if !other.is_empty() {
            let at = shuffled.index(other.len());
            other.rotate_left(at);
        }
        let order = |keys: &[u8]| in_order(keys.iter().map(|key| (*key, *key)));
        prop_assert_eq!(order(&keys), order(&other));
        prop_assert!(order(&keys).is_sorted_by(|one, next| one < next));
    }
}
