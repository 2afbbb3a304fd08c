//! The chapter shows what was run, and no other figures.

use std::{fs, path::Path, process::Command};

use super::instance::BINARY;

#[test]
fn the_chapter_is_what_its_runs_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ran = Command::new(BINARY).args(["chapter", "--check"]).current_dir(root).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// What the page shows of the code stands in the code, but for how far it is indented.
#[test]
fn every_snippet_of_the_chapter_is_code_of_the_shop() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../../docs/flash-sale.md")).unwrap();
    let plain = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let code = ["none", "tenure"]
        .map(|name| fs::read_to_string(root.join(format!("src/strategy/{name}.rs"))).unwrap());
    let code = plain(&code.concat());
    let snippets: Vec<_> = page.split("```rust,ignore\n").skip(1).collect();
    assert_eq!(snippets.len(), 2);
    for snippet in snippets {
        let (snippet, _) = snippet.split_once("```").unwrap();
        assert!(code.contains(&plain(snippet)), "the shop has no\n{snippet}");
    }
}
