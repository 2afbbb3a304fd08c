//! How large a sale is.

/// How many come, and how often they click.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) stock: i64,
    pub(crate) customers: i64,
    /// How often each clicks, all at once.
    pub(crate) clicks_each: u32,
    /// How many customers are in the shop at a time.
    pub(crate) at_once: usize,
}

impl Size {
    pub(crate) fn clicks(&self) -> u64 {
        u64::try_from(self.customers).unwrap_or(0) * u64::from(self.clicks_each)
    }
}
