//! What `--help` and the manual pages say besides the options: exit codes, variables, files, examples.

pub(crate) mod folder;
pub(crate) mod roff;
mod texts;

use clap::Command;

/// What there is to say of one command. Each line is what is meant, and what it means.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PageSections {
    pub(crate) exit: DefinitionList,
    pub(crate) environment: DefinitionList,
    pub(crate) files: DefinitionList,
    pub(crate) examples: DefinitionList,
}

type DefinitionList = &'static [(&'static str, &'static str)];

/// Between what is meant and what it means.
const GAP: &str = "  ";
/// A longer one has a line of its own.
const WIDEST: usize = 12;
/// How long the lines of help are.
const WIDTH: usize = 80;

impl PageSections {
    /// That of a subcommand; the one of the whole program for any other word.
    pub(crate) fn of(command: &str) -> Self {
        texts::of(command)
    }

    /// The same with titles, without what there is nothing to say of.
    pub(crate) fn sections(self) -> impl Iterator<Item = (&'static str, DefinitionList)> {
        let Self { exit, environment, files, examples } = self;
        let all = [
            ("Exit status", exit),
            ("Environment", environment),
            ("Files", files),
            ("Examples", examples),
        ];
        all.into_iter().filter(|(_, lines)| !lines.is_empty())
    }

    /// The end of `--help`.
    pub(crate) fn help(self) -> String {
        let sections = self.sections().map(|(title, lines)| {
            let lines = lines.iter().map(|(term, meaning)| line(term, meaning));
            format!("{title}:\n{}", lines.collect::<String>())
        });
        sections.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}

/// The program with the ends of its `--help` and that of each subcommand.
pub(crate) fn added_to(program: Command) -> Command {
    let help = |command: &Command| PageSections::of(command.get_name()).help();
    let own = help(&program);
    program.after_long_help(own).mut_subcommands(|command| {
        let own = help(&command);
        command.after_long_help(own)
    })
}

fn line(term: &str, meaning: &str) -> String {
    let indent = " ".repeat(2 * GAP.len() + WIDEST);
    let mut text = if term.chars().count() > WIDEST {
        format!("{GAP}{term}\n{indent}")
    } else {
        format!("{GAP}{term:<WIDEST$}{GAP}")
    };
    let mut at = indent.len();
    for (number, word) in meaning.split(' ').enumerate() {
        let length = word.chars().count();
        if number > 0 && at + 1 + length > WIDTH {
            text += &format!("\n{indent}");
            at = indent.len();
        } else if number > 0 {
            text.push(' ');
            at += 1;
        }
        text += word;
        at += length;
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    #[test]
    fn every_subcommand_has_examples_and_all_that_can_fail_by_the_store_their_codes() {
        for command in Cli::documented().get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = command.get_name();
            let page = PageSections::of(name);
            assert!(!page.examples.is_empty(), "{name}");
            let prints = ["completions", "man", "schema"].contains(&name);
            assert_eq!(page.exit.is_empty(), prints, "{name}");
            let help = command.get_after_long_help().map(ToString::to_string);
            assert_eq!(help, Some(page.help()), "{name}");
            let help = page.help();
            let mut meanings = help.lines().filter(|line| line.starts_with("     "));
            assert!(meanings.all(|line| line.chars().count() <= WIDTH), "{name}: {help}");
        }
    }

    /// A line of an example can be read by the program itself.
    #[test]
    fn every_example_is_a_command_line_that_makes_sense() {
        use clap::Parser;

        let commands = Cli::documented();
        let names = commands.get_subcommands().map(Command::get_name);
        for name in names.filter(|name| *name != "help") {
            for (example, _) in PageSections::of(name).examples {
                let words: Vec<_> = example
                    .split(" tenure ")
                    .last()
                    .unwrap_or_default()
                    .split_whitespace()
                    .take_while(|word| !["|", ">", "|||"].contains(word))
                    .filter(|word| *word != "tenure")
                    .collect();
                let words = ["tenure"].into_iter().chain(words);
                Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{example}: {error:#}"));
            }
        }
    }

    #[test]
    fn a_long_meaning_goes_on_below_its_beginning() {
        let long = "word ".repeat(30);
        let lines = line("123", long.trim_end());
        let mut lines = lines.lines();
        assert!(lines.next().is_some_and(|first| first.starts_with("  123           word word")));
        assert!(lines.next().is_some_and(|next| next.starts_with("                word word")));
    }
}
