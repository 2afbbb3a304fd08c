//! What is shown while it is measured.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::output::{Voice, human};

/// How often the line on the terminal moves: seldom, as that is measured too.
const TICK: Duration = Duration::from_millis(500);

/// A line on the terminal, if a person watches.
#[derive(Debug)]
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    pub(crate) fn new(voice: &Voice) -> Self {
        Self(voice.has_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(TICK);
            bar
        }))
    }

    /// Says what is measured, and for how much longer.
    pub(crate) fn say(&self, what: &str, left: Duration) {
        if let Some(bar) = &self.0 {
            bar.set_message(format!("{what}, for another {}", human::length(left)));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
