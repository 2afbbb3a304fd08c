//! Reads a table of the file key by key, so that no key is overlooked.

use std::path::Path;

use tenure_url::nearest;
use toml::de::{DeTable, DeValue};

use super::{
    ConfigError,
    error::{Origin, SettingError},
};

/// A file and its text, to find the line of a mistake.
#[derive(Clone, Copy)]
pub(super) struct ConfigSource<'t> {
    pub(super) file: &'t Path,
    pub(super) text: &'t str,
}

/// A table that is being read.
pub(super) struct ConfigTable<'t> {
    source: ConfigSource<'t>,
    /// Its name for people, after "here" in a message; empty for the whole file.
    title: String,
    entries: Vec<ConfigEntry<'t>>,
    known: Vec<&'static str>,
}

/// One entry of a table: in most cases one line.
pub(super) struct ConfigEntry<'t> {
    pub(super) key: String,
    pub(super) value: DeValue<'t>,
    pub(super) origin: Origin,
    at: usize,
}

impl<'t> ConfigSource<'t> {
    pub(super) fn table(self) -> Result<ConfigTable<'t>, ConfigError> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            // Its message, unlike its text, does not repeat the line, which may hold a password.
            let what = format!("this is not TOML: {}", error.message());
            self.origin(at).error(SettingError::new(what, "see https://toml.io for the format"))
        })?;
        Ok(ConfigTable::new(self, String::new(), table.into_inner()))
    }

    fn origin(self, at: usize) -> Origin {
        let before = self.text.bytes().take(at);
        Origin::Line(self.file.to_owned(), before.filter(|byte| *byte == b'\n').count() + 1)
    }
}

impl<'t> ConfigTable<'t> {
    fn new(source: ConfigSource<'t>, title: String, table: DeTable<'t>) -> Self {
        let mut entries: Vec<_> = table
            .into_iter()
            .map(|(key, value)| {
                let at = key.span().start;
                let key = key.into_inner().into_owned();
                ConfigEntry { key, value: value.into_inner(), origin: source.origin(at), at }
            })
            .collect();
        entries.sort_by_key(|entry| entry.at);
        Self { source, title, entries, known: Vec::new() }
    }

    /// Takes out the value of `key`, if it exists.
    pub(super) fn take<T>(
        &mut self,
        key: &'static str,
        read: impl Fn(DeValue<'t>) -> Result<T, SettingError>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(ConfigEntry { value, origin, .. }) = self.entry(key) else { return Ok(None) };
        let value = read(value).map_err(|SettingError { what, help, at }| {
            let origin = at.map_or(origin, |at| self.source.origin(at));
            origin.error(SettingError::new(format!("{key}: {what}"), help))
        })?;
        Ok(Some(value))
    }

    /// Takes out the text of `key`, and its origin.
    pub(super) fn text(
        &mut self,
        key: &'static str,
    ) -> Result<Option<(String, Origin)>, ConfigError> {
        let Some(entry) = self.entry(key) else { return Ok(None) };
        entry.text().map(Some)
    }

    /// Takes out the table of `key`: an empty one if there is none.
    pub(super) fn table(&mut self, key: &'static str) -> Result<Self, ConfigError> {
        let empty = || Self::new(self.source, format!(" under [{key}]"), DeTable::new());
        let nothing = empty();
        self.entry(key).map_or(Ok(nothing), |entry| entry.table(self.source, format!("[{key}]")))
    }

    /// Takes the remaining entries, in the order of the file: for tables with free keys.
    pub(super) fn into_entries(self) -> Vec<ConfigEntry<'t>> {
        self.entries
    }

    /// Refuses a key that was not taken.
    pub(super) fn finish(self) -> Result<(), ConfigError> {
        let Some(ConfigEntry { key, origin, .. }) = self.entries.first() else { return Ok(()) };
        let what = format!("no setting{} is called {key:?}", self.title);
        let help = match nearest(key, self.known.iter().copied()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("it can contain {}", listed(&self.known)),
        };
        Err(origin.error(SettingError::new(what, help)))
    }

    fn entry(&mut self, key: &'static str) -> Option<ConfigEntry<'t>> {
        self.known.push(key);
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }
}

impl<'t> ConfigEntry<'t> {
    /// This entry as a table, with `title` as its name for people.
    pub(super) fn table(
        self,
        source: ConfigSource<'t>,
        title: String,
    ) -> Result<ConfigTable<'t>, ConfigError> {
        match self.value {
            DeValue::Table(table) => Ok(ConfigTable::new(source, format!(" under {title}"), table)),
            other => {
                let what = format!("{} is {}, not a table", self.key, kind(&other));
                let help = format!("write {title} on a separate line, and its settings below");
                Err(self.origin.error(SettingError::new(what, help)))
            }
        }
    }

    /// This entry as text, and its origin.
    pub(super) fn text(self) -> Result<(String, Origin), ConfigError> {
        match self.value {
            DeValue::String(text) => Ok((text.into_owned(), self.origin)),
            other => {
                let what = format!("{} is {}, not text", self.key, kind(&other));
                Err(self.origin.error(SettingError::new(what, "write text in quotes")))
            }
        }
    }
}

/// The type of a value, without its content, which may contain a URL.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}
