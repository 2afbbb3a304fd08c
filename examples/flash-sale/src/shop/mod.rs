//! How a click becomes an order, or why it does not.

mod decide;
mod drill;
mod till;

pub(crate) use self::{
    decide::{left_after, not_yet},
    drill::{Drill, STOPPING},
    till::Till,
};
use crate::database::DatabaseError;

/// Why a click is no order.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("there is no such voucher")]
    Unknown,
    #[error("the sale has not begun")]
    NotBegun,
    #[error("the sale is over")]
    Over,
    #[error("all are sold")]
    SoldOut,
    #[error("this customer has ordered already")]
    AlreadyOrdered,
    /// Nothing was sold, or nobody knows: the next click tells.
    #[error("busy: {0}")]
    Busy(String),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the lock: {0}")]
    Lock(Box<dyn std::error::Error + Send + Sync>),
}

impl From<tenure::LockedError> for Refusal {
    fn from(error: tenure::LockedError) -> Self {
        // Who lost the lock does not know whether its write arrived: uncertain, so ask again.
        if error.is_busy() || error.is_transient() {
            Self::Busy(format!("{error:#}"))
        } else {
            Self::Lock(error.into())
        }
    }
}

impl From<redis::RedisError> for Refusal {
    fn from(error: redis::RedisError) -> Self {
        Self::Busy(format!("{error:#}"))
    }
}
