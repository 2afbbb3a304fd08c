//! One thing that happened to a hold, as a store keeps it.

use std::{fmt, fmt::Write, str::FromStr, time::Duration};

use super::Retention;
use crate::{
    LostReason, Token,
    queue::{Contender, Identity, Kind, Label, Mode},
    schedule::SlotId,
};

const VERSION: &str = "tenure-history 1";

/// How a hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// Its holder released it.
    Released,
    /// Its holder detached it.
    Detached,
    /// Its holder gave it up, and left it to its lease.
    Abandoned,
    /// Its holder lost it.
    Lost(LostReason),
    /// Somebody broke the lock.
    Broken,
    /// It is over, and nobody said how: its holder died, for example.
    Expired,
}

impl Ending {
    const ALL: [Self; 8] = [
        Self::Released,
        Self::Detached,
        Self::Abandoned,
        Self::Lost(LostReason::Deadline),
        Self::Lost(LostReason::Taken),
        Self::Lost(LostReason::MaxHold),
        Self::Broken,
        Self::Expired,
    ];

    /// Returns the ending in one word, the same everywhere and in each version.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Released => "released",
            Self::Detached => "detached",
            Self::Abandoned => "abandoned",
            Self::Lost(_) => "lost",
            Self::Broken => "broken",
            Self::Expired => "expired",
        }
    }

    /// The ending in one or two words, of which no other ending has the same.
    const fn words(self) -> &'static str {
        match self {
            Self::Lost(LostReason::Deadline) => "lost deadline",
            Self::Lost(LostReason::Taken) => "lost taken",
            Self::Lost(LostReason::MaxHold) => "lost max_hold",
            other => other.as_str(),
        }
    }

    /// Of two endings that are told of one hold, the one with the greater rank is true: a holder may believe that it
    /// released what it had lost, and does not know who broke its lock.
    pub(super) const fn rank(self) -> u8 {
        match self {
            Self::Expired => 0,
            Self::Released | Self::Detached | Self::Abandoned => 1,
            Self::Lost(_) => 2,
            Self::Broken => 3,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Ending {
    type Err = ();

    fn from_str(words: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|ending| ending.words() == words).ok_or(())
    }
}

/// The end of a hold, as the writer of an [`Event`] knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventEnd {
    /// How it ended.
    pub ending: Ending,
    /// How long it had been held; `None` if the writer does not know.
    pub held: Option<Duration>,
    /// The exit code of the command that ran under the lock, if one did.
    pub exit_code: Option<i32>,
    /// Who ended it and why, if that was not its holder.
    pub by: Option<Identity>,
}

impl EventEnd {
    /// Makes the end of a hold of which only this is known.
    #[must_use]
    pub const fn new(ending: Ending) -> Self {
        Self { ending, held: None, exit_code: None, by: None }
    }
}

/// Which run of which slot a hold was for.
///
/// ```
/// use tenure_proto::{history::SlotTry, schedule::SlotId};
///
/// let second = SlotTry::new(SlotId::Named("2026-11-28".into()), 2);
/// assert_eq!(second.to_string(), "2026-11-28, try 2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotTry {
    /// The slot.
    pub slot: SlotId,
    /// How many runs of the slot had begun, this one included.
    pub tries: u32,
}

impl SlotTry {
    /// Makes the run of this slot that is the one with this number.
    #[must_use]
    pub const fn new(slot: SlotId, tries: u32) -> Self {
        Self { slot, tries }
    }
}

impl fmt::Display for SlotTry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, try {}", self.slot.in_utc(), self.tries)
    }
}

/// One thing that happened to a hold: it began, or ended. As text it has at most [`Event::MAX`] bytes.
///
/// ```
/// use tenure_proto::{Token, history::{Event, Retention}, queue::Kind};
///
/// let token = Token::from_time(1).unwrap();
/// let event = Event::new(token, Kind::Mutex, "web3/4711", Retention::entries(10).unwrap());
/// assert_eq!(Event::read(&event.to_text()), Some(event));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The token of the hold, as the store granted it.
    pub token: Token,
    /// The kind of lock.
    pub kind: Kind,
    /// Whether others may hold the name at the same time.
    pub shared: bool,
    /// The whole label of the holder.
    pub label: Label,
    /// How much of the history is kept.
    pub retention: Retention,
    /// If it is a run of a slot, which one.
    pub slot: Option<SlotTry>,
    /// The end of the hold; `None` when it begins.
    pub end: Option<EventEnd>,
}

/// An event as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// When it happened, by the store's time of day, in microseconds since the Unix epoch.
    pub at: u64,
    /// The event as text.
    pub text: String,
}

impl Event {
    /// The maximum length of an event as text, in bytes.
    pub const MAX: usize = 1_024;

    /// Makes the event that a hold begins.
    pub fn new(token: Token, kind: Kind, label: impl Into<Label>, retention: Retention) -> Self {
        Self { token, kind, shared: false, label: label.into(), retention, slot: None, end: None }
    }

    /// Sets whether others may hold the name at the same time, which its mode says.
    #[must_use]
    pub const fn mode(mut self, mode: Mode) -> Self {
        self.shared = !matches!(mode, Mode::Exclusive);
        self
    }

    /// Makes it a hold for a run of a slot, if there is one.
    #[must_use]
    pub fn slot(mut self, slot: Option<SlotTry>) -> Self {
        self.slot = slot;
        self
    }

