//! No store goes without the suite.

use std::{fs, path::Path};

#[test]
fn every_store_mounts_the_suite() {
    let stores = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stores");
    let mut checked = 0;
    for store in fs::read_dir(&stores).expect("the workspace has a folder of stores") {
        let store = store.expect("the folder of stores can be read").path();
        // What several of them have in common, each of them tests.
        if !store.join("Cargo.toml").exists() || store.ends_with("sql") {
            continue;
        }
        checked += 1;
        let tests = store.join("tests/it");
        let read = |file: &str| fs::read_to_string(tests.join(file)).unwrap_or_default();
        assert!(
            read("conformance.rs").contains("tenure_testkit::conformance!("),
            "the store in {} does not mount the suite: its tests/it/conformance.rs needs the line \
             `tenure_testkit::conformance!(…);`",
            store.display()
        );
        assert!(
            read("kinds.rs").contains("tenure_testkit::kinds!(")
                && read("main.rs").contains("mod kinds;"),
            "the store in {} does not mount the kinds: its tests/it/kinds.rs needs the line \
             `tenure_testkit::kinds!(…);`, and its main.rs the module",
            store.display()
        );
        assert!(
            read("main.rs").contains("mod conformance;"),
            "the store in {} leaves its tests/it/conformance.rs out of tests/it/main.rs",
            store.display()
        );
    }
    assert!(checked > 0, "no store was found in {}", stores.display());
}
