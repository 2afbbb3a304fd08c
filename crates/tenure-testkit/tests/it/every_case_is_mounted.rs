//! No case is written and then forgotten.

use std::{fs, path::Path};

/// The list of the suite in `folder`, and the cases in its files.
fn cases(folder: &str) -> (String, Vec<String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let list = fs::read_to_string(folder.join("mod.rs")).expect("the suite is here");
    let mut cases = Vec::new();
    for file in fs::read_dir(&folder).expect("the suite is here") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("a source file");
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("pub async fn ") else { continue };
            if let Some((case, "scene: Scene) {")) = rest.split_once('(') {
                cases.push(case.to_owned());
            }
        }
    }
    (list, cases)
}

#[test]
fn every_case_is_in_the_list() {
    for (folder, least) in [("conformance", 70), ("kinds", 25)] {
        let (list, cases) = cases(folder);
        let mounted = |case: &str| list.lines().any(|line| line.trim() == case);
        for case in &cases {
            assert!(mounted(case), "the case {case} is not in the list of the suite");
        }
        assert!(cases.len() > least, "only {} cases were found in {folder}", cases.len());
    }
}
