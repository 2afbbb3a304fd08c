//! Figures, and how they are printed.

use std::{
    borrow::Cow,
    io::{Write, stdout},
};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::failure::Failure;

/// One figure: the same thing, measured for each contestant.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    /// What was measured.
    pub(crate) title: Cow<'static, str>,
    /// What the values are.
    pub(crate) unit: Cow<'static, str>,
    /// How it was measured.
    pub(crate) note: &'static str,
    /// What tenure aims at, in words.
    pub(crate) goal: Option<&'static str>,
    /// A row for each contestant; the others are compared with the first.
    pub(crate) rows: Vec<Row>,
}

/// What one contestant needed.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// Who it is.
    pub(crate) who: String,
    /// Half of the values were no greater.
    pub(crate) median: f64,
    /// One in ten was greater.
    pub(crate) p90: f64,
    /// One in a hundred was greater.
    pub(crate) p99: f64,
    /// The greatest value.
    pub(crate) max: f64,
    /// Its median as a multiple of the first row's.
    pub(crate) ratio: f64,
}

impl Figure {
    /// One without rows, and without a goal.
    pub(crate) fn new(
        title: impl Into<Cow<'static, str>>,
        unit: impl Into<Cow<'static, str>>,
        note: &'static str,
    ) -> Self {
        Self { title: title.into(), unit: unit.into(), note, goal: None, rows: Vec::new() }
    }

    /// What tenure aims at.
    pub(crate) fn goal(self, goal: Option<&'static str>) -> Self {
        Self { goal, ..self }
    }

    /// Adds what `who` needed.
    pub(crate) fn row(&mut self, who: impl Into<String>, mut values: Vec<f64>) {
        values.sort_by(f64::total_cmp);
        let at = |part: usize| {
            values.get((values.len() * part / 100).min(values.len().saturating_sub(1)))
        };
        let value = |part| at(part).copied().unwrap_or(f64::NAN);
        let median = value(50);
        let first = self.rows.first().map_or(median, |row| row.median);
        let (p90, p99, max) = (value(90), value(99), value(100));
        self.rows.push(Row { who: who.into(), median, p90, p99, max, ratio: median / first });
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(["", "median", "p90", "p99", "max", "ratio"]);
        for row in &self.rows {
            let number = |value: f64| format!("{value:.*}", if value < 100.0 { 2 } else { 0 });
            let [median, p90, p99, max] = [row.median, row.p90, row.p99, row.max].map(number);
            let ratio = format!("{:.2}", row.ratio);
            table.add_row([row.who.clone(), median, p90, p99, max, ratio]);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}

/// All figures of one run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    cores: usize,
    /// What it was measured on.
    told: Vec<String>,
    figures: Vec<Figure>,
}

impl Report {
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { cores, told: Vec::new(), figures: Vec::new() }
    }

    /// Says something of what it is measured on.
    pub(crate) fn tell(&mut self, what: String) {
        self.told.push(what);
    }

    pub(crate) fn add(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    pub(crate) fn extend(&mut self, figures: impl IntoIterator<Item = Figure>) {
        self.figures.extend(figures);
    }

    /// Prints all figures, as tables or as JSON.
    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        let mut out = stdout().lock();
        if json {
            serde_json::to_writer_pretty(&mut out, self)?;
            writeln!(out)?;
            return Ok(());
        }
        writeln!(out, "{} cores; ratios are to the first row of each table", self.cores)?;
        for told in &self.told {
            writeln!(out, "{told}")?;
        }
        for figure in &self.figures {
            let goal = figure.goal.map_or(String::new(), |goal| format!(", goal: {goal}"));
            writeln!(out, "\n{} ({}{goal})\n{}", figure.title, figure.unit, figure.note)?;
            writeln!(out, "{}", figure.table())?;
        }
        Ok(())
    }
}
