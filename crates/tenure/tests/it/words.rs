//! The English of the pages, as far as a test can tell.

use std::{fs, path::Path};

use crate::docs::{all_pages, prose};

/// A page of `docs/`.
fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap()
}

/// The cells of the first column of the table under a heading.
fn first_column(page: &str, heading: &str) -> Vec<String> {
    let (_, section) = page.split_once(&format!("\n{heading}\n")).unwrap();
    let section = section.split("\n#").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    rows.skip(1).map(str::to_owned).collect()
}

/// The text in lower case, with one space between words, without code and the targets of links.
fn spoken(text: &str) -> String {
    let text: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let parts = text.split("](").enumerate().map(|(at, part)| match part.split_once(')') {
        Some((_, rest)) if at > 0 => rest,
        _ => part,
    });
    let without_targets = parts.collect::<Vec<_>>().join("]");
    let words = without_targets.split_whitespace().map(str::to_lowercase);
    words.collect::<Vec<_>>().join(" ")
}

/// Whether these words are in the text, and no longer ones that they are a part of.
fn says(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let is_inside = |c: char| c.is_alphanumeric() || c == '-';
        !text[..at].ends_with(is_inside) && !text[at + words.len()..].starts_with(is_inside)
    })
}

/// Whether a sentence begins so.
fn begins_a_sentence(text: &str, word: &str) -> bool {
    [". ", "? ", "! ", "| ", "** "].iter().any(|end| says(text, &format!("{end}{word}")))
        || text.starts_with(&format!("{word} "))
}

#[test]
fn pages_have_no_turn_that_has_to_be_read_twice() {
    let refused = first_column(&page("style.md"), "### Refused turns");
    let refused: Vec<_> =
        refused.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(refused.len() > 10 && refused.contains(&"who"), "{refused:?}");
    let mut found = Vec::new();
    for path in all_pages() {
        let text = spoken(&prose(&fs::read_to_string(&path).unwrap()));
        for turn in &refused {
            let is_there = match *turn {
                "who" => begins_a_sentence(&text, turn),
                _ => says(&text, turn),
            };
            if is_there {
                found.push(format!("{}: {turn}", path.display()));
            }
        }
    }
    assert!(found.is_empty(), "docs/style.md says what to write instead:\n{}", found.join("\n"));
}

/// Headings and options are names: they have the glossary's words.
#[test]
fn headings_and_options_have_no_word_that_the_glossary_avoids() {
    let avoided = first_column(&page("glossary.md"), "## Words that tenure avoids");
    let avoided: Vec<_> = avoided.iter().flat_map(|cell| cell.split(", ")).collect();
    assert!(avoided.contains(&"place"), "{avoided:?}");
    for path in all_pages() {
        let text = prose(&fs::read_to_string(&path).unwrap());
        let headings = text.lines().filter(|line| line.starts_with('#')).map(spoken);
        for heading in headings {
            for word in &avoided {
                assert!(!says(&heading, word), "{}: {heading}: {word}", path.display());
            }
        }
    }
    for option in page("cli.md").split("--").skip(1) {
        let end =
            option.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(option.len());
        let words: Vec<_> = option[..end].split('-').collect();
        assert!(!words.iter().any(|word| avoided.contains(word)), "--{}", &option[..end]);
    }
}

#[test]
fn words_are_found_where_they_are_and_nowhere_else() {
    let text = spoken("Who waits is told.\nThe `whoever` of [its own](of/its/own.md) is-told `x`");
    assert_eq!(text, "who waits is told. the `` of [its own] is-told ``".replace("``", "`"));
    assert!(says(&text, "is told") && begins_a_sentence(&text, "who"));
    assert!(!says(&text, "whoever") && !says(&text, "of its own"));
    assert!(!begins_a_sentence("one who waits", "who") && !says("is tolder", "is told"));
}
