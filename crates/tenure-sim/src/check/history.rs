//! What happened, as a number and, if asked for, in words.

use std::fmt;

use tenure_core::Timestamp;

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which promise, `"S1"` to `"S10"`.
    pub promise: &'static str,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}: {}", self.promise, self.what);
        f.pad(&text)
    }
}

/// The events of one run.
#[derive(Debug)]
pub(super) struct History {
    pub(super) fingerprint: u64,
    pub(super) lines: Vec<String>,
    pub(super) violation: Option<Violation>,
    trace: bool,
}

impl History {
    pub(super) fn new(trace: bool) -> Self {
        Self { fingerprint: 0xcbf2_9ce4_8422_2325, lines: Vec::new(), violation: None, trace }
    }

    /// Something happened at `at` in true time.
    pub(super) fn record(&mut self, at: Timestamp, what: fmt::Arguments<'_>) {
        use fmt::Write;
        // Writing to a hash cannot fail.
        let _ = write!(Hasher(&mut self.fingerprint), "{} {what}", at.as_nanos());
        if self.trace {
            let micros = at.as_nanos() / 1_000;
            self.lines.push(format!("{:>5}.{:06} {what}", micros / 1_000_000, micros % 1_000_000));
        }
    }

    pub(super) fn broken(&mut self, at: Timestamp, promise: &'static str, what: String) {
        self.record(at, format_args!("BROKEN {promise}: {what}"));
        self.violation.get_or_insert(Violation { promise, what });
    }
}

/// FNV-1a over what is written.
struct Hasher<'a>(&'a mut u64);

impl fmt::Write for Hasher<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            *self.0 = (*self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}
