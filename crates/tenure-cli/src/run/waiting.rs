//! Waiting for the lock, and what is shown meanwhile.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use tenure::{Busy, Token, once::SlotId};

use tenure_core::plain::plain;

use crate::output::{Event, Reporter, human, spinner::Spinner};

/// How often the line on the terminal moves.
const TICK: Duration = Duration::from_millis(200);

/// Shows who is in the way, and how many.
pub(crate) struct WaitDisplay {
    voice: Reporter,
    name: String,
    shown: Mutex<WaitDisplayState>,
}

#[derive(Default)]
struct WaitDisplayState {
    spinner: Option<Spinner>,
    /// The holder's token and how many come first, as said last.
    said: Option<(Option<Token>, u32)>,
    /// Whether the store ever answered that others come first.
    was_busy: bool,
    /// Whether it was said that so many wait that no more may.
    was_full: bool,
}

impl WaitDisplay {
    pub(crate) fn new(voice: &Reporter, name: &str) -> Self {
        Self { voice: voice.clone(), name: name.to_owned(), shown: Mutex::default() }
    }

    /// The store said that somebody else comes first.
    pub(crate) fn show_busy(&self, busy: &Busy) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = (busy.holder.as_ref().and_then(|holder| holder.token), busy.ahead);
        if shown.said == Some(seen) {
            return;
        }
        shown.said = Some(seen);
        (shown.was_busy, shown.was_full) = (true, false);
        if self.voice.has_terminal() {
            shown.bar().set_style(line(&self.name, busy));
        } else {
            let holder = busy.holder.as_ref();
            self.voice.event(&Event::Waiting { name: &self.name, holder, ahead: busy.ahead });
        }
    }

    /// It came early, and waits for its slot.
    pub(crate) fn show_early(&self, slot: &SlotId, schedule: &str, begins_in: Duration) {
        if self.voice.has_terminal() {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            let text = format!("waiting for the slot {} of {}, ", slot.in_utc(), self.name);
            shown.bar().set_style(countdown(plain(&text), Instant::now() + begins_in));
        } else {
            let name = &self.name;
            self.voice.event(&Event::WaitingForSlot { name, slot, schedule, begins_in });
        }
    }

    /// So many wait that no more may, and the store is asked again.
    pub(crate) fn show_full_queue(&self, why: &str) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.was_busy = true;
        if std::mem::replace(&mut shown.was_full, true) {
            return;
        }
        if self.voice.has_terminal() {
            let text = format!("waiting for {}: its queue is full: {why}", self.name);
            shown.bar().set_style(text_line(plain(&text)));
        } else {
            self.voice.event(&Event::QueueFull { name: &self.name, why });
        }
    }

    /// The store failed, and is asked again.
    pub(crate) fn show_unreachable(&self, why: &str) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        // Who is in the way then is told once more when it answers.
        shown.said = None;
        if self.voice.has_terminal() {
            let text = format!("waiting for {}: the store is unreachable: {why}", self.name);
            shown.bar().set_style(text_line(plain(&text)));
        } else {
            self.voice.event(&Event::StoreUnreachable { name: &self.name, why });
        }
    }

    /// Whether the store ever answered that others come first.
    pub(crate) fn was_busy(&self) -> bool {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).was_busy
    }
}

impl WaitDisplayState {
    fn bar(&mut self) -> &ProgressBar {
        &self.spinner.get_or_insert_with(|| Spinner::new(TICK)).bar
    }
}

fn line(name: &str, busy: &Busy) -> ProgressStyle {
    let before = format!("waiting for {}: ", plain(name));
    let holder = busy.holder.clone();
    let ahead = human::ahead(busy.ahead);
    spinner(move |to| {
        let _ = match &holder {
            Some(holder) => {
                write!(to, "{before}{}{ahead}", human::holder_in_brief(holder, human::now()))
            }
            None => write!(to, "{before}free, but others come first{ahead}"),
        };
    })
}

/// A line that says how long it is until then.
fn countdown(text: String, until: Instant) -> ProgressStyle {
    spinner(move |to| {
        let left = until.saturating_duration_since(Instant::now());
        let _ = write!(to, "{text}which begins in {}", human::length(left));
    })
}

fn text_line(text: String) -> ProgressStyle {
    spinner(move |to| {
        let _ = to.write_str(&text);
    })
}

fn spinner(
    tell: impl Fn(&mut dyn std::fmt::Write) + Clone + Send + Sync + 'static,
) -> ProgressStyle {
    ProgressStyle::default_spinner()
        .template("{spinner} {who}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .with_key("who", move |_: &ProgressState, to: &mut dyn std::fmt::Write| tell(to))
}
