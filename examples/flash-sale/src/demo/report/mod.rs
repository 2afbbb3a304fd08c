//! What came of it: for machines, for people, and as a picture.

mod picture;
mod table;

use std::{
    error::Error,
    io::{Write, stdout},
    time::Duration,
};

use serde::{Deserialize, Serialize};

pub(crate) use self::picture::plot;
use super::{Settings, balancer::Kind};

/// All sales of one run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) strategies: Vec<Row>,
    pub(crate) not_run: Vec<NotRun>,
    pub(crate) database: String,
    pub(crate) store: String,
    pub(crate) balancer: String,
    pub(crate) instances: usize,
    pub(crate) customers: i64,
    pub(crate) clicks_each: u32,
    /// Whether nobody was slowed, killed or stopped.
    pub(crate) calm: bool,
    pub(crate) ttl_ms: u64,
}

/// One sale.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) strategy: String,
    /// The locks that it holds, in order.
    pub(crate) holds: Vec<String>,
    /// Whether it is to come through without a voucher or an order too many.
    pub(crate) is_safe: bool,
    pub(crate) orders: i64,
    pub(crate) stock: i64,
    /// Orders for vouchers that were not there.
    pub(crate) oversold: i64,
    /// Orders of customers who had one.
    pub(crate) duplicates: i64,
    /// Customers who were told that they have an order, and have none.
    pub(crate) lost: usize,
    /// Writes that the database refused by their token.
    pub(crate) refused: i64,
    /// Orders a second, from the opening to the last.
    pub(crate) per_second: f64,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    /// Clicks that were never answered well; nothing, if the sale did not end.
    pub(crate) gave_up: Option<u64>,
    /// How long after the kill the next order was written; nothing, if nobody was killed or nothing sold.
    pub(crate) after_kill_ms: Option<u64>,
    /// The same after an instance was frozen.
    pub(crate) after_freeze_ms: Option<u64>,
}

/// A sale that needs what is not there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotRun {
    pub(crate) strategy: String,
    pub(crate) why: String,
}

impl Outcome {
    pub(super) fn new(settings: &Settings, balancer: Kind) -> Self {
        // Without what else is in a URL: a password may be.
        let kind = |url: Option<&String>, without: &str| {
            url.and_then(|url| url.split(':').next()).unwrap_or(without).to_owned()
        };
        Self {
            strategies: Vec::new(),
            not_run: Vec::new(),
            database: kind(settings.database.as_ref(), "sqlite"),
            store: kind(settings.store.as_ref(), "file"),
            balancer: balancer.text().to_owned(),
            instances: settings.instances,
            customers: settings.size.customers,
            clicks_each: settings.size.clicks_each,
            calm: settings.calm,
            ttl_ms: u64::try_from(settings.ttl.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Whether what is to be safe was.
    pub(super) fn kept_its_promises(&self) -> bool {
        self.strategies.iter().all(|row| !row.is_safe || (row.violations() == 0 && row.has_ended()))
    }

    /// In which setting it was run, in words.
    pub(crate) fn setting(&self) -> String {
        let Self { instances, balancer, database, store, customers, clicks_each, .. } = self;
        let lease = if self.calm {
            String::new()
        } else {
            format!(
                ", leases of {}",
                humantime::format_duration(Duration::from_millis(self.ttl_ms))
            )
        };
        format!(
            "{instances} instances behind {balancer}, orders in {database}, tenure locks in \
             {store}, {customers} customers clicking {clicks_each} times at once{lease}"
        )
    }

    /// How many orders a second there were without any lock.
    pub(crate) fn without(&self) -> Option<f64> {
        let none = self.strategies.iter().find(|row| row.strategy == "none")?;
        (none.per_second > 0.0).then_some(none.per_second)
    }
}

impl Row {
    /// Whether everybody was answered in the end. Nobody knows what else went wrong where not.
    pub(crate) fn has_ended(&self) -> bool {
        self.gave_up == Some(0)
    }

    /// Vouchers and orders too many, and orders too few.
    pub(crate) fn violations(&self) -> i64 {
        self.oversold + self.duplicates + i64::try_from(self.lost).unwrap_or(i64::MAX)
    }
}

/// Prints it.
pub(super) fn print(outcome: &Outcome, json: bool) -> Result<(), Box<dyn Error>> {
    let mut out = stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, outcome)?;
        return Ok(writeln!(out)?);
    }
    writeln!(out, "{}", outcome.setting())?;
    writeln!(out, "{}", table::table(outcome))?;
    for NotRun { strategy, why } in &outcome.not_run {
        writeln!(out, "not run: {strategy}: {why}")?;
    }
    for row in outcome.strategies.iter().filter(|row| !row.has_ended()) {
        writeln!(out, "not everybody was answered: {}", row.strategy)?;
    }
    if !outcome.kept_its_promises() {
        writeln!(out, "a strategy that is to be safe was not")?;
    }
    Ok(())
}
