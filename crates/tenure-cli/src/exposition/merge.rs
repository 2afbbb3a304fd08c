//! A text of metrics with new samples of some families, and with all else that was in it.

use super::text::{Family, Sample, header, line, series};

/// The text with these samples instead of those lines of the families whose labels, as they are written there, are
/// ours. Other lines stay. The format wants a family's lines together after one `HELP` and `TYPE`, so those of others
/// in one of these families move there too.
pub(crate) fn merged(
    existing: &str,
    families: &[Family],
    samples: &[Sample],
    is_ours: impl Fn(&str) -> bool,
) -> String {
    let mut text = String::new();
    let mut kept: Vec<(&str, &str)> = Vec::new();
    let new: Vec<String> = samples.iter().map(line).collect();
    // Of two samples with the same labels, a reader would refuse the whole text.
    let is_new = |name: &str, labels: &str| {
        new.iter().any(|line| series(line.as_str()) == Some((name, labels)))
    };
    for line in existing.split_terminator('\n') {
        let described = description(line);
        let Some((name, labels)) = series(line) else {
            if !described.is_some_and(|name| is_one_of(families, name)) {
                push(&mut text, line);
            }
            continue;
        };
        if !is_one_of(families, name) {
            push(&mut text, line);
        } else if !is_ours(labels) && !is_new(name, labels) {
            kept.push((name, line));
        }
    }
    for family in families {
        let others = kept.iter().filter(|(name, _)| *name == family.name).map(|(_, line)| *line);
        let ours = samples.iter().zip(&new).filter(|(sample, _)| sample.family == *family);
        let mut lines = others.chain(ours.map(|(_, line)| line.trim_end())).peekable();
        if lines.peek().is_some() {
            text += &header(family);
            lines.for_each(|line| push(&mut text, line));
        }
    }
    text
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn is_one_of(families: &[Family], name: &str) -> bool {
    families.iter().any(|family| family.name == name)
}

/// The family that a line says the meaning or the type of.
fn description(line: &str) -> Option<&str> {
    let mut words = line.trim_start().strip_prefix('#')?.split_whitespace();
    matches!(words.next()?, "HELP" | "TYPE").then(|| words.next())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Family = Family::new("a", "Of a.");
    const B: Family = Family::new("b", "Of b.");
    const FAMILIES: [Family; 2] = [A, B];

    fn sample(family: Family, lock: &str, value: f64) -> Sample {
        Sample { family, labels: vec![("lock", lock.to_owned())], value }
    }

    fn times(text: &str, words: &str) -> usize {
        text.matches(words).count()
    }

    #[test]
    fn samples_replace_ours_and_lines_of_others_stay() {
        let existing = "# HELP up Is up.\n# TYPE up gauge\nup 1\n\
            # HELP a Older words.\n# TYPE a gauge\na{lock=\"x\"} 1\na{lock=\"others\"} 7\n\
            # a comment\n# TYPE b gauge\nb{lock=\"x\"} 2\nax{lock=\"x\"} 3 1700000000";
        let samples = [sample(B, "x", 4.0), sample(A, "x", 5.0)];
        let text = merged(existing, &FAMILIES, &samples, |labels| labels == "lock=\"x\"");
        let expected = "# HELP up Is up.\n# TYPE up gauge\nup 1\n\
            # a comment\nax{lock=\"x\"} 3 1700000000\n\
            # HELP a Of a.\n# TYPE a gauge\na{lock=\"others\"} 7\na{lock=\"x\"} 5\n\
            # HELP b Of b.\n# TYPE b gauge\nb{lock=\"x\"} 4\n";
        assert_eq!(text, expected);
        let again = merged(&text, &FAMILIES, &samples, |labels| labels == "lock=\"x\"");
        assert_eq!(again, text, "a second time changes nothing");
    }

    #[test]
    fn a_family_without_a_line_is_gone_with_its_description() {
        let existing = "# HELP a Of a.\n# TYPE a gauge\na 1\n";
        assert_eq!(merged(existing, &FAMILIES, &[], |_| true), "");
        assert_eq!(merged("", &FAMILIES, &[], |_| true), "");
        let kept = merged(existing, &FAMILIES, &[], |_| false);
        assert_eq!(kept, existing);
    }

    #[test]
    fn a_line_of_others_with_the_labels_of_a_new_one_is_replaced() {
        let hostile = "x\"} 9\n\\";
        let samples = [sample(A, hostile, 1.0)];
        let once = merged("", &FAMILIES, &samples, |_| false);
        let again = merged(&once, &FAMILIES, &samples, |_| false);
        assert_eq!((times(&again, "a{lock="), times(&again, "# TYPE a ")), (1, 1), "{again}");
    }

    #[test]
    fn any_file_keeps_its_other_lines_and_a_second_time_changes_nothing() {
        let examples: &[&[u8]] = &[
            b"# HELP up Is up.\n# TYPE up gauge\nup 1\r\n",
            b"# TYPE a gauge\na{lock=\"x\"} 1\nab{lock=\"x\"} 1\n# HELP a Of a.",
        ];
        let samples = [sample(A, "x", 1.0), sample(B, "}\"\n", 2.0)];
        tenure_testkit::fuzz(20_000, examples, |bytes| {
            let Ok(text) = std::str::from_utf8(bytes) else { return false };
            let once = merged(text, &FAMILIES, &samples, |_| true);
            assert_eq!(merged(&once, &FAMILIES, &samples, |_| true), once);
            let others = |line: &&str| {
                let name = series(line).map(|(name, _)| name).or_else(|| description(line));
                !name.is_some_and(|name| is_one_of(&FAMILIES, name))
            };
            let kept = |text: &str| {
                let lines = text.split_terminator('\n').filter(others);
                lines.map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(kept(&once), kept(text));
            true
        });
    }

    #[test]
    fn what_is_no_line_of_metrics_stays() {
        let existing = "nonsense\n\na{lock=\"x 1\n#HELP\n# HELP\n# EOF\n";
        assert_eq!(merged(existing, &FAMILIES, &[], |_| true), existing);
    }
}
