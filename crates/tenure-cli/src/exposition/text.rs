//! The text format: families of gauges, and their samples.

use std::fmt::Write;

/// Gauges of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    /// What it measures, in one line.
    pub(crate) help: &'static str,
}

impl Family {
    pub(crate) const fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help }
    }
}

/// One gauge, and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) family: Family,
    pub(crate) labels: Vec<(&'static str, String)>,
    pub(crate) value: f64,
}

/// The samples as text, family by family. A family without a sample is left out.
pub(crate) fn render(families: &[Family], samples: &[Sample]) -> String {
    let mut text = String::new();
    for family in families {
        let mut lines = samples.iter().filter(|sample| sample.family == *family).peekable();
        if lines.peek().is_none() {
            continue;
        }
        text += &header(family);
        for sample in lines {
            text += &line(sample);
        }
    }
    text
}

/// What comes before the samples of a family, once.
pub(super) fn header(Family { name, help }: &Family) -> String {
    format!("# HELP {name} {help}\n# TYPE {name} gauge\n")
}

pub(super) fn line(Sample { family, labels, value }: &Sample) -> String {
    let labels: Vec<_> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    let labels =
        if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    format!("{}{labels} {value}\n", family.name)
}

/// A label's value as it stands between quotes. Characters that mislead a reader are written as their numbers.
pub(crate) fn escaped(value: &str) -> String {
    let mut text = String::new();
    for c in value.chars() {
        match c {
            '\\' => text += "\\\\",
            '"' => text += "\\\"",
            '\n' => text += "\\n",
            c if tenure_core::plain::misleads(c) => {
                // Writing to a text does not fail.
                let _ = write!(text, "\\\\u{{{:x}}}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text
}

/// The name of the gauge on a line of text, and its labels as they stand there: nothing for a comment.
pub(crate) fn series(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let end = line.find(|c: char| c == '{' || c.is_whitespace())?;
    let (name, rest) = line.split_at(end);
    let Some(rest) = rest.strip_prefix('{') else { return Some((name, "")) };
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return Some((name, rest.get(..at)?)),
            _ => {}
        }
    }
    None
}

/// The value of the gauge on a line of text.
pub(crate) fn value(line: &str) -> Option<f64> {
    let (name, labels) = series(line)?;
    let rest = line.trim_start().strip_prefix(name)?;
    let rest = match rest.strip_prefix('{') {
        Some(rest) => rest.strip_prefix(labels)?.strip_prefix('}')?,
        None => rest,
    };
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Family = Family::new("a_seconds", "Of a.");
    const B: Family = Family::new("b", "Of b.");
    const C: Family = Family::new("c", "Of c.");
    const FAMILIES: [Family; 3] = [A, B, C];

    fn sample(family: Family, lock: &str, value: f64) -> Sample {
        Sample { family, labels: vec![("lock", lock.to_owned())], value }
    }

    #[test]
    fn samples_are_written_by_family_and_their_labels_escaped() {
        let bare = Sample { family: C, labels: Vec::new(), value: 0.5 };
        let samples =
            [sample(B, "x", 1e18), bare, sample(A, "a\"\\\n{}", 2.0), sample(B, "y", -1.0)];
        let expected = "# HELP a_seconds Of a.\n# TYPE a_seconds gauge\n\
            a_seconds{lock=\"a\\\"\\\\\\n{}\"} 2\n\
            # HELP b Of b.\n# TYPE b gauge\nb{lock=\"x\"} 1000000000000000000\nb{lock=\"y\"} -1\n\
            # HELP c Of c.\n# TYPE c gauge\nc 0.5\n";
        assert_eq!(render(&FAMILIES, &samples), expected);
        assert_eq!(render(&FAMILIES, &[]), "");
        assert_eq!(escaped("a\u{1b}[2J"), "a\\\\u{1b}[2J");
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for lock in ["x", "a\"b", "back\\", "{}", "a b", "\u{202e}"] {
            let line = line(&sample(B, lock, 1.5));
            let labels = format!("lock=\"{}\"", escaped(lock));
            assert_eq!(series(&line), Some(("b", &*labels)), "{line}");
            assert_eq!(value(&line), Some(1.5), "{line}");
        }
        assert_eq!(series("up 1 1700000000"), Some(("up", "")));
        assert_eq!((value("up 1 1700000000"), value("up")), (Some(1.0), None));
        for other in ["", "# HELP up x", "  # comment", "b{lock=\"x 1", "b"] {
            assert_eq!((series(other), value(other)), (None, None), "{other:?}");
        }
    }
}
