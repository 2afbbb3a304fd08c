//! What is said of a command line that cannot be read, besides what clap says.

use std::{ffi::OsString, io::Write};

use clap::{
    builder::StyledStr,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};

use tenure::config::without_passwords;

use super::Cli;
use crate::plain::plain;

const WAIT: &str =
    "write --wait TIME to give up waiting for the lock, --max-hold TIME to end the command";
const NO_WAIT: &str = "write --no-wait to give up at once if the lock is not free";
const BUSY: &str = "write --busy-exit-code N for the exit code when the lock is busy";
const ALONE: &str = "leave it out: tenure run takes the lock alone unless you write --shared";
const SHARED: &str = "write --shared to run beside other readers";
const CLOSED: &str = "leave it out: the command gets no file of the lock";

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

/// Prints why the words cannot be read, and what may have been meant.
pub(crate) fn explain(error: Error, words: &[OsString]) {
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
    let text = if is_plain {
        text.ansi().to_string()
    } else {
        // Without colours nothing is left of a sequence that a word had.
        text.to_string().split('\n').map(plain).collect::<Vec<_>>().join("\n")
    };
    // The prefix of all that tenure says of itself, as the command writes to the same place.
    let _ = write!(anstream::stderr(), "tenure: {text}");
}

fn hint(error: &Error, words: &[OsString]) -> Option<&'static str> {
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
        "see tenure run --help for the options; what belongs to the command comes behind --"
    } else {
        "write -- before the command: tenure run NAME -- CMD ARGS…"
    })
}
