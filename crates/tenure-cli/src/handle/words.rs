//! Handles where they must not be: among the words of a command line, which everybody can read.

use std::ffi::{OsStr, OsString};

/// What the text of a handle begins with.
const MARK: &str = "tenure-handle:";

/// What is said instead of repeating it.
pub(crate) const REFUSAL: (&str, &str) = (
    "a handle is on the command line, where every user can read it",
    "pass it by --handle FILE, in the variable TENURE_HANDLE or on standard input, and get a new \
     one: tenure unlock, then tenure lock",
);

/// Whether this is a handle by its first letters.
pub(crate) fn is_one(text: &OsStr) -> bool {
    text.to_string_lossy().trim_start().starts_with(MARK)
}

/// Whether a handle is among tenure's own words. What follows a `--` is a command's business.
pub(crate) fn has_one(words: &[OsString]) -> bool {
    words.iter().take_while(|word| *word != "--").any(|word| {
        let word = word.to_string_lossy();
        let value = word.split_once('=').filter(|_| word.starts_with('-'));
        is_one(word.as_ref().as_ref()) || value.is_some_and(|(_, value)| is_one(value.as_ref()))
    })
}

/// Whether a handle could be in what is said about these words.
pub(crate) fn may_show_one(words: &[OsString]) -> bool {
    words.iter().any(|word| word.to_string_lossy().contains(MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split('|').map(OsString::from).collect()
    }

    #[test]
    fn a_handle_is_found_wherever_it_stands() {
        for line in [
            "tenure|run|tenure-handle:1:x|--|true",
            "tenure|unlock|--handle|tenure-handle:1:x",
            "tenure|unlock|--handle=tenure-handle:1:x",
            "tenure|show| \n tenure-handle:1:x",
        ] {
            assert!(has_one(&words(line)), "{line}");
        }
    }

    #[test]
    fn a_commands_own_words_and_files_of_that_name_are_left_alone() {
        for line in [
            "tenure|run|a|--|echo|tenure-handle:1:x",
            "tenure|unlock|--handle|./tenure-handle:1",
            "tenure|show|my-tenure-handle",
        ] {
            assert!(!has_one(&words(line)), "{line}");
        }
        assert!(may_show_one(&words("tenure|show|--|tenure-handle:1:x")));
    }
}
