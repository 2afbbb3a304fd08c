//! What the database keeps of a sale, and what is counted from it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A voucher goes on sale: so many, from then to then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) stock: i64,
    pub(crate) begin: Moment,
    pub(crate) end: Moment,
}

/// A voucher as the database has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Voucher {
    pub(crate) terms: Terms,
    /// How many are left, by its own column: what those who sell read and write.
    pub(crate) left: i64,
    /// The token under which the stock was written last.
    pub(crate) token: i64,
    /// How many writes were refused by their token.
    pub(crate) refused: i64,
}

/// A customer of one voucher as the database has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Customer {
    pub(crate) has_ordered: bool,
    /// The token under which this customer ordered last.
    pub(crate) token: i64,
}

/// Somebody clicks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Click {
    pub(crate) voucher: i64,
    pub(crate) customer: i64,
}

/// What was sold, as counted from the orders themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) orders: i64,
    pub(crate) customers: i64,
    /// When the last order was written.
    pub(crate) last: Moment,
}

impl Tally {
    /// How many were sold that were not there.
    pub(crate) fn oversold(&self, stock: i64) -> i64 {
        (self.orders - stock).max(0)
    }

    /// How many orders there are beyond the first of each customer.
    pub(crate) fn duplicates(&self) -> i64 {
        self.orders - self.customers
    }
}

/// A moment, in milliseconds since 1970: what every database can keep and compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) i64);

impl Moment {
    pub(crate) fn now() -> Self {
        Self::from(SystemTime::now())
    }

    pub(crate) fn after(self, length: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` it is; nothing if it is not.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }
}

impl From<SystemTime> for Moment {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

impl From<Moment> for SystemTime {
    fn from(moment: Moment) -> Self {
        UNIX_EPOCH + Duration::from_millis(u64::try_from(moment.0).unwrap_or(0))
    }
}
