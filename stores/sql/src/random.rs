//! Random numbers, which differ from process to process.

/// Returns a number from zero to one.
#[must_use]
pub fn random_part() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}
