//! The keys of the file.

use std::{collections::BTreeMap, time::Duration};

use tenure_core::{
    Defaults, NamePattern,
    history::{HistoryFamilies, HistoryFamiliesError, Retention},
    observe::{MetricFamilies, MetricFamiliesError},
};
use toml::de::DeValue;

use super::{
    ConfigError,
    error::{Origin, SettingError},
    table::{ConfigSource, ConfigTable, kind},
    values,
};

/// The content of a file.
#[derive(Default)]
pub(super) struct ParsedConfig {
    pub(super) store: Option<(String, Origin)>,
    pub(super) stores: BTreeMap<String, (String, Origin)>,
    pub(super) defaults: Defaults,
    pub(super) locks: Vec<(NamePattern, Defaults)>,
    pub(super) run: Run,
    pub(super) families: MetricFamilies,
    pub(super) history: HistoryFamilies,
    pub(super) service: Option<String>,
}

/// The settings of the table `[run]`, which only the command `tenure` uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Run {
    /// The time between SIGTERM and SIGKILL.
    pub grace: Option<Duration>,
    /// The exit code when the lock is busy.
    pub busy_exit_code: Option<u8>,
    /// The exit code when the lock was lost. It is not 0.
    pub lost_exit_code: Option<u8>,
    /// The exit code when tenure itself or the store failed. It is not 0.
    pub failed_exit_code: Option<u8>,
    /// The exit code when there is nothing to do in this slot.
    pub skipped_exit_code: Option<u8>,
}

impl ParsedConfig {
    pub(super) fn parse(source: ConfigSource<'_>) -> Result<Self, ConfigError> {
        let mut table = source.table()?;
        let store = table.text("store")?;
        let service = table.text("service")?.map(|(service, _)| service);
        let defaults = settings(&mut table)?;
        let stores = table.table("stores")?.into_entries().into_iter();
        let stores = stores.map(|entry| Ok((entry.key.clone(), entry.text()?)));
        let stores = stores.collect::<Result<_, _>>()?;
        let locks = table.table("locks")?.into_entries().into_iter();
        let locks = locks.map(|entry| {
            let pattern = NamePattern::new(entry.key.clone());
            let title = format!("[locks.{:?}]", entry.key);
            let mut table = entry.table(source, title)?;
            let defaults = settings(&mut table)?;
            table.finish()?;
            Ok((pattern, defaults))
        });
        let locks = locks.collect::<Result<_, _>>()?;
        let run = Run::read(table.table("run")?)?;
        let mut metrics = table.table("metrics")?;
        let families = metrics.take("families", |value| metric_families(&value))?;
        metrics.finish()?;
        let history = table.take("history", |value| history_families(&value))?;
        table.finish()?;
        let families = families.unwrap_or_default();
        let history = history.unwrap_or_default();
        Ok(Self { store, stores, defaults, locks, run, families, history, service })
    }
}

impl Run {
    fn read(mut table: ConfigTable<'_>) -> Result<Self, ConfigError> {
        let run = Self {
            grace: table.take("grace", |value| read_duration(&value, values::length))?,
            busy_exit_code: table.take("busy-exit-code", |value| exit_code(&value, 0))?,
            lost_exit_code: table.take("lost-exit-code", |value| exit_code(&value, 1))?,
            failed_exit_code: table.take("failed-exit-code", |value| exit_code(&value, 1))?,
            skipped_exit_code: table.take("skipped-exit-code", |value| exit_code(&value, 0))?,
        };
        table.finish()?;
        Ok(run)
    }
}

fn settings(table: &mut ConfigTable<'_>) -> Result<Defaults, ConfigError> {
    let mut defaults = Defaults::default();
    defaults.ttl = table.take("ttl", |value| read_duration(&value, values::ttl))?;
    defaults.wait = table.take("wait", |value| read_duration(&value, values::length))?;
    defaults.max_hold = table.take("max-hold", |value| read_duration(&value, values::max_hold))?;
    defaults.hold_at_least =
        table.take("hold-at-least", |value| read_duration(&value, values::hold_at_least))?;
    defaults.grace = table.take("grace", |value| read_duration(&value, values::grace))?;
    defaults.label = table.text("label")?.map(|(label, _)| label);
    defaults.fair = table.take("fair", |value| read_bool(&value))?;
    Ok(defaults)
}

