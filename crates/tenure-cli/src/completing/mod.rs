//! Completion on the command line: scripts for shells, and the names that they ask for while somebody
//! types.
//!
//! What clap knows is in the script. Names of locks and stores are not: for these it calls
//! `tenure complete-names -- WORDS…`, whose last word is the one to be completed. That gives 1 if no name
//! belongs there, and nobody ever sees it fail, wait or write.

mod names;
mod place;
pub(crate) mod script;

use std::{
    ffi::OsString,
    io::{self, Write},
    process::ExitCode,
    sync::mpsc,
    thread,
    time::Duration,
};

use self::place::CompletionTarget;

/// How the scripts call it. No subcommand that anybody is told of.
const CALL: &str = "complete-names";
/// Only asks whether a name belongs there, and not which there are.
const ONLY_PLACE: &str = "--place";
/// How long whoever types may have to wait.
const PATIENCE: Duration = Duration::from_millis(400);
/// No name belongs there.
const NO_PLACE: u8 = 1;

/// Answers a script, if a script asks.
pub(crate) fn answer(words: &[OsString]) -> Option<ExitCode> {
    let mut words = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    if words.next()? != CALL {
        return None;
    }
    let mut words: Vec<_> = words.collect();
    let only_place = words.first().is_some_and(|word| word == ONLY_PLACE);
    let begin = words.iter().position(|word| word == "--").map_or(words.len(), |at| at + 1);
    let Some(place) = CompletionTarget::of(&words.split_off(begin)) else {
        return Some(ExitCode::from(NO_PLACE));
    };
    if !only_place {
        print_completions(place);
    }
    Some(ExitCode::SUCCESS)
}

/// Prints what fits there, one a line, if that is known in time.
fn print_completions(place: CompletionTarget) {
    let (sender, found) = mpsc::channel();
    // It is left behind where it takes too long, and ends with this process.
    let look = move || drop(sender.send(names::list_completions(&place)));
    let _ = thread::Builder::new().spawn(look);
    let found = found.recv_timeout(PATIENCE).unwrap_or_default();
    let lines: String = found.into_iter().map(|name| name + "\n").collect();
    let _ = io::stdout().write_all(lines.as_bytes());
}
