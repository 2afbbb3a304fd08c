//! Names as programs make them and look them up.

use std::{
    borrow::Borrow,
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, RandomState},
};

use tenure_core::{LockName, NameError};

#[test]
fn a_name_is_made_of_text_in_each_of_the_usual_ways_and_always_checked() {
    let name = LockName::new("order:7").unwrap();
    assert_eq!("order:7".parse(), Ok(name.clone()));
    assert_eq!(LockName::try_from("order:7"), Ok(name.clone()));
    assert_eq!(LockName::try_from("order:7".to_owned()), Ok(name.clone()));
    assert_eq!(String::from(name), "order:7");
    assert_eq!("".parse::<LockName>(), Err(NameError::Empty));
    assert!(matches!(LockName::try_from("a\nb"), Err(NameError::Control { at: 1, .. })));
    assert_eq!(LockName::try_from("x".repeat(513)), Err(NameError::TooLong { bytes: 513 }));
}

#[test]
fn a_name_is_found_by_its_text() {
    let names = ["b", "a", "ä", "aa"].map(|name| LockName::new(name).unwrap());
    let sorted: BTreeMap<LockName, usize> = names.iter().cloned().zip(0..).collect();
    let hashed: HashMap<LockName, usize> = names.iter().cloned().zip(0..).collect();
    let hasher = RandomState::new();
    for name in &names {
        let text: &str = name.borrow();
        assert_eq!(sorted.get(text), hashed.get(text));
        assert_eq!(hasher.hash_one(name), hasher.hash_one(text));
        for other in &names {
            assert_eq!(name.cmp(other), text.cmp(other.as_str()));
        }
    }
}
