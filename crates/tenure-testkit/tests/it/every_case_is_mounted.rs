//! No case is written and then forgotten.

use std::{fs, path::Path};

#[test]
fn every_case_is_in_the_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance");
    let list = fs::read_to_string(folder.join("mod.rs")).expect("the suite is here");
    let mounted = |case: &str| list.lines().any(|line| line.trim() == case);
    let mut cases = 0;
    for file in fs::read_dir(&folder).expect("the suite is here") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("a source file");
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("pub async fn ") else { continue };
            let Some((case, "scene: Scene) {")) = rest.split_once('(') else { continue };
            cases += 1;
            assert!(mounted(case), "the case {case} is not in the list of the suite");
        }
    }
    assert!(cases > 70, "only {cases} cases were found");
}
