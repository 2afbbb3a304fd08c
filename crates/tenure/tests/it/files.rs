//! The project's own files, as tests look at them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A path as it is seen from this crate.
pub(crate) fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// All Rust files below `dir`.
pub(crate) fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}

/// The blocks of Rust on a page.
#[cfg(feature = "macros")]
pub(crate) fn snippets(page: &str) -> Vec<String> {
    let page = fs::read_to_string(here(page)).unwrap();
    let blocks = page.split("```rust").skip(1);
    blocks
        .filter_map(|rest| rest.split_once('\n')?.1.split_once("```"))
        .map(|(snippet, _)| snippet.to_owned())
        .collect()
}
