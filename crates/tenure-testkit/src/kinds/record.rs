//! The line that each case leaves for the table of kinds and stores.

use std::{fs::OpenOptions, io::Write};

/// What came of one case. It counts as failed until it is said to be more.
#[derive(Debug)]
pub(super) struct CaseRecord {
    whose: String,
    came: String,
}

impl CaseRecord {
    pub(super) fn new(store: &str, kind: &str, case: &str) -> Self {
        Self { whose: format!("{store}\t{kind}\t{case}"), came: "failed\t".to_owned() }
    }

    pub(super) fn passed(&mut self) {
        self.came = "passed\t".to_owned();
    }

    /// The store lacks something, and the kind was refused as it should be.
    pub(super) fn refused(&mut self, lacks: &str) {
        self.came = format!("refused\t{lacks}");
    }
}

impl Drop for CaseRecord {
    fn drop(&mut self) {
        let Some(path) = std::env::var_os("TENURE_KINDS") else { return };
        let line = format!("{}\t{}\n", self.whose, self.came);
        // One write, so that lines of tests that end together do not mix.
        let written = OpenOptions::new().append(true).create(true).open(path);
        if let Err(error) = written.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("no line for the table: {error}");
        }
    }
}
