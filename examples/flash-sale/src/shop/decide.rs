//! The decisions, without any I/O: whether a click may become an order.

use super::Refusal;
use crate::records::{Moment, Voucher};

/// Why nobody can buy at this moment, if so. Says nothing of the stock.
pub(crate) fn not_yet(voucher: &Voucher, now: Moment) -> Option<Refusal> {
    if now < voucher.terms.begin {
        Some(Refusal::NotBegun)
    } else if now >= voucher.terms.end {
        Some(Refusal::Over)
    } else {
        None
    }
}

/// How many are left once one more is sold.
pub(crate) fn left_after(voucher: &Voucher) -> Result<i64, Refusal> {
    if voucher.left > 0 { Ok(voucher.left - 1) } else { Err(Refusal::SoldOut) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Terms;

    fn voucher(left: i64) -> Voucher {
        let terms = Terms { stock: 10, begin: Moment(100), end: Moment(200) };
        Voucher { terms, left, token: 0, refused: 0 }
    }

    #[test]
    fn the_first_moment_sells_and_the_end_does_not() {
        assert!(matches!(not_yet(&voucher(1), Moment(99)), Some(Refusal::NotBegun)));
        assert!(not_yet(&voucher(1), Moment(100)).is_none());
        assert!(not_yet(&voucher(1), Moment(199)).is_none());
        assert!(matches!(not_yet(&voucher(1), Moment(200)), Some(Refusal::Over)));
    }

    #[test]
    fn the_last_one_is_sold_and_no_more() {
        assert!(matches!(left_after(&voucher(1)), Ok(0)));
        assert!(matches!(left_after(&voucher(0)), Err(Refusal::SoldOut)));
        assert!(matches!(left_after(&voucher(-3)), Err(Refusal::SoldOut)));
    }
}
