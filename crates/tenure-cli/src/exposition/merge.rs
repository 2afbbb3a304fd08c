//! Metrics among those that others wrote.

use super::text::{Family, Sample, line, render, series};

/// Returns `existing` with these samples. Lines of these families whose labels `is_ours` are replaced, and all other
/// lines stay. Each of these families is in one piece, as the format demands.
pub(crate) fn merged(
    existing: &str,
    families: &[Family],
    samples: &[Sample],
    is_ours: impl Fn(&str) -> bool,
) -> String {
    if existing.is_empty() {
        return render(families, samples);
    }
    let is_known = |name: &str| families.iter().any(|family| family.name == name);
    let (known, mut others): (Vec<_>, Vec<_>) = existing.lines().partition(|line| {
        described(line).or(series(line).map(|(name, _)| name)).is_some_and(is_known)
    });
    let mut text = String::new();
    others.push("");
    text += &others.join("\n");
    for Family { name, help } in families {
        let of_others = known.iter().filter(|line| {
            series(line).is_some_and(|(known, labels)| known == *name && !is_ours(labels))
        });
        let of_others = of_others.map(|line| format!("{line}\n"));
        let ours = samples.iter().filter(|sample| sample.family == *name).map(line);
        let lines: String = of_others.chain(ours).collect();
        if !lines.is_empty() {
            text += &format!("# HELP {name} {help}\n# TYPE {name} gauge\n{lines}");
        }
    }
    text
}

/// The family that a comment describes.
fn described(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let comment = words.next() == Some("#") && matches!(words.next(), Some("HELP" | "TYPE"));
    words.next().filter(|_| comment)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILIES: [Family; 2] =
        [Family { name: "a", help: "Of a." }, Family { name: "b", help: "Of b." }];

    fn sample(family: &'static str, lock: &str, value: f64) -> Sample {
        Sample { family, labels: vec![("lock", lock.to_owned())], value }
    }

    #[test]
    fn lines_of_others_stay_and_ours_are_replaced() {
        let ours = |labels: &str| labels == "lock=\"x\"";
        let first = merged("", &FAMILIES, &[sample("a", "x", 1.0), sample("b", "x", 2.0)], ours);
        let of_a = "# HELP a Of a.\n# TYPE a gauge\na{lock=\"x\"} 1\n";
        assert_eq!(first, format!("{of_a}# HELP b Of b.\n# TYPE b gauge\nb{{lock=\"x\"}} 2\n"));
        let again = merged(&first, &FAMILIES[1..], &[sample("b", "x", 3.0)], ours);
        assert_eq!(again, first.replace("} 2", "} 3"), "only the families that are named");
        let existing = "# HELP up Up.\n# TYPE up gauge\nup 1 17\n\n# HELP b Of b.\nb{lock=\"y\"} 7\n\
            b{lock=\"x\"} 8\nwhat is this\nlast{} 1";
        let expected = "# HELP up Up.\n# TYPE up gauge\nup 1 17\n\nwhat is this\nlast{} 1\n\
            # HELP b Of b.\n# TYPE b gauge\nb{lock=\"y\"} 7\nb{lock=\"x\"} 9\n";
        let found = merged(existing, &FAMILIES, &[sample("b", "x", 9.0)], ours);
        assert_eq!(found, expected);
        assert_eq!(merged(&found, &FAMILIES, &[sample("b", "x", 9.0)], ours), expected);
    }
}
