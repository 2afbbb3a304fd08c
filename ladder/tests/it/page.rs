//! What the page says is what is run.

use std::{fs, path::Path};

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn every_snippet_of_the_page_is_the_code_that_breaks() {
    let page = read("../docs/wrong-locks.md");
    let snippets: Vec<_> = page
        .split("```rust,ignore\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```"))
        .map(|(snippet, _)| snippet)
        .collect();
    let rungs = [
        "bare_del",
        "two_steps",
        "setnx_expire",
        "watch_multi",
        "expiry_in_value",
        "no_renewal",
        "no_fencing",
    ];
    assert_eq!(snippets.len(), rungs.len());
    for (rung, snippet) in rungs.iter().zip(snippets) {
        let code = read(&format!("src/{rung}.rs"));
        assert!(code.contains(snippet), "{rung}.rs has no\n{snippet}");
        let tests = read(&format!("tests/it/{rung}.rs"));
        for test in tests.split("async fn ").skip(1).filter(|test| test.contains("every_time")) {
            let (name, _) = test.split_once('(').unwrap();
            let names = name.matches('_').count() >= 3;
            assert!(!names || page.contains(name), "the page does not name {name}");
        }
    }
}
