//! Manual pages, made of the same words as `--help`.

use clap::Command;
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::PageSections;

/// What the first line of every page begins with: only what has it is replaced.
pub(crate) const MARK: &str = ".\\\" A page of tenure";
/// When the words were changed last, which readers of manual pages want to know.
const REVISED: &str = "2026-11-22";
/// How many bytes a line has at most, unless a word is longer.
const WIDTH: usize = 78;

/// A page and the name of its file.
#[derive(Debug)]
pub(crate) struct PageFile {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// One page for the program, and one for each subcommand.
pub(crate) fn pages(mut command: Command) -> Vec<PageFile> {
    command.build();
    let subs: Vec<_> = shown(&command).collect();
    let others = subs.iter().map(|sub| page_of(sub)).collect::<Vec<_>>();
    let file = |name: &str, text| PageFile { name: format!("{name}.1"), text };
    let mut pages = Vec::new();
    let mut whole = begun(&command);
    whole.add(|roff| {
        list(roff, "COMMANDS", subs.iter().map(|sub| (page_of(sub) + "(1)", about(sub))))
    });
    whole.sections("tenure");
    whole.see_also(others.iter().map(String::as_str));
    pages.push(file("tenure", whole.text));
    for (sub, name) in subs.iter().zip(&others) {
        let mut page = begun(sub);
        page.sections(sub.get_name());
        page.see_also(["tenure"]);
        pages.push(file(name, page.text));
    }
    pages
}

/// All of it on one page: what each subcommand takes follows the overview.
pub(crate) fn one_page(mut command: Command) -> String {
    command.build();
    let mut page = begun(&command);
    for sub in shown(&command) {
        let title = format!("TENURE {}", sub.get_name()).to_uppercase();
        page.add(|roff| {
            roff.control("SH", [title.as_str()]);
            roff.text([roman(about(sub))]);
            roff.control("PP", []);
            usage(roff, sub);
        });
        page.options(sub);
    }
    page.sections("tenure");
    page.text
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

fn page_of(sub: &Command) -> String {
    format!("tenure-{}", sub.get_name())
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn usage(roff: &mut Roff, command: &Command) {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let name = command.get_bin_name().unwrap_or_default();
    let rest = usage.strip_prefix(name).unwrap_or_default();
    roff.text([bold(name), roman(rest)]);
}

fn list(roff: &mut Roff, title: &str, lines: impl Iterator<Item = (String, String)>) {
    roff.control("SH", [title]);
    for (term, meaning) in lines {
        roff.control("TP", []);
        roff.text([bold(term)]);
        roff.text([roman(meaning)]);
    }
}

/// A page up to its options.
fn begun(command: &Command) -> PageBuilder {
    let version = env!("CARGO_PKG_VERSION");
    let mut page = PageBuilder {
        text: format!("{MARK} {version}, written by `tenure man`, which may replace it.\n"),
    };
    page.text += ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    page.text += &format!(".TH {} 1 {REVISED} \"tenure {version}\" tenure\n", name.to_uppercase());
    // No name of a variable or an option is broken in two.
    page.text += ".nh\n.ad l\n";
    page.add(|roff| {
        roff.control("SH", ["NAME"]);
        roff.text([roman(format!("{name} - {}", about(command)))]);
        roff.control("SH", ["SYNOPSIS"]);
        usage(roff, command);
        let long = command.get_long_about().or(command.get_about());
        roff.control("SH", ["DESCRIPTION"]);
        roff.text([roman(long.map(ToString::to_string).unwrap_or_default())]);
    });
    page.options(command);
    page
}

/// A page that is being written.
#[derive(Debug)]
struct PageBuilder {
    text: String,
}

impl PageBuilder {
    fn add(&mut self, write: impl FnOnce(&mut Roff)) {
        let mut roff = Roff::new();
        write(&mut roff);
        self.push(&roff.render());
    }

    fn options(&mut self, command: &Command) {
        let mut bytes = Vec::new();
        // Writing into memory does not fail.
        if Man::new(command.clone()).render_options_section(&mut bytes).is_ok() {
            self.push(&String::from_utf8_lossy(&bytes));
        }
    }

    fn sections(&mut self, command: &str) {
        for (title, lines) in PageSections::of(command).sections() {
            let lines = lines.iter().map(|(term, meaning)| (term.to_string(), meaning.to_string()));
            self.add(|roff| list(roff, &title.to_uppercase(), lines));
        }
    }

    fn see_also<'p>(&mut self, pages: impl IntoIterator<Item = &'p str>) {
        let pages: Vec<_> = pages.into_iter().map(|page| format!("{page}(1)")).collect();
        self.add(|roff| {
            roff.control("SH", ["SEE ALSO"]);
            roff.text([roman(pages.join(", "))]);
        });
    }

    /// Adds lines of roff as readers of manual pages like them: in ASCII, none longer than a terminal is
    /// wide, and none empty.
    fn push(&mut self, roff: &str) {
        for line in roff.lines().map(str::trim_end) {
            // Each piece comes with the same beginning, which a page has once.
            if line.starts_with(".ie ") || line.starts_with(".el ") {
                continue;
            }
            let line = ascii(line);
            match line.as_str() {
                // One break is enough.
                ".br" if self.text.ends_with(".sp\n") => {}
                "" => {
                    let kept = self.text.trim_end_matches(".br\n").len();
                    self.text.truncate(kept);
                    self.text += ".sp\n";
                }
                line if line.starts_with('.') => self.text += &format!("{line}\n"),
                // What is meant stands on one line, or its rest would be what it means.
                line if self.text.ends_with(".TP\n") => self.text += &format!("{line}\n"),
                line => self.text += &broken(line),
            }
        }
    }
}

fn ascii(line: &str) -> String {
    let escape =
        |c: char| if c.is_ascii() { c.to_string() } else { format!("\\[u{:04X}]", u32::from(c)) };
    line.chars().map(escape).collect()
}

/// A line of text on as many as it needs.
fn broken(line: &str) -> String {
    let mut text = String::new();
    let mut at = 0;
    for word in line.split(' ') {
        if at > 0 && at + 1 + word.len() > WIDTH {
            text.push('\n');
            // At the beginning of a line these two are no text.
            if word.starts_with(['.', '\'']) {
                text += "\\&";
            }
            at = 0;
        } else if at > 0 {
            text.push(' ');
            at += 1;
        }
        text += word;
        at += word.len();
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;

    #[test]
    fn what_is_meant_stands_on_one_line() {
        for page in pages(Cli::documented()) {
            let lines: Vec<_> = page.text.lines().collect();
            let tags = lines.windows(2).filter(|pair| pair[0] == ".TP").map(|pair| pair[1]);
            for tag in tags {
                let (begun, ended) = (tag.matches("\\f").count(), tag.matches("\\fR").count());
                assert!(begun > 0 && begun == 2 * ended, "{}: {tag}", page.name);
            }
        }
    }

    #[test]
    fn no_word_of_a_broken_line_becomes_a_command() {
        let long = format!("{} .break 'x", "word ".repeat(15).trim_end());
        assert_eq!(broken(&long).lines().nth(1), Some("\\&.break 'x"));
        assert!(broken(&long).lines().all(|line| line.len() <= WIDTH + 2));
    }
}
