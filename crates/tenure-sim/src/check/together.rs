//! Promise S1 for every mode: who may hold a name together.

use tenure_core::proto::queue::Mode;

/// Whether all of these may hold one name at the same time.
///
/// Callers may disagree on how many permits there are: the last one to enter went by its own
/// number, so what is out is at most the largest.
pub(super) fn may_be_together(modes: &[Mode]) -> bool {
    if modes.len() < 2 {
        return true;
    }
    let (mut out, mut most) = (0, 0);
    for mode in modes {
        match *mode {
            Mode::Exclusive => return false,
            Mode::Shared => {}
            Mode::Permits { take, of } => {
                out += u64::from(take);
                most = most.max(of);
            }
        }
    }
    let readers = modes.contains(&Mode::Shared);
    out == 0 || (!readers && out <= u64::from(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn takes(take: u32) -> Mode {
        Mode::Permits { take, of: 3 }
    }

    #[test]
    fn only_readers_and_permits_that_fit_hold_together() {
        for alone in [Mode::Exclusive, Mode::Shared, takes(3)] {
            assert!(may_be_together(&[alone]));
            assert!(!may_be_together(&[alone, Mode::Exclusive]));
        }
        assert!(may_be_together(&[Mode::Shared, Mode::Shared, Mode::Shared]));
        assert!(!may_be_together(&[Mode::Shared, takes(1)]));
        assert!(may_be_together(&[takes(2), takes(1)]));
        assert!(!may_be_together(&[takes(2), takes(2)]));
        assert!(may_be_together(&[takes(2), Mode::Permits { take: 2, of: 4 }]));
    }
}
