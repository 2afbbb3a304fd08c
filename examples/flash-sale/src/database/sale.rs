//! How an order is written: which steps its transaction has. Nothing is done here.

use super::{Statement, Step};
use crate::records::{Click, Moment};

/// An order to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sale {
    pub(crate) click: Click,
    pub(crate) at: Moment,
    pub(crate) stock: Stock,
    pub(crate) customers: Customers,
}

/// What is written of the stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stock {
    /// So many are left, whatever is there by now.
    Set(i64),
    /// So many are left, if nobody has written since this was read and nobody later has been there.
    Fenced(i64, Fence),
    /// One less, if there is one.
    CountDown,
}

/// What the database is to make sure of about the customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Customers {
    /// Nothing.
    Trusted,
    /// That nobody later has been there for this customer.
    Fenced(Fence),
    /// That there is one order for each, by a unique index.
    Once,
}

/// A token, and the one that stood there when it was read. A token alone lets a late write in if the next
/// holder has read and not yet written; together with the one that was seen it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    pub(crate) mine: i64,
    pub(crate) seen: i64,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Done,
    SoldOut,
    Already,
    /// Refused by its token: somebody else was there since this was read.
    Refused,
}

impl Sale {
    /// The steps of its transaction. The row that all want comes last, so that it is locked shortest.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut steps = vec![self.order()];
        steps.extend(self.customer());
        steps.push(self.stock());
        steps
    }

    fn order(&self) -> Step {
        let Click { voucher, customer } = self.click;
        let once = (self.customers == Customers::Once).then_some(customer);
        Step {
            statement: Statement::InsertNew(
                "flash_sale_order (voucher, customer, ordered_at, nonce, once)
                 VALUES (?, ?, ?, ?, ?)",
            ),
            values: vec![Some(voucher), Some(customer), Some(self.at.0), Some(nonce()), once],
            otherwise: Some(Written::Already),
        }
    }

    fn customer(&self) -> Vec<Step> {
        let Customers::Fenced(Fence { mine, seen }) = self.customers else { return Vec::new() };
        let Click { voucher, customer } = self.click;
        let row = Step {
            statement: Statement::InsertNew(
                "flash_sale_customer (voucher, customer, token) VALUES (?, ?, 0)",
            ),
            values: [voucher, customer].map(Some).into(),
            otherwise: None,
        };
        let fence = Step {
            statement: Statement::Plain(
                "UPDATE flash_sale_customer SET token = ?
                 WHERE voucher = ? AND customer = ? AND token = ? AND token < ?",
            ),
            values: [mine, voucher, customer, seen, mine].map(Some).into(),
            otherwise: Some(Written::Refused),
        };
        vec![row, fence]
    }

    fn stock(&self) -> Step {
        let voucher = self.click.voucher;
        match self.stock {
            Stock::Set(left) => Step {
                statement: Statement::Plain(
                    "UPDATE flash_sale_voucher SET remaining = ? WHERE id = ?",
                ),
                values: [left, voucher].map(Some).into(),
                otherwise: None,
            },
            Stock::Fenced(left, Fence { mine, seen }) => Step {
                statement: Statement::Plain(
                    "UPDATE flash_sale_voucher SET remaining = ?, token = ?
                     WHERE id = ? AND token = ? AND token < ?",
                ),
                values: [left, mine, voucher, seen, mine].map(Some).into(),
                otherwise: Some(Written::Refused),
            },
            Stock::CountDown => Step {
                statement: Statement::Plain(
                    "UPDATE flash_sale_voucher SET remaining = remaining - 1
                     WHERE id = ? AND remaining > 0",
                ),
                values: vec![Some(voucher)],
                otherwise: Some(Written::SoldOut),
            },
        }
    }
}

/// Tells two orders of one customer apart: nothing but the strategy is to prevent them.
fn nonce() -> i64 {
    getrandom::u64().map_or(0, |number| i64::from_ne_bytes(number.to_ne_bytes()) & i64::MAX)
}
