//! What is said of a command line that cannot be read, besides what clap says.

use std::ffi::OsString;

use clap::{
    builder::StyledStr,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};

use tenure::config::without_passwords;
use tenure_core::plain::plain;

use super::Cli;
use crate::explanation::Explanation;

const WAIT: &str =
    "write --wait TIME to give up waiting for the lock, --max-hold TIME to end the command";
const NO_WAIT: &str = "write --no-wait to give up at once if the lock is not free";
const BUSY: &str = "write --busy-exit-code N for the exit code when the lock is busy";
const ALONE: &str = "leave it out: without --shared, tenure run takes the lock exclusively";
const SHARED: &str = "write --shared to run beside other readers";
const NAMES: &str =
    "write --names 'job:*' to export these locks; each name makes several series in Prometheus";
const CLOSED: &str = "leave it out: the command inherits no lock file";

/// Options of other tools, and what stands for them here.
const ELSEWHERE: [(&str, &str); 11] = [
    ("--timeout", WAIT),
    ("-w", WAIT),
    ("--nonblock", NO_WAIT),
    ("-n", NO_WAIT),
    ("--conflict-exit-code", BUSY),
    ("-E", BUSY),
    ("--exclusive", ALONE),
    ("-x", ALONE),
    ("-e", ALONE),
    ("-s", SHARED),
    ("-o", CLOSED),
];

/// Why the words cannot be read, and what may have been meant: as clap says it, or in parts where it is to be JSON.
pub(crate) enum UsageError {
    Said(String),
    Parts(Explanation),
}

/// Explains why the words cannot be read.
pub(crate) fn explain(error: Error, words: &[OsString]) -> UsageError {
    // The words are in it, and may come from a branch or a file: what misleads in them is told, not shown. A URL may
    // stand where none belongs.
    let shown = |word: &OsString| without_passwords(&plain(&word.to_string_lossy())).into();
    let shown: Vec<OsString> = words.iter().map(shown).collect();
    let is_plain = shown == words;
    let mut error = if is_plain { error } else { Cli::read(&shown).err().unwrap_or(error) };
    if let Some(hint) = hint(&error, words) {
        let hint = ContextValue::StyledStrs(vec![StyledStr::from(hint)]);
        error.insert(ContextKind::Suggested, hint);
    }
    let text = error.render();
    // Without colours nothing is left of a sequence that a word had.
    let escaped = || {
        let text = text.to_string();
        let lines = text.split('\n').map(|line| without_passwords(&plain(line)));
        lines.collect::<Vec<_>>().join("\n")
    };
    if asks_for_json(words) {
        return UsageError::Parts(parted(&escaped()));
    }
    let text = if is_plain { text.ansi().to_string() } else { escaped() };
    UsageError::Said(text)
}

/// Whether errors are to be JSON, as far as words say that cannot be read.
pub(crate) fn asks_for_json(words: &[OsString]) -> bool {
    words.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

/// What clap says, in parts: the message, and a tip if there is one.
fn parted(text: &str) -> Explanation {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let paragraphs = || text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>());
    let message = paragraphs().next().unwrap_or_default().join(" ");
    let tips = || paragraphs().skip(1).map(|words| words.join(" "));
    let tip = tips().find_map(|part| part.strip_prefix("tip: ").map(str::to_owned));
    Explanation::new(message).advise(tip.unwrap_or_else(|| "see tenure --help".to_owned()))
}

fn hint(error: &Error, words: &[OsString]) -> Option<&'static str> {
    if error.kind() == ErrorKind::MissingRequiredArgument {
        let is_export = words.iter().skip(1).any(|word| word == "export");
        return is_export.then_some(NAMES);
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if let Some((_, hint)) = ELSEWHERE.iter().find(|(option, _)| unknown == option) {
        return Some(hint);
    }
    let has = |one: &str| words.iter().any(|word| word == one);
    if !has("run") && !has("elect") {
        return None;
    }
    Some(if has("--") {
        "see tenure run --help for the options; write the command and its options after --"
    } else {
        "write -- before the command: tenure run NAME -- CMD ARGS…"
    })
}
