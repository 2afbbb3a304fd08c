//! What became of a slot.

use tenure::once::Skipped;

/// What became of a slot, as far as this run knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotOutcome {
    /// This run marked it as finished.
    Finished,
    /// This run began, and the slot is not marked as finished.
    Open,
    /// It was not run here.
    Skipped(Skipped),
}

impl SlotOutcome {
    /// All words that programs see.
    pub(crate) const WORDS: [&str; 7] = [
        "finished",
        "open",
        "skipped_finished",
        "skipped_ended",
        "skipped_tries_spent",
        "skipped_too_late",
        "skipped_overlaps",
    ];

    /// The outcome in one word, for programs.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Open => "open",
            Self::Skipped(Skipped::Finished { .. }) => "skipped_finished",
            Self::Skipped(Skipped::Ended) => "skipped_ended",
            Self::Skipped(Skipped::TriesSpent { .. }) => "skipped_tries_spent",
            Self::Skipped(Skipped::TooLate) => "skipped_too_late",
            Self::Skipped(Skipped::Overlaps { .. }) => "skipped_overlaps",
            Self::Skipped(_) => "skipped",
        }
    }

    /// The outcome for people, after the slot.
    pub(crate) const fn phrase(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Open => "not finished",
            Self::Skipped(Skipped::Finished { .. }) => "skipped, as it was finished already",
            Self::Skipped(Skipped::Ended) => "skipped, as it had ended",
            Self::Skipped(Skipped::TriesSpent { .. }) => "skipped, as its tries were spent",
            Self::Skipped(Skipped::TooLate) => "skipped, as it was too late",
            Self::Skipped(Skipped::Overlaps { .. }) => "skipped, as an earlier run went on",
            Self::Skipped(_) => "skipped",
        }
    }
}

/// Why a slot is skipped, in one word for programs.
pub(crate) fn skipped_word(why: Skipped) -> &'static str {
    SlotOutcome::Skipped(why).word().trim_start_matches("skipped_")
}
