//! What memory this process uses.

use std::fs;

use crate::failure::Failure;

const PAGE: f64 = 4096.0;

/// The resident memory of this process, in bytes.
pub(crate) fn resident() -> Result<f64, Failure> {
    let pages = fs::read_to_string("/proc/self/statm")?;
    let pages = pages.split_whitespace().nth(1).ok_or("no resident size")?;
    Ok(pages.parse::<f64>()? * PAGE)
}
