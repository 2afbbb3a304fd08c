//! What belongs where somebody types: decisions only.

use clap::{Arg, Command, CommandFactory};

use crate::args::Cli;

/// What the word to be completed is, if it is a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompletionTarget {
    /// The name of a lock in this store, or in that of the configuration.
    Lock { store: Option<String>, typed: String },
    /// The last of several names with commas between them.
    Locks { store: Option<String>, before: String, typed: String },
    /// The name of a store.
    Store { typed: String },
}

impl CompletionTarget {
    /// Of the last of these words, the first of which is the program.
    pub(crate) fn of(words: &[String]) -> Option<Self> {
        let (word, before) = words.split_last()?;
        let mut program = Cli::command();
        program.build();
        let mut reading =
            CompletionParser { command: &program, value_of: None, names: 0, store: None };
        for word in before.get(1..)? {
            reading.read(word)?;
        }
        reading.into_target(word)
    }
}

/// What is known after some words.
struct CompletionParser<'c> {
    command: &'c Command,
    /// The option whose value comes next.
    value_of: Option<&'c Arg>,
    /// How many words were neither an option nor its value.
    names: usize,
    store: Option<String>,
}

impl<'c> CompletionParser<'c> {
    /// Reads a word that is complete; nothing if no name of ours can follow.
    fn read(&mut self, word: &str) -> Option<()> {
        if let Some(option) = self.value_of.take() {
            self.note(option, word);
        } else if word == "--" {
            // What follows is the command's own.
            return None;
        } else if let Some((option, value)) = self.option(word) {
            match value {
                Some(value) => self.note(option, value),
                None => self.value_of = takes_value(option).then_some(option),
            }
        } else if word.starts_with('-') {
            // Several letters, none of which takes a value.
        } else if self.is_program() {
            self.command = self.command.find_subcommand(word)?;
        } else {
            self.names += 1;
        }
        Some(())
    }

    /// What the word that is being typed is.
    fn into_target(self, word: &str) -> Option<CompletionTarget> {
        if let Some(option) = self.value_of {
            return self.value(option, word);
        }
        if let Some((option, Some(value))) = self.option(word) {
            return self.value(option, value);
        }
        if word.starts_with('-') || self.is_program() || self.names > 0 {
            return None;
        }
        let first =
            self.command.get_positionals().find(|it| !it.is_last_set() && !it.is_hide_set());
        let is_name = first.is_some_and(|it| ["name", "prefix"].contains(&it.get_id().as_str()));
        is_name.then(|| CompletionTarget::Lock { store: self.store, typed: word.to_owned() })
    }

    fn value(self, option: &Arg, typed: &str) -> Option<CompletionTarget> {
        match option.get_id().as_str() {
            "store" => Some(CompletionTarget::Store { typed: typed.to_owned() }),
            "all" => {
                let at = typed.rfind(',').map_or(0, |at| at + 1);
                let (before, typed) = typed.split_at(at);
                let (before, typed) = (before.to_owned(), typed.to_owned());
                Some(CompletionTarget::Locks { store: self.store, before, typed })
            }
            _ => None,
        }
    }

    fn note(&mut self, option: &Arg, value: &str) {
        if option.get_id() == "store" {
            self.store = Some(value.to_owned());
        }
    }

    fn is_program(&self) -> bool {
        self.command.has_subcommands()
    }

    /// The long option that a word is, and its value if that is a part of the word.
    fn option<'w>(&self, word: &'w str) -> Option<(&'c Arg, Option<&'w str>)> {
        let long = word.strip_prefix("--")?;
        let (long, value) =
            long.split_once('=').map_or((long, None), |(long, value)| (long, Some(value)));
        let option = self.command.get_arguments().find(|it| it.get_long() == Some(long))?;
        Some((option, value))
    }
}

fn takes_value(option: &Arg) -> bool {
    // A value that may be missing stands in the same word.
    option.get_action().takes_values() && !option.is_require_equals_set()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: &str) -> Option<CompletionTarget> {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        CompletionTarget::of(&words)
    }

    fn lock(typed: &str) -> Option<CompletionTarget> {
        Some(CompletionTarget::Lock { store: None, typed: typed.to_owned() })
    }

    #[test]
    fn the_first_word_behind_a_subcommand_that_takes_one_is_a_name() {
        for sub in ["run", "hold", "lock", "elect", "show", "history", "ask-release", "break", "ls"]
        {
            assert_eq!(place(&format!("tenure {sub} ")), lock(""), "{sub}");
            assert_eq!(place(&format!("tenure {sub} deploy:s")), lock("deploy:s"), "{sub}");
            assert_eq!(place(&format!("tenure -v {sub} -q --json a")), lock("a"), "{sub}");
            assert_eq!(place(&format!("tenure {sub} one two")), None, "{sub}");
        }
        assert_eq!(place("tenure run --history a"), lock("a"));
        for sub in
            ["renew", "unlock", "doctor", "export", "bench", "completions", "man", "nonsense"]
        {
            assert_eq!(place(&format!("tenure {sub} ")), None, "{sub}");
        }
        assert_eq!(place("tenure "), None, "a subcommand");
        assert_eq!(place("tenure"), None);
    }

    #[test]
    fn a_name_comes_behind_options_with_their_values_and_not_within_them() {
        assert_eq!(place("tenure run --wait 5s --ttl=9s --no-wait a"), lock("a"));
        for line in [
            "tenure run --wait ",
            "tenure run --ttl=",
            "tenure run -",
            "tenure show --exit",
            "tenure run a -- ",
            "tenure run -- ",
            "tenure run a -- show ",
        ] {
            assert_eq!(place(line), None, "{line}");
        }
    }

    #[test]
    fn the_store_that_was_named_is_the_one_that_is_looked_into() {
        let there = |store: &str| {
            Some(CompletionTarget::Lock { store: Some(store.to_owned()), typed: "a".to_owned() })
        };
        assert_eq!(place("tenure show --store ours a"), there("ours"));
        assert_eq!(place("tenure --store=file:/x show a"), there("file:/x"));
    }

    #[test]
    fn a_store_and_the_last_of_several_locks_are_names_too() {
        let store = |typed: &str| Some(CompletionTarget::Store { typed: typed.to_owned() });
        assert_eq!(place("tenure show --store ou"), store("ou"));
        assert_eq!(place("tenure show --store=ou"), store("ou"));
        assert_eq!(place("tenure --store "), store(""));
        let locks = |before: &str, typed: &str| {
            let (before, typed) = (before.to_owned(), typed.to_owned());
            Some(CompletionTarget::Locks { store: None, before, typed })
        };
        assert_eq!(place("tenure run --all a,b:c,d"), locks("a,b:c,", "d"));
        assert_eq!(place("tenure run --all="), locks("", ""));
    }
}
