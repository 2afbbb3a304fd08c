//! A refusal that stays true for a while, so that the server is not asked for the same again and again.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tenure_core::Fault;

/// How long a refusal is remembered. What an owner of the tables changes meanwhile shows after this time.
const KEPT: Duration = Duration::from_secs(5 * 60);

/// The last refusal, in memory alone.
#[derive(Debug, Default)]
pub struct RememberedRefusal(Mutex<Option<(Instant, Fault)>>);

impl RememberedRefusal {
    /// Returns the refusal, if it is recent.
    pub fn recent(&self) -> Option<Fault> {
        self.recent_at(Instant::now())
    }

    /// Remembers a refusal from now on.
    pub fn remember(&self, fault: &Fault) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), fault.clone()));
    }

    fn recent_at(&self, now: Instant) -> Option<Fault> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, fault) = last.as_ref()?;
        (now.saturating_duration_since(*at) < KEPT).then(|| fault.clone())
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::FaultKind;

    use super::*;

    #[test]
    fn a_refusal_is_remembered_for_a_while() {
        let refusal = RememberedRefusal::default();
        assert!(refusal.recent().is_none());
        refusal.remember(&Fault::new(FaultKind::Misconfigured, "no", "ask the owner"));
        let told = refusal.recent();
        assert!(told.is_some_and(|fault| fault.message() == "no"));
        assert!(refusal.recent_at(Instant::now() + KEPT).is_none());
    }
}
