//! The proof of ownership and what is shown of it.

use proptest::prelude::*;
use tenure_proto::Owner;

#[test]
fn owners_can_be_told_apart_in_a_log() {
    let one = format!("{:?}", Owner::from_bytes([1; 16]));
    let other = format!("{:?}", Owner::from_bytes([2; 16]));
    assert_ne!(one, other);
}

proptest! {
    #[test]
    fn debug_never_shows_a_part_of_the_value(bytes: [u8; 16]) {
        let owner = Owner::from_bytes(bytes);
        let shown = format!("{owner:?} {owner:#?}");
        let hex = owner.to_hex();
        for start in 0..=hex.len() - 8 {
            prop_assert!(!shown.contains(&hex[start..start + 8]), "{shown} shows a part of {hex}");
        }
    }

    #[test]
    fn the_text_form_tells_all_owners_apart(one: [u8; 16], other: [u8; 16]) {
        let (one, other) = (Owner::from_bytes(one), Owner::from_bytes(other));
        prop_assert_eq!(one == other, one.to_hex() == other.to_hex());
        prop_assert!(one.to_hex().bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
