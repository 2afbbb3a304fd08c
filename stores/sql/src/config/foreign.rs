//! Settings of other libraries in a URL that they share with tenure.

use tenure_core::Fault;
use tenure_url::{Dialect, Settings};

/// Settings of one library that do not concern a lock.
#[derive(Clone, Copy, Debug)]
pub struct Foreign {
    /// The library, as people call it.
    pub owner: &'static str,
    /// The settings.
    pub settings: &'static [&'static str],
}

/// A setting that would break what is promised, or that cannot be honoured.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    /// The setting.
    pub setting: &'static str,
    /// Values that ask for nothing.
    pub harmless: &'static [&'static str],
    /// Why it is refused.
    pub why: &'static str,
    /// What to write instead.
    pub help: &'static str,
}

/// Refuses these, unless they have a value that asks for nothing.
///
/// # Errors
/// A fault that names the first.
pub fn refuse(dialect: Dialect, settings: &mut Settings, all: &[Refused]) -> Result<(), Fault> {
    for refused in all {
        if !settings.has(refused.setting) {
            continue;
        }
        let value = settings.take(refused.setting).unwrap_or_default();
        if !refused.harmless.iter().any(|harmless| value.eq_ignore_ascii_case(harmless)) {
            let what = format!("{}: {}", refused.setting, refused.why);
            return Err(dialect.wrong_but(what, refused.help));
        }
    }
    Ok(())
}

/// Takes what is of these libraries. Which it was.
pub fn ignore(settings: &mut Settings, libraries: &[Foreign]) -> Vec<String> {
    let mut ignored = Vec::new();
    for library in libraries {
        for setting in library.settings {
            // What is taken is shown to whoever looks for a setting.
            if settings.has(setting) && settings.take(setting).is_some() {
                ignored.push(format!("{setting} ({})", library.owner));
            }
        }
    }
    ignored
}
