//! The time of day, as statements have it.

/// The server's time when the statement began. No time zone, and no summer time, changes it.
pub(crate) const NOW: &str =
    "timestampdiff(microsecond, timestamp'1970-01-01 00:00:00', utc_timestamp(6))";
