//! What one run found, as it is kept in JSON.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};

use super::{machine::Machine, roster, work::Values};
use crate::failure::Failure;

/// What stands beside the peers in the works of hand-off: a message through the same server.
pub(crate) const MESSAGE: &str = "a message";

/// One run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    /// When it began, in UTC.
    pub(crate) made: String,
    /// Whether everything was cut short.
    pub(crate) quick: bool,
    pub(crate) rounds: usize,
    /// What the order in each round comes from.
    pub(crate) seed: u64,
    pub(crate) seconds: u64,
    pub(crate) machine: Machine,
    pub(crate) loads: Vec<Load>,
    pub(crate) contestants: Vec<Taking>,
    pub(crate) results: Vec<Result>,
}

/// The load average of the last minute, before and after a round.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Load {
    pub(crate) before: f64,
    pub(crate) after: f64,
}

/// Who takes part, or why not.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Taking {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) language: String,
    pub(crate) token: bool,
    pub(crate) renews: bool,
    pub(crate) used: String,
    /// Why it could not be measured.
    pub(crate) missing: Option<String>,
}

/// What was measured of one contestant at one work.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Result {
    pub(crate) work: String,
    pub(crate) who: String,
    pub(crate) rounds: Vec<BTreeMap<String, f64>>,
    /// Rounds that came to nothing, in words.
    pub(crate) troubles: Vec<String>,
}

/// The middle of several rounds, and their ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Run {
    /// Adds what came of one measurement.
    pub(crate) fn add(
        &mut self,
        work: &str,
        who: &str,
        measured: std::result::Result<Values, Failure>,
    ) {
        let known = self.results.iter().position(|each| each.work == work && each.who == who);
        let at = known.unwrap_or_else(|| {
            let (work, who) = (work.to_owned(), who.to_owned());
            self.results.push(Result { work, who, rounds: Vec::new(), troubles: Vec::new() });
            self.results.len() - 1
        });
        match measured {
            Ok(values) => {
                let short = values.into_iter().map(|(key, value)| (key.to_owned(), rounded(value)));
                self.results[at].rounds.push(short.collect());
            }
            Err(trouble) => self.results[at].troubles.push(trouble.to_string()),
        }
    }

    /// What is known of a work and a contestant.
    pub(crate) fn result(&self, work: &str, who: &str) -> Option<&Result> {
        self.results.iter().find(|each| each.work == work && each.who == who)
    }

    /// One value of it, over all rounds.
    pub(crate) fn value(&self, work: &str, who: &str, key: &str) -> Option<Spread> {
        self.result(work, who)?.spread(key)
    }

    /// Those that keep their locks where this work is done, tenure first.
    pub(crate) fn at(&self, keeps: roster::Keeps) -> impl Iterator<Item = &Taking> {
        let there = move |name: &str| {
            roster::ALL.iter().any(|known| known.name == name && known.keeps == keeps)
        };
        self.contestants.iter().filter(move |taking| there(&taking.name))
    }

    pub(crate) fn read(file: &Path) -> std::result::Result<Self, Failure> {
        let text = fs::read_to_string(file)
            .map_err(|error| format!("{} cannot be read: {error:#}", file.display()))?;
        Ok(serde_json::from_str(&text)?)
    }

    pub(crate) fn write(&self, file: &Path) -> std::result::Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(fs::write(file, text)?)
    }
}

impl Taking {
    /// Whether this is tenure itself.
    pub(crate) fn ours(&self) -> bool {
        ours(&self.name)
    }
}

/// Whether this is tenure itself.
pub(crate) fn ours(name: &str) -> bool {
    name.starts_with("tenure")
}

impl Result {
    /// One value, over all rounds that have it.
    pub(crate) fn spread(&self, key: &str) -> Option<Spread> {
        let mut values: Vec<f64> =
            self.rounds.iter().filter_map(|round| round.get(key).copied()).collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Spread { median, least, most })
    }
}

/// Four digits, for nothing behind them means anything.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(3 - value.abs().log10().floor() as i32);
    let short = (value * scale).round() / scale;
    // As it is written, without what is left over of dividing.
    format!("{short:.6}").parse().unwrap_or(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_rounds_is_told_with_its_ends() {
        let round = |value| BTreeMap::from([("x".to_owned(), value)]);
        let mut result = Result {
            work: String::new(),
            who: String::new(),
            rounds: [5.0, 1.0, 2.0].map(round).into(),
            troubles: Vec::new(),
        };
        let spread = result.spread("x").unwrap();
        assert_eq!((spread.least, spread.median, spread.most), (1.0, 2.0, 5.0));
        result.rounds.push(round(4.0));
        assert_eq!(result.spread("x").unwrap().median, 3.0);
        assert!(result.spread("y").is_none());
    }

    #[test]
    fn four_digits_are_kept() {
        assert_eq!([123_456.0, 0.012_345_6, -3.0].map(rounded), [123_500.0, 0.012_35, -3.0]);
    }
}
