//! A mistake in a configuration: what it is, where it is, and what to write instead.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use tenure_core::parts::ErrorParts;

use crate::urls::url::without_passwords;

/// A mistake in the configuration.
///
/// `{}` shows the file and the line, or the variable, and the mistake. `{:#}` also shows the help. An error never shows
/// the password of a store's URL.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    pub(super) origin: Origin,
    pub(super) what: String,
    pub(super) help: String,
}

impl ConfigError {
    /// Returns the file with the mistake; `None` if the mistake is elsewhere.
    ///
    /// ```
    /// use std::path::Path;
    /// use tenure::config::Config;
    ///
    /// let file = Some((Path::new("tenure.toml"), "ttl = 30"));
    /// let error = Config::parse(file, |_| None).unwrap_err();
    /// assert_eq!(error.file(), Some(Path::new("tenure.toml")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match &self.origin {
            Origin::File(file) | Origin::Line(file, _) => Some(file),
            Origin::Variable(_) | Origin::Program(_) => None,
        }
    }

    /// Returns the line of the mistake, counted from 1.
    ///
    /// ```
    /// use std::path::Path;
    /// use tenure::config::Config;
    ///
    /// let file = Some((Path::new("tenure.toml"), "ttl = 30"));
    /// let error = Config::parse(file, |_| None).unwrap_err();
    /// assert_eq!(error.line(), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn line(&self) -> Option<usize> {
        match self.origin {
            Origin::Line(_, line) => Some(line),
            Origin::File(_) | Origin::Variable(_) | Origin::Program(_) => None,
        }
    }

    /// Returns the variable with the mistake; `None` if the mistake is elsewhere.
    ///
    /// ```
    /// use tenure::config::Config;
    ///
    /// let set = |name: &str| (name == "TENURE_TTL").then(|| "30".to_owned());
    /// let error = Config::parse(None, set).unwrap_err();
    /// assert_eq!(error.variable(), Some("TENURE_TTL"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn variable(&self) -> Option<&'static str> {
        match self.origin {
            Origin::Variable(name) => Some(name),
            Origin::File(_) | Origin::Line(..) | Origin::Program(_) => None,
        }
    }

    pub(crate) fn parts(&self) -> ErrorParts<'_> {
        ErrorParts::new(format!("{}: {}", self.origin, self.what)).help(&*self.help)
    }
}

tenure_core::debug_of_parts!(ConfigError);
tenure_core::error_of_parts!(ConfigError);

/// Where a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    File(PathBuf),
    Line(PathBuf, usize),
    Variable(&'static str),
    /// The program, with its name for the setting.
    Program(String),
}

impl Origin {
    pub(super) fn error(&self, SettingError { what, help, .. }: SettingError) -> ConfigError {
        // A misplaced text may be a URL.
        ConfigError { origin: self.clone(), what: without_passwords(&what), help }
    }
}

/// The variable with the path may have been set to a URL.
fn shown(file: &Path) -> String {
    without_passwords(&file.display().to_string())
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => f.write_str(&shown(file)),
            Self::Line(file, line) => write!(f, "{}, line {line}", shown(file)),
            Self::Variable(name) => write!(f, "the variable {name}"),
            Self::Program(by) => f.write_str(by),
        }
    }
}

/// A mistake, before its origin is known.
#[derive(Debug)]
pub(super) struct SettingError {
    pub(super) what: String,
    pub(super) help: String,
    /// Where it is in the text, if that is not where its setting begins.
    pub(super) at: Option<usize>,
}

impl SettingError {
    pub(super) fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { what: what.into(), help: help.into(), at: None }
    }

    pub(super) fn at(self, at: usize) -> Self {
        Self { at: Some(at), ..self }
    }
}
