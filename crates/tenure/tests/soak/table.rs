//! What came of it, for people and for machines.

use std::fmt::Write;

use crate::run::Outcome;

fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.abs() < 100.0 && value.fract() != 0.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.0}"),
    }
}

/// A heading, a table of the measures, and verdicts.
pub(crate) fn text(outcome: &Outcome) -> String {
    let mut text = String::new();
    let Outcome { store, seconds, done, losses, restarts, kills, .. } = outcome;
    let _ = writeln!(
        text,
        "## {}: {} grants in {seconds:.0} s, {:.0} a second\n",
        store.name(),
        done.grants,
        done.grants as f64 / seconds.max(1.0)
    );
    let _ = writeln!(
        text,
        "{} waits timed out, {} acquires were dropped midway, {kills} processes were killed, the server was restarted \
         {restarts} times and away for {:.1} s at most. Lost: {} that were kept, {} others, {} because the server was \
         away for too long, {} of very short leases. Calls that failed: {} while it was away, {} else.\n",
        done.timed_out,
        done.dropped,
        outcome.longest_away,
        losses.kept,
        losses.other,
        losses.excused,
        losses.short,
        outcome.failed_while_away,
        outcome.failed,
    );
    let head = ["measure", "first", "last", "max", "slope/h", "verdict"].map(str::to_owned);
    let rows = outcome.series.iter().map(|series| {
        let verdict = match (series.wrong(true), series.bound) {
            (_, crate::series::Bound::Told) => "",
            (None, _) => "flat",
            (Some(_), _) => "NOT FLAT",
        };
        [
            series.name.clone(),
            number(series.first()),
            number(series.last()),
            number(series.most()),
            number(series.slope()),
            verdict.to_owned(),
        ]
    });
    let rows: Vec<_> = [head].into_iter().chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    for (at, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if column == 0 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        let _ = writeln!(text, "| {} |", cells.collect::<Vec<_>>().join(" | "));
        if at == 0 {
            let rules = widths.map(|width| "-".repeat(width));
            let _ = writeln!(text, "| {} |", rules.join(" | "));
        }
    }
    let [connections, things] = outcome.left.map(number);
    let _ = writeln!(
        text,
        "\nLeft when all had ended: {connections} connections, {things} {}.",
        store.things()
    );
    for (message, count) in &outcome.logged {
        let _ = writeln!(text, "Logged {count} times: {message}");
    }
    for why in &outcome.failures {
        let _ = writeln!(text, "Failed while it was there: {why}");
    }
    for wrong in &outcome.wrong {
        let _ = writeln!(text, "WRONG: {wrong}");
    }
    let _ = write!(
        text,
        "{}: {}",
        store.name(),
        if outcome.wrong.is_empty() { "passed" } else { "FAILED" }
    );
    text + "\n"
}

/// The same as JSON.
pub(crate) fn json(outcomes: &[Outcome]) -> String {
    let outcomes: Vec<_> = outcomes.iter().map(one).collect();
    format!("[{}]", outcomes.join(","))
}

fn one(outcome: &Outcome) -> String {
    let value = |value: Option<f64>| match value {
        Some(value) if value.is_finite() => format!("{value}"),
        _ => "null".to_owned(),
    };
    let series = outcome.series.iter().map(|series| {
        format!(
            "{{\"measure\":{},\"first\":{},\"last\":{},\"max\":{},\"slope_per_hour\":{}}}",
            string(&series.name),
            value(series.first()),
            value(series.last()),
            value(series.most()),
            value(series.slope())
        )
    });
    let logged =
        outcome.logged.iter().map(|(message, count)| format!("{}:{count}", string(message)));
    let wrong = outcome.wrong.iter().map(|wrong| string(wrong));
    let done = outcome.done;
    let [connections, things] = outcome.left.map(value);
    format!(
        "{{\"store\":{},\"seconds\":{:.1},\"grants\":{},\"timed_out\":{},\"dropped\":{},\"killed\":{},\"restarts\":{},\"longest_away\":{:.1},\
         \"lost\":{{\"kept\":{},\"other\":{},\"excused\":{},\"short\":{}}},\"failed\":{{\"while_away\":{},\"else\":{}}},\
         \"left\":{{\"connections\":{connections},{}:{things}}},\"logged\":{{{}}},\"measures\":[{}],\"wrong\":[{}]}}",
        string(outcome.store.name()),
        outcome.seconds,
        done.grants,
        done.timed_out,
        done.dropped,
        outcome.kills,
        outcome.restarts,
        outcome.longest_away,
        outcome.losses.kept,
        outcome.losses.other,
        outcome.losses.excused,
        outcome.losses.short,
        outcome.failed_while_away,
        outcome.failed,
        string(outcome.store.things()),
        logged.collect::<Vec<_>>().join(","),
        series.collect::<Vec<_>>().join(","),
        wrong.collect::<Vec<_>>().join(",")
    )
}

fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}
