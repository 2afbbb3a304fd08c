//! Settings of other libraries, in a URL that they share with tenure.

use tenure_core::Fault;

use crate::UrlParts;

/// Settings of one library that do not concern a lock.
#[derive(Clone, Copy, Debug)]
pub struct ForeignSettings {
    /// The library's usual name.
    pub owner: &'static str,
    /// The settings, separated by spaces.
    pub settings: &'static str,
}

/// Settings that would break a promise, or cannot be honoured.
#[derive(Clone, Copy, Debug)]
pub struct RefusedSettings {
    /// The settings, separated by spaces.
    pub settings: &'static str,
    /// Values that have no effect, and are accepted.
    pub harmless: &'static [&'static str],
    /// Why they are refused.
    pub why: &'static str,
    /// What to write instead.
    pub help: &'static str,
}

impl UrlParts {
    /// Takes the rest of the URL, after the settings that the database knows. Ignores settings of other libraries.
    ///
    /// # Errors
    /// A fault if there is no user, or for the first setting that is unknown or refused. A refused setting with a
    /// harmless value is accepted.
    pub fn finish(
        mut self,
        store: &'static str,
        refused: &[RefusedSettings],
        libraries: &[ForeignSettings],
    ) -> Result<(), Fault> {
        if self.user.is_none() {
            return Err(self.dialect.wrong("it names no user"));
        }
        for RefusedSettings { settings, harmless, why, help } in refused {
            for setting in settings.split_ascii_whitespace() {
                if !self.settings.has(setting) {
                    continue;
                }
                let value = self.settings.take(setting).unwrap_or_default();
                if !harmless.iter().any(|harmless| value.eq_ignore_ascii_case(harmless)) {
                    return Err(self.dialect.wrong_but(format!("{setting}: {why}"), *help));
                }
            }
        }
        let mut ignored = Vec::new();
        for ForeignSettings { owner, settings } in libraries {
            for setting in settings.split_ascii_whitespace() {
                // An accepted setting is listed for a user who looks for one.
                if self.settings.has(setting) && self.settings.take(setting).is_some() {
                    ignored.push(format!("{setting} ({owner})"));
                }
            }
        }
        self.settings.finish()?;
        if !ignored.is_empty() {
            tracing::debug!(
                store,
                settings = ignored.join(", "),
                "the URL has settings of another library, which do not affect locks"
            );
        }
        Ok(())
    }
}
