//! The answer of `bench`.

use serde_json::{Value, json};
use tenure_core::plain::plain;

use super::{json::ToJsonLine, rows::WrappingTable};
/// What was measured, and where.
#[derive(Debug)]
pub(crate) struct BenchResults {
    pub(crate) kind: String,
    pub(crate) location: String,
    pub(crate) cores: usize,
    pub(crate) pair: Option<Vec<PairMeasurement>>,
    pub(crate) handoff: Option<HandoffMeasurement>,
}

/// Pairs of acquire and release by so many tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PairMeasurement {
    pub(crate) tasks: usize,
    pub(crate) count: u64,
    /// The median of all rounds, the least and the most.
    pub(crate) per_second: f64,
    pub(crate) per_second_min: f64,
    pub(crate) per_second_max: f64,
    pub(crate) took: LatencyStats,
    /// What this process spent, in microseconds for each pair.
    pub(crate) cpu_us: f64,
}

/// Hand-offs between two processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HandoffMeasurement {
    pub(crate) count: u64,
    /// Nothing if there was none.
    pub(crate) took: Option<LatencyStats>,
}

/// How long it took, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LatencyStats {
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
}

/// What figures are to be read with.
const CAVEAT: &str =
    "These figures hold for this machine at this moment; compare only figures of one run.";

/// For programs.
pub(crate) fn json(figures: &BenchResults) -> String {
    let mut answer = json!({
        "kind": figures.kind, "store": figures.location, "cores": figures.cores,
    });
    if let Some(pair) = &figures.pair {
        answer["pair"] = pair.iter().map(pair_of).collect();
    }
    if let Some(handoff) = &figures.handoff {
        let took = handoff.took.as_ref();
        answer["handoff"] = json!({
            "count": handoff.count, "p50_us": took.map(|took| rounded(took.p50_us)),
            "p99_us": took.map(|took| rounded(took.p99_us)),
            "max_us": took.map(|took| rounded(took.max_us)),
        });
    }
    answer.printed()
}

fn pair_of(pair: &PairMeasurement) -> Value {
    json!({
        "tasks": pair.tasks, "count": pair.count,
        "per_second": rounded(pair.per_second),
        "per_second_min": rounded(pair.per_second_min),
        "per_second_max": rounded(pair.per_second_max),
        "p50_us": rounded(pair.took.p50_us), "p99_us": rounded(pair.took.p99_us),
        "max_us": rounded(pair.took.max_us), "client_cpu_us": rounded(pair.cpu_us),
    })
}

/// No more digits than were measured.
fn rounded(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}

/// For people.
pub(crate) fn table(figures: &BenchResults) -> String {
    let mut parts = vec![format!(
        "Measured in {}, from {} core{}.",
        plain(&figures.location),
        figures.cores,
        if figures.cores == 1 { "" } else { "s" },
    )];
    if let Some(pair) = &figures.pair {
        let titles =
            ["PAIR, TASKS", "PER SECOND", "MIN", "MAX", "P50 µs", "P99 µs", "MAX µs", "CPU µs"];
        let mut rows = WrappingTable::new(titles, 0);
        for of in pair {
            rows.add([
                of.tasks.to_string(),
                short(of.per_second),
                short(of.per_second_min),
                short(of.per_second_max),
                short(of.took.p50_us),
                short(of.took.p99_us),
                short(of.took.max_us),
                short(of.cpu_us),
            ]);
        }
        parts.push(rows.print());
    }
    if let Some(handoff) = &figures.handoff {
        let mut rows = WrappingTable::new(["HAND-OFF, COUNT", "P50 µs", "P99 µs", "MAX µs"], 0);
        let cell = |figure: Option<f64>| figure.map_or("-".to_owned(), short);
        let took = handoff.took.as_ref();
        rows.add([
            handoff.count.to_string(),
            cell(took.map(|took| took.p50_us)),
            cell(took.map(|took| took.p99_us)),
            cell(took.map(|took| took.max_us)),
        ]);
        parts.push(rows.print());
    }
    parts.push(CAVEAT.to_owned());
    parts.join("\n\n")
}

/// With a digit behind the point where there is hardly one before it.
fn short(figure: f64) -> String {
    if figure < 100.0 { format!("{figure:.1}") } else { format!("{figure:.0}") }
}
