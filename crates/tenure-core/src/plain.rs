//! Text from other sources, in a form that a terminal can show.

use std::borrow::Cow;

/// Returns whether a terminal acts on the character, or shows nothing for it, so that two texts look the same. These
/// are control characters, Unicode's `Default_Ignorable_Code_Point`, its other format characters, and every space and
/// line end except the usual ones.
#[must_use]
pub fn misleads(c: char) -> bool {
    c.is_control() || c != ' ' && c.is_whitespace() || is_invisible(c)
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}'
        | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Escapes the characters of a text that could mislead a reader on a terminal.
#[must_use]
pub fn plain(text: &str) -> String {
    escaped(text, misleads).into_owned()
}

/// The same for a sentence from a server: spaces at which some languages do not break a line stay.
pub(crate) fn plain_sentence(text: &str) -> Cow<'_, str> {
    escaped(text, |c| misleads(c) && !matches!(c, '\u{a0}' | '\u{202f}'))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_escaped(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_elsewhere_cannot_act_on_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\u{202e}"), "a\\u{1b}[2Jb\\u{202e}");
        assert_eq!(plain("a\nb\u{a0}c"), "a\\nb\\u{a0}c");
        assert_eq!(plain("grün"), "grün");
        assert_eq!(
            plain_sentence("l'utilisateur «\u{a0}x\u{a0}»\n"),
            "l'utilisateur «\u{a0}x\u{a0}»\\n"
        );
    }
}