fn read_duration(
    value: &DeValue<'_>,
    read: impl Fn(&str) -> Result<Duration, SettingError>,
) -> Result<Duration, SettingError> {
    match value {
        DeValue::String(text) => read(text),
        DeValue::Integer(number) => Err(values::without_unit(&number.to_string())),
        DeValue::Float(number) => Err(values::without_unit(&number.to_string())),
        other => {
            let what = format!("{} is not a length of time", kind(other));
            Err(SettingError::new(what, "write it like \"500ms\", \"30s\" or \"1m 30s\""))
        }
    }
}

fn read_bool(value: &DeValue<'_>) -> Result<bool, SettingError> {
    match value {
        DeValue::Boolean(truth) => Ok(*truth),
        other => {
            let what = format!("{} is neither true nor false", kind(other));
            Err(SettingError::new(what, "write true or false, without quotes"))
        }
    }
}

/// Patterns of names, as a list of text.
fn metric_families(value: &DeValue<'_>) -> Result<MetricFamilies, SettingError> {
    const HELP: &str = "write a list of patterns in quotes, such as [\"order:*\", \"nightly\"]";
    let DeValue::Array(entries) = value else {
        return Err(SettingError::new(format!("{} is not a list", kind(value)), HELP));
    };
    let refused = |error: MetricFamiliesError| refused_families(&error, HELP);
    let patterns = entries.iter().map(|entry| {
        let at = entry.span().start;
        let DeValue::String(text) = entry.get_ref() else {
            let what = format!("{} is not a pattern", kind(entry.get_ref()));
            return Err(SettingError::new(what, HELP).at(at));
        };
        MetricFamilies::new([text.as_ref()]).map_err(|error| refused(error).at(at))?;
        Ok(text.as_ref())
    });
    let patterns = patterns.collect::<Result<Vec<_>, _>>()?;
    MetricFamilies::new(patterns).map_err(refused)
}

/// Patterns of names, each with how much of the history of its locks is kept.
fn history_families(value: &DeValue<'_>) -> Result<HistoryFamilies, SettingError> {
    const HELP: &str =
        "write \"nightly\" = 100 for a number of holds, \"order:*\" = \"7d\" for a time";
    let DeValue::Table(families) = value else {
        return Err(SettingError::new(format!("{} is not a table", kind(value)), HELP));
    };
    let refused = |error: HistoryFamiliesError| refused_families(&error, HELP);
    let mut families: Vec<_> = families.iter().collect();
    families.sort_by_key(|(pattern, _)| pattern.span().start);
    let families = families.into_iter().map(|(pattern, kept)| {
        let (at, pattern): (_, &str) = (pattern.span().start, pattern.get_ref());
        let kept: Result<Retention, String> = match kept.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => {
                tenure_url::retention(number.as_str())
            }
            DeValue::String(text) if text.trim().parse::<u64>().is_ok() => {
                Err(format!("{text:?} is neither a number nor a time with a unit"))
            }
            DeValue::String(text) => tenure_url::retention(text),
            other => Err(format!("{} is neither a number of entries nor a time", kind(other))),
        };
        let wrong = |what| SettingError::new(format!("{pattern}: {what}"), HELP).at(at);
        let kept = kept.map_err(wrong)?;
        HistoryFamilies::new([(pattern, kept)]).map_err(|error| refused(error).at(at))?;
        Ok((pattern.to_owned(), kept))
    });
    let families = families.collect::<Result<Vec<_>, _>>()?;
    HistoryFamilies::new(families).map_err(refused)
}

/// What is wrong with families, and otherwise this help.
fn refused_families(error: &dyn std::fmt::Display, help: &str) -> SettingError {
    let text = error.to_string();
    let (what, help) = text.split_once(": ").unwrap_or((&text, help));
    SettingError::new(what, help)
}

fn exit_code(value: &DeValue<'_>, least: u8) -> Result<u8, SettingError> {
    let number = match value {
        DeValue::Integer(number) => u8::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    };
    let number = number.filter(|number| *number >= least);
    let help = || format!("write a number from {least} to 255");
    number.ok_or_else(|| SettingError::new("this is not an exit code", help()))
}
