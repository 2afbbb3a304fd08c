//! What `doctor` found, for people.

use comfy_table::{Cell, Color, ColumnConstraint, ContentArrangement, Table, presets};
use tenure::store::{Diagnostic, Severity};

use tenure_core::plain::plain;

/// What is not fitted into any more.
const NARROWEST: u16 = 40;
/// What a terminal has to be for a column of its own for what was looked at.
const WIDE: u16 = 80;

/// One after the other: how it is, what was looked at, what was found, and below that the help.
pub(crate) fn list(diagnostics: &[Diagnostic]) -> String {
    listed(diagnostics, Table::new().width())
}

fn listed(diagnostics: &[Diagnostic], width: Option<u16>) -> String {
    let mut rows = Table::new();
    rows.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    // A terminal that does not know its width says 0.
    match width {
        Some(width) if width < NARROWEST => {
            rows.set_content_arrangement(ContentArrangement::Disabled);
        }
        Some(width) => {
            rows.set_width(width);
        }
        None => {}
    }
    let longest =
        diagnostics.iter().map(|diagnostic| diagnostic.what.chars().count()).max().unwrap_or(0);
    let room = usize::from(width.unwrap_or(u16::MAX));
    let apart = room >= usize::from(WIDE) && longest <= room / 3;
    for diagnostic in diagnostics {
        let (colour, word) = match diagnostic.severity {
            Severity::Good => (Color::Green, "good"),
            Severity::Warning => (Color::Yellow, "warning"),
            Severity::Bad => (Color::Red, "bad"),
        };
        let (what, mut found) = (plain(&diagnostic.what), plain(&diagnostic.found));
        if let Some(promise) = diagnostic.promise {
            found = format!("{found} ({promise})");
        }
        if let Some(help) = &diagnostic.help {
            found = format!("{found}\n> {}", plain(help));
        }
        let word = Cell::new(word).fg(colour);
        rows.add_row(if apart {
            vec![word, Cell::new(what), Cell::new(found)]
        } else {
            vec![word, Cell::new(format!("{what}: {found}"))]
        });
    }
    let last = rows.column_count().saturating_sub(1);
    for column in rows.column_iter_mut().take(last) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    // Whether there are colours is decided where it is printed.
    rows.enforce_styling().trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostics() -> Vec<Diagnostic> {
        let found = "nothing answers at this place of all places";
        let help = "check that the server runs and that the URL is right";
        vec![
            Diagnostic::good("name", "localhost is 127.0.0.1"),
            Diagnostic::bad("connection", found, "S1", help),
        ]
    }

    /// As printed, without colours and the spaces at the ends of lines.
    fn shown(width: Option<u16>) -> Vec<String> {
        let text = anstream::adapter::strip_str(&listed(&diagnostics(), width)).to_string();
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    #[test]
    fn what_was_looked_at_has_a_column_where_there_is_room() {
        for width in [Some(100), None] {
            assert_eq!(
                shown(width),
                [
                    " good  name        localhost is 127.0.0.1",
                    " bad   connection  nothing answers at this place of all places (S1)",
                    "                   > check that the server runs and that the URL is right",
                ]
            );
        }
    }

    #[test]
    fn a_narrow_terminal_has_sentences_and_no_slivers() {
        assert_eq!(
            shown(Some(45)),
            [
                " good  name: localhost is 127.0.0.1",
                " bad   connection: nothing answers at this",
                "       place of all places (S1)",
                "       > check that the server runs and that",
                "       the URL is right",
            ]
        );
    }
}
