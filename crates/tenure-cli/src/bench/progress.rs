//! What is shown while it is measured.

use std::time::Duration;

use indicatif::ProgressStyle;

use crate::output::{Reporter, human, spinner::Spinner};

/// How often the line on the terminal moves: seldom, as that is measured too.
const TICK: Duration = Duration::from_millis(500);

/// A line on the terminal, if a person watches.
#[derive(Debug)]
pub(crate) struct Progress(Option<Spinner>);

impl Progress {
    pub(crate) fn new(voice: &Reporter) -> Self {
        Self(voice.has_terminal().then(|| {
            let spinner = Spinner::new(TICK);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                spinner.bar.set_style(style);
            }
            spinner
        }))
    }

    /// Says what is measured, and for how much longer.
    pub(crate) fn say(&self, what: &str, left: Duration) {
        if let Some(Spinner { bar, .. }) = &self.0 {
            bar.set_message(format!("{what}, for another {}", human::length(left)));
        }
    }
}
