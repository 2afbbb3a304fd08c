//! Settings in environment variables.

use tenure_core::Defaults;

use super::{
    ConfigError,
    error::{Origin, SettingError},
    values,
};

/// Returns the value of an environment variable, if it is set and not empty.
pub(super) type VariableLookup<'v> = &'v dyn Fn(&str) -> Option<String>;

/// The environment variables from which a configuration is read. A program that looks for misspelled variables in its
/// environment can compare with these.
///
/// ```
/// assert!(tenure::config::VARIABLES.contains(&"TENURE_STORE"));
/// ```
pub const VARIABLES: &[&str] = &[
    CONFIG,
    STORE,
    "TENURE_TTL",
    "TENURE_WAIT",
    "TENURE_MAX_HOLD",
    "TENURE_HOLD_AT_LEAST",
    "TENURE_GRACE",
    "TENURE_LABEL",
    "TENURE_FAIR",
    SERVICE,
];

/// The variable that names a configuration file.
pub(super) const CONFIG: &str = "TENURE_CONFIG";
/// The variable that names the service of this process.
pub(super) const SERVICE: &str = "TENURE_SERVICE";
/// The variable that names a store.
pub(super) const STORE: &str = "TENURE_STORE";

/// The settings for every lock that the variables give.
pub(super) fn defaults(variables: VariableLookup<'_>) -> Result<Defaults, ConfigError> {
    let mut defaults = Defaults::default();
    defaults.ttl = read(variables, "TENURE_TTL", values::ttl)?;
    defaults.wait = read(variables, "TENURE_WAIT", values::length)?;
    defaults.max_hold = read(variables, "TENURE_MAX_HOLD", values::max_hold)?;
    defaults.hold_at_least = read(variables, "TENURE_HOLD_AT_LEAST", values::hold_at_least)?;
    defaults.grace = read(variables, "TENURE_GRACE", values::grace)?;
    defaults.label = variables("TENURE_LABEL");
    defaults.fair = read(variables, "TENURE_FAIR", values::yes_or_no)?;
    Ok(defaults)
}

fn read<T>(
    variables: VariableLookup<'_>,
    name: &'static str,
    value: impl Fn(&str) -> Result<T, SettingError>,
) -> Result<Option<T>, ConfigError> {
    let text = variables(name);
    text.map(|text| value(&text).map_err(|wrong| Origin::Variable(name).error(wrong))).transpose()
}
