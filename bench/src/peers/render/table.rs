//! The table of one work.

use std::fmt::Write;

use super::{
    super::{
        roster::{self, Keeps},
        run::{MESSAGE, Run, ours},
        work::{Kind, Work},
    },
    number,
};

/// A column, and what it is called.
struct Column {
    key: &'static str,
    title: &'static str,
    /// Whether the ends of all rounds are shown too.
    spread: bool,
}

const fn of(key: &'static str, title: &'static str) -> Column {
    Column { key, title, spread: false }
}

const fn main(key: &'static str, title: &'static str) -> Column {
    Column { key, title, spread: true }
}

/// Its columns, the one that it is sorted by first, and whether more of that is better.
fn columns(kind: Kind) -> (Vec<Column>, bool) {
    match kind {
        Kind::Pair { .. } => (
            vec![
                main("per_second", "pairs/s"),
                of("client_us", "client CPU, µs a pair"),
                of("server_us", "server CPU, µs a pair"),
                of("hung", "hung"),
                of("errors", "errors"),
            ],
            true,
        ),
        Kind::Commands => (
            vec![
                of("sent", "commands sent"),
                of("inside", "commands in scripts"),
                of("bytes_in", "bytes to the server"),
                of("bytes_out", "bytes from the server"),
            ],
            false,
        ),
        Kind::Handoff => (
            vec![
                main("p50_us", "p50, µs"),
                main("p99_us", "p99, µs"),
                of("handoffs", "hand-offs"),
                of("hung", "hung"),
            ],
            false,
        ),
        Kind::Crowd { .. } => (
            vec![
                main("per_second", "acquisitions/s"),
                of("wait_p50_ms", "wait p50, ms"),
                of("wait_p99_ms", "p99"),
                of("wait_max_ms", "longest"),
                of("most_fewest", "most : fewest grants"),
                of("never", "never granted"),
                of("hung", "hung"),
                of("client_us", "client CPU, µs each"),
                of("server_us", "server CPU, µs each"),
                of("commands", "commands each"),
                of("errors", "errors"),
            ],
            true,
        ),
        Kind::Hold { .. } => (
            vec![
                of("server_cpu", "server CPU, % of a core"),
                of("client_cpu", "client CPU, % of a core"),
                of("commands", "commands/s, with those in scripts"),
                of("client_bytes", "client bytes a hold"),
                of("server_bytes", "server bytes a lock"),
                of("lapsed", "lapsed"),
            ],
            false,
        ),
        Kind::Kill => (vec![of("seconds", "seconds")], false),
    }
}

/// The table of a work, or nothing where nobody did it.
pub(super) fn table(run: &Run, work: &Work) -> Option<String> {
    run.results.iter().find(|result| result.work == work.name)?;
    let (columns, more_is_better) = columns(work.kind);
    // On files there is no server.
    let columns: Vec<_> = columns
        .into_iter()
        .filter(|column| {
            run.results.iter().any(|r| r.work == work.name && r.spread(column.key).is_some())
        })
        .collect();
    let mut rows = Vec::new();
    let known = |name: &str| roster::ALL.iter().find(|known| known.name == name);
    for taking in run.at(work.keeps) {
        let as_another = known(&taking.name).is_some_and(roster::Contestant::renewed_as_another);
        if matches!(work.kind, Kind::Hold { .. }) && as_another {
            continue;
        }
        rows.push(row(run, work, &columns, &taking.name, taking.missing.as_deref()));
    }
    if run.result(work.name, MESSAGE).is_some() {
        rows.push(row(run, work, &columns, MESSAGE, None));
    }
    rows.sort_by(|(one, _), (other, _)| match (one, other) {
        (Some(one), Some(other)) if more_is_better => other.total_cmp(one),
        (Some(one), Some(other)) => one.total_cmp(other),
        (one, other) => other.is_some().cmp(&one.is_some()),
    });
    let mut table = String::from("| |");
    for column in &columns {
        let _ = write!(table, " {} |", column.title);
    }
    let _ = write!(table, "\n|---|{}", "--:|".repeat(columns.len()));
    for (_, row) in rows {
        let _ = write!(table, "\n{row}");
    }
    Some(table)
}

/// A row, and what it is sorted by.
fn row(
    run: &Run,
    work: &Work,
    columns: &[Column],
    who: &str,
    missing: Option<&str>,
) -> (Option<f64>, String) {
    let shown = if ours(who) { format!("**{who}**") } else { who.to_owned() };
    let result = run.result(work.name, who);
    let key = columns.first().and_then(|column| result?.spread(column.key));
    let Some(result) = result.filter(|result| !result.rounds.is_empty()) else {
        let known = roster::ALL.iter().find(|known| known.name == who);
        let why = match (missing, result.and_then(|result| result.troubles.first())) {
            (Some(missing), _) => format!("not installed: {missing}"),
            (None, Some(trouble)) => trouble.clone(),
            (None, None) if known.is_some_and(|known| !known.renews) => "does not renew".to_owned(),
            (None, None) => "not measured".to_owned(),
        };
        let rest = " |".repeat(columns.len().saturating_sub(1));
        return (None, format!("| {shown} | {} |{rest}", why.replace('|', "/")));
    };
    let mut row = format!("| {shown} |");
    for column in columns {
        let starved = || result.spread("never").is_some_and(|never| never.most > 0.0);
        let cell = match result.spread(column.key) {
            _ if column.key == "most_fewest" && starved() => "–".to_owned(),
            None => String::new(),
            Some(all) if column.spread && all.least < all.most => {
                format!("{} ({}–{})", number(all.median), number(all.least), number(all.most))
            }
            // What went wrong in one round went wrong.
            Some(all) if matches!(column.key, "never" | "hung" | "lapsed" | "errors") => {
                format!("{:.0}", all.most)
            }
            Some(all) if column.key == "handoffs" => format!("{:.0}", all.median),
            Some(all) => number(all.median),
        };
        let _ = write!(row, " {cell} |");
    }
    if let Some(trouble) = result.troubles.first() {
        let cut = row.len() - 2;
        row.truncate(cut);
        let _ = write!(row, ", and {} × {} |", result.troubles.len(), trouble.replace('|', "/"));
    }
    (key.map(|key| key.median), row)
}

/// The works of a heading, in their order.
pub(super) fn works(keeps: Keeps, name: &str) -> impl Iterator<Item = &'static Work> {
    let belongs = move |work: &&Work| work.keeps == keeps && work.name.starts_with(name);
    super::super::work::ALL.iter().filter(belongs)
}
