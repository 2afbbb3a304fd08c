//! The values that settings accept, wherever they are set.

use std::time::Duration;

use tenure_core::proto::{
    Grace, OutOfRange, Ttl,
    time::{in_range, written},
};
use tenure_url::ValueError;

use super::error::SettingError;

/// A length of time as people write it.
pub(super) fn length(text: &str) -> Result<Duration, SettingError> {
    tenure_url::duration(text).map_err(|error| match error {
        ValueError::MissingUnit => without_unit(text),
        error => SettingError::new(format!("{text:?} {error:#}"), error.help()),
    })
}

/// A bare number, which could be seconds to one reader and milliseconds to the next.
pub(super) fn without_unit(number: &str) -> SettingError {
    let number = number.trim();
    SettingError::new(
        format!("the length of time {number} has no unit"),
        format!("write \"{number}s\" for seconds or \"{number}ms\" for milliseconds"),
    )
}

pub(super) fn ttl(text: &str) -> Result<Duration, SettingError> {
    Ttl::new(length(text)?).map(Ttl::get).map_err(out_of_range)
}

pub(super) fn max_hold(text: &str) -> Result<Duration, SettingError> {
    in_range("max-hold", length(text)?, Ttl::MIN, Ttl::MAX).map_err(out_of_range)
}

pub(super) fn hold_at_least(text: &str) -> Result<Duration, SettingError> {
    in_range("hold-at-least", length(text)?, Ttl::MIN, Ttl::MAX).map_err(out_of_range)
}

pub(super) fn grace(text: &str) -> Result<Duration, SettingError> {
    Grace::new(length(text)?).map(Grace::get).map_err(out_of_range)
}

fn out_of_range(error: OutOfRange) -> SettingError {
    // The message names the setting before this.
    SettingError::new(format!("{} is out of range", written(error.given)), error.help())
}

pub(super) fn yes_or_no(text: &str) -> Result<bool, SettingError> {
    let wrong = |error: ValueError| SettingError::new(format!("{text:?} {error:#}"), error.help());
    tenure_url::yes_no(text).map_err(wrong)
}
