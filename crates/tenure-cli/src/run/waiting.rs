//! Waiting for the lock, and what is shown meanwhile.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tenure::{Busy, Token};

use crate::output::{Event, Voice, human};

/// How often the line on the terminal moves.
const TICK: Duration = Duration::from_millis(200);

/// Shows who is in the way, and how many.
pub(crate) struct Waiting {
    voice: Voice,
    name: String,
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    bar: Option<ProgressBar>,
    /// The holder's token and how many come first, as said last.
    said: Option<(Option<Token>, u32)>,
}

impl Waiting {
    pub(crate) fn new(voice: &Voice, name: &str) -> Self {
        Self { voice: voice.clone(), name: name.to_owned(), shown: Mutex::default() }
    }

    /// The store said that somebody else comes first.
    pub(crate) fn busy(&self, busy: &Busy) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = (busy.holder.as_ref().and_then(|holder| holder.token), busy.ahead);
        if shown.said == Some(seen) {
            return;
        }
        shown.said = Some(seen);
        if self.voice.has_terminal() {
            let bar = shown.bar.get_or_insert_with(|| {
                let bar = ProgressBar::new_spinner();
                bar.enable_steady_tick(TICK);
                bar
            });
            bar.set_style(line(&self.name, busy));
        } else {
            let holder = busy.holder.as_ref();
            self.voice.event(&Event::Waiting { name: &self.name, holder, ahead: busy.ahead });
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let shown = self.shown.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = &shown.bar {
            bar.finish_and_clear();
        }
    }
}

fn line(name: &str, busy: &Busy) -> ProgressStyle {
    let before = format!("waiting for {}: ", human::plain(name));
    let holder = busy.holder.clone();
    let ahead = human::ahead(busy.ahead);
    ProgressStyle::default_spinner()
        .template("{spinner} {who}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .with_key("who", move |_: &ProgressState, to: &mut dyn std::fmt::Write| {
            let _ = match &holder {
                Some(holder) => {
                    write!(to, "{before}{}{ahead}", human::holder(holder, human::now()))
                }
                None => write!(to, "{before}free, but others come first{ahead}"),
            };
        })
}
