//! The values that settings accept, wherever they are set.

use std::{fmt, time::Duration};

use humantime::{DurationError, parse_duration};
use tenure_core::history::{BadRetention, Retention};

/// Why a value is invalid. It never shows the value, which may be part of a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// The value is empty.
    Empty,
    /// A duration is a bare number, which may mean seconds or milliseconds.
    MissingUnit,
    /// A duration has an unknown unit.
    UnknownUnit,
    /// The value is not a duration.
    NotDuration,
    /// A number does not fit, or a duration is too long to count.
    TooLarge,
    /// The value is not a whole number.
    NotNumber,
    /// The value is neither yes nor no.
    NotYesNo,
}

impl ValueError {
    /// Returns what to write instead.
    #[must_use]
    pub const fn help(self) -> &'static str {
        match self {
            Self::Empty => "write a value after the =, or leave the setting out",
            Self::MissingUnit | Self::UnknownUnit | Self::NotDuration => {
                "write a number and its unit: 500ms, 2s, 1m, 1h, 1d, or several as 1m30s"
            }
            Self::TooLarge => "write a smaller one",
            Self::NotNumber => "write a whole number without a unit",
            Self::NotYesNo => "write yes or no (true or false, on or off, 1 or 0)",
        }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "has no value",
            Self::MissingUnit => "has no unit",
            Self::UnknownUnit => "has an unknown unit",
            Self::NotDuration => "is not a duration",
            Self::TooLarge => "is too large",
            Self::NotNumber => "is not a whole number",
            Self::NotYesNo => "is neither yes nor no",
        })
    }
}

impl std::error::Error for ValueError {}

/// Parses a duration: `500ms`, `2s`, `1m`, `1h`, `1d`, or several units as in `1m30s`.
///
/// URLs, the configuration and the command all accept the same form.
///
/// # Errors
/// A [`ValueError`] if the text is not a duration.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(tenure_url::duration("1m30s"), Ok(Duration::from_secs(90)));
/// assert_eq!(tenure_url::duration("90"), Err(tenure_url::ValueError::MissingUnit));
/// ```
pub fn duration(text: &str) -> Result<Duration, ValueError> {
    let is_bare = |text: &str| text.trim().parse::<f64>().is_ok();
    parse_duration(text).map_err(|error| match error {
        DurationError::Empty => ValueError::Empty,
        _ if is_bare(text) => ValueError::MissingUnit,
        DurationError::UnknownUnit { .. } => ValueError::UnknownUnit,
        DurationError::NumberOverflow => ValueError::TooLarge,
        _ => ValueError::NotDuration,
    })
}

/// Parses how much of a history is kept: a number of entries, `100`, or a time, `7d`.
///
/// # Errors
/// A message that says what to write instead.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(tenure_url::retention("100")?.most(), 100);
/// assert_eq!(tenure_url::retention("7d")?.time(), Duration::from_secs(7 * 24 * 3_600));
/// assert!(tenure_url::retention("often").is_err());
/// # Ok::<(), String>(())
/// ```
pub fn retention(text: &str) -> Result<Retention, String> {
    let out_of_range = |error: BadRetention| error.to_string();
    if let Ok(most) = text.trim().parse::<u32>() {
        return Retention::entries(most).map_err(out_of_range);
    }
    let time = duration(text).map_err(|_| {
        format!("{text:?} is neither a number of entries, such as 100, nor a time, such as 7d")
    })?;
    Retention::for_time(time).map_err(out_of_range)
}

/// Parses yes or no. Also accepts `true` and `false`, `on` and `off`, `1` and `0`.
///
/// # Errors
/// [`ValueError::NotYesNo`] if it is neither.
pub fn yes_no(text: &str) -> Result<bool, ValueError> {
    match text {
        "yes" | "true" | "on" | "1" => Ok(true),
        "no" | "false" | "off" | "0" => Ok(false),
        _ => Err(ValueError::NotYesNo),
    }
}

/// Parses a whole number that fits.
pub(crate) fn number<N: TryFrom<u64>>(text: &str) -> Result<N, ValueError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ValueError::NotNumber);
    }
    let number: u64 = text.parse().map_err(|_| ValueError::TooLarge)?;
    number.try_into().map_err(|_| ValueError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_with_its_unit() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("2s", 2_000),
            ("1m", 60_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
            ("1m30s", 90_000),
            ("1m 30s", 90_000),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for (text, error) in [
            ("", ValueError::Empty),
            ("1", ValueError::MissingUnit),
            ("1.5", ValueError::MissingUnit),
            ("-1", ValueError::MissingUnit),
            ("99999999999999999999", ValueError::MissingUnit),
            ("3moons", ValueError::UnknownUnit),
            ("soon", ValueError::NotDuration),
            ("-1s", ValueError::NotDuration),
            ("99999999999999999999s", ValueError::TooLarge),
            ("9999999999999999999d", ValueError::TooLarge),
        ] {
            assert_eq!(duration(text), Err(error), "{text}");
        }
        assert!(ValueError::MissingUnit.help().contains("1m30s"));
    }

    #[test]
    fn yes_and_no_have_the_usual_words() {
        for (yes, no) in [("yes", "no"), ("true", "false"), ("on", "off"), ("1", "0")] {
            assert_eq!((yes_no(yes), yes_no(no)), (Ok(true), Ok(false)));
        }
        assert_eq!(yes_no("perhaps"), Err(ValueError::NotYesNo));
    }

    #[test]
    fn a_number_is_digits_that_fit() {
        assert_eq!((number("0"), number("4294967295")), (Ok(0_u32), Ok(u32::MAX)));
        assert_eq!(number::<u32>("4294967296"), Err(ValueError::TooLarge));
        for text in ["", "+1", "-1", "1s", "0x1"] {
            assert_eq!(number::<u64>(text), Err(ValueError::NotNumber), "{text}");
        }
    }
}
