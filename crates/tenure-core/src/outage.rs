//! An outage, in which renewals fail: what is logged about it, so that many holds do not fill a log.

use std::time::Duration;

use tenure_proto::Timestamp;

/// The shortest time between two reports that the outage continues. The longer it lasts, the rarer they are.
const OFTENEST: Duration = Duration::from_secs(10);
/// The longest time between two such reports.
const RAREST: Duration = Duration::from_secs(300);
/// The shortest time between two checks of all holds for the end of the outage.
const LOOKS: Duration = Duration::from_secs(1);
/// The time without a failed renewal after which an outage is forgotten: its holds are gone.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// A report that is to be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutageReport {
    /// The first renewals failed.
    Begun,
    /// Renewals still fail; `failed` is their number so far.
    Lasts { failed: u64, since: Duration },
    /// No hold is left whose last renewal failed.
    Over { failed: u64, since: Duration },
}

#[derive(Debug, Default)]
pub(crate) struct Outage(Option<OngoingOutage>);

#[derive(Debug)]
struct OngoingOutage {
    began: Timestamp,
    failed: u64,
    last_failed: Timestamp,
    says_from: Timestamp,
    looks_from: Timestamp,
}

impl Outage {
    /// This many renewals failed.
    pub(crate) fn record_failures(&mut self, now: Timestamp, count: usize) -> Option<OutageReport> {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.forget(now);
        let Some(current) = &mut self.0 else {
            self.0 = Some(OngoingOutage {
                began: now,
                failed: count,
                last_failed: now,
                says_from: now.saturating_add(OFTENEST),
                looks_from: now,
            });
            return Some(OutageReport::Begun);
        };
        current.failed = current.failed.saturating_add(count);
        current.last_failed = now;
        if now < current.says_from {
            return None;
        }
        let since = now.since(current.began);
        current.says_from = now.saturating_add(since.clamp(OFTENEST, RAREST));
        Some(OutageReport::Lasts { failed: current.failed, since })
    }

    /// Some renewals succeeded; `any_left` says whether the last renewal of any hold failed.
    pub(crate) fn record_success(
        &mut self,
        now: Timestamp,
        any_left: impl FnOnce() -> bool,
    ) -> Option<OutageReport> {
        self.forget(now);
        let current = self.0.as_mut().filter(|current| now >= current.looks_from)?;
        current.looks_from = now.saturating_add(LOOKS);
        if any_left() {
            return None;
        }
        let over = OutageReport::Over { failed: current.failed, since: now.since(current.began) };
        self.0 = None;
        Some(over)
    }

    fn forget(&mut self, now: Timestamp) {
        self.0.take_if(|current| now.since(current.last_failed) > FORGOTTEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::ZERO.saturating_add(Duration::from_millis(millis))
    }

    #[test]
    fn it_is_said_once_then_ever_more_rarely_and_once_more_when_it_is_over() {
        let mut outage = Outage::default();
        let mut said = Vec::new();
        for second in 0..1_000 {
            said.extend(outage.record_failures(at(second * 1_000), 7).map(|news| (second, news)));
        }
        let lasts = |at, failed| {
            (at, OutageReport::Lasts { failed: 7 * failed, since: Duration::from_secs(at) })
        };
        let expected = [10, 20, 40, 80, 160, 320, 620, 920].map(|at| lasts(at, at + 1));
        assert_eq!(said[0], (0, OutageReport::Begun));
        assert_eq!(said[1..], expected);
        let over = outage.record_success(at(1_000_000), || false);
        assert_eq!(
            over,
            Some(OutageReport::Over { failed: 7_000, since: Duration::from_secs(1_000) })
        );
        assert_eq!(outage.record_success(at(1_000_001), || false), None);
    }

    #[test]
    fn it_lasts_while_any_hold_is_left_and_is_looked_at_once_a_second() {
        let mut outage = Outage::default();
        assert_eq!(outage.record_failures(at(0), 2), Some(OutageReport::Begun));
        assert_eq!(outage.record_success(at(100), || true), None);
        assert_eq!(outage.record_success(at(1_000), || panic!("so soon")), None);
        assert_eq!(outage.record_failures(at(1_050), 1), None);
        let over = OutageReport::Over { failed: 3, since: Duration::from_millis(1_100) };
        assert_eq!(outage.record_success(at(1_100), || false), Some(over));
    }

    #[test]
    fn one_whose_holds_all_ended_is_forgotten() {
        let mut outage = Outage::default();
        assert_eq!(outage.record_failures(at(0), 1), Some(OutageReport::Begun));
        assert_eq!(outage.record_success(at(60_001), || false), None);
        assert_eq!(outage.record_failures(at(60_002), 1), Some(OutageReport::Begun));
        assert_eq!(outage.record_failures(at(120_003), 1), Some(OutageReport::Begun));
    }
}