    /// Makes this the event that the hold ends.
    #[must_use]
    pub fn ends(mut self, end: EventEnd) -> Self {
        self.end = Some(end);
        self
    }

    /// Returns the event as text, for the store.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { token, kind, shared, label, retention, slot, end } = self;
        let mode = if *shared { "shared" } else { "exclusive" };
        let (most, seconds) = (retention.most(), retention.time().as_secs());
        let mut text = format!("{VERSION}\nhold {token} {kind} {mode}\nkeep {most} {seconds}\n");
        let _ = writeln!(text, "who {}", &**label);
        if let Some(SlotTry { slot, tries }) = slot {
            let _ = writeln!(text, "slot {tries} {}", slot.to_text());
        }
        let Some(EventEnd { ending, held, exit_code, by }) = end else { return text };
        let _ = writeln!(text, "ended {}", ending.words());
        if let Some(held) = held {
            let _ = writeln!(text, "held {}", held.as_micros());
        }
        if let Some(exit_code) = exit_code {
            let _ = writeln!(text, "exit {exit_code}");
        }
        if let Some(by) = by {
            let _ = writeln!(text, "by {}", &*by.label(None));
        }
        text
    }

    /// Reads an event; `None` if a version wrote it whose events this one cannot read. What such a version adds to an
    /// event is left out.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        lines.next().filter(|version| *version == VERSION)?;
        let (mut hold, mut keep, mut who, mut end) = (None, None, None, None::<EventEnd>);
        let mut slot = None;
        for line in lines {
            let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
            match (what, &mut end) {
                ("hold", _) => hold = Some(hold_from(rest)?),
                ("keep", _) => keep = Some(retention_from(rest)?),
                ("who", _) => who = Some(Label::from(rest)),
                ("slot", _) => slot = slot_from(rest),
                // An ending of a later version.
                ("ended", end) => {
                    *end = Some(EventEnd::new(rest.parse().unwrap_or(Ending::Expired)))
                }
                ("held", Some(end)) => end.held = rest.parse().ok().map(Duration::from_micros),
                ("exit", Some(end)) => end.exit_code = rest.parse().ok(),
                ("by", Some(end)) => {
                    end.by = Some(Contender::new(rest, Mode::Exclusive).identity())
                }
                _ => {}
            }
        }
        let (token, kind, shared) = hold?;
        Some(Self { token, kind, shared, label: who?, retention: keep?, slot, end })
    }
}

fn hold_from(text: &str) -> Option<(Token, Kind, bool)> {
    let mut words = text.split(' ');
    let (token, kind) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some((token, kind, words.next()? == "shared"))
}

fn slot_from(text: &str) -> Option<SlotTry> {
    let (tries, slot) = text.split_once(' ')?;
    Some(SlotTry::new(SlotId::read(slot)?, tries.parse().ok()?))
}

fn retention_from(text: &str) -> Option<Retention> {
    let (most, seconds) = text.split_once(' ')?;
    Retention::new(most.parse().ok()?, Duration::from_secs(seconds.parse().ok()?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Event {
        let retention = Retention::new(7, Duration::from_secs(3_600)).unwrap();
        let token = Token::from_raw(i64::MAX.unsigned_abs()).unwrap();
        Event::new(token, Kind::Semaphore, "x".repeat(300), retention)
    }

    #[test]
    fn an_event_is_read_as_it_was_written_and_the_longest_fits() {
        let mut by = Identity::default();
        (by.host, by.pid, by.reason) = (Some("h".repeat(200)), Some(7), Some("r".repeat(300)));
        let by = Contender::new(&*by.label(None), Mode::Exclusive).identity();
        for ending in Ending::ALL {
            let (held, exit_code) = (Some(Duration::from_micros(u64::MAX)), Some(i32::MIN));
            let end = EventEnd { ending, held, exit_code, by: Some(by.clone()) };
            let slot = SlotTry::new(SlotId::Named("= @".repeat(21).into()), u32::MAX);
            let event = event().mode(Mode::Shared).slot(Some(slot)).ends(end);
            let text = event.to_text();
            assert!(text.len() <= Event::MAX, "{}", text.len());
            assert_eq!(Event::read(&text), Some(event));
        }
        assert_eq!(Event::read(&event().to_text()), Some(event()));
        let of_slot = event().slot(Some(SlotTry::new(SlotId::At(u64::MAX), 1)));
        assert_eq!(Event::read(&of_slot.to_text()), Some(of_slot));
    }

    #[test]
    fn what_a_later_version_adds_is_left_out_and_its_own_format_is_not_read() {
        let end = EventEnd::new(Ending::Released);
        let text = event().ends(end.clone()).to_text();
        let more = format!("{text}mood good\nempty\n");
        assert_eq!(Event::read(&more), Some(event().ends(end)));
        let ending = text.replace("ended released", "ended inherited 7");
        assert_eq!(Event::read(&ending), Some(event().ends(EventEnd::new(Ending::Expired))));
        let slot = format!("{text}slot of another kind\n");
        assert_eq!(Event::read(&slot), Some(event().ends(EventEnd::new(Ending::Released))));
        for bad in ["", "tenure-history 1\n", &text.replace("history 1", "history 2")] {
            assert_eq!(Event::read(bad), None, "{bad:?}");
        }
    }
}
