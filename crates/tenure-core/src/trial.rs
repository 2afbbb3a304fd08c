//! The common part of the stores' health checks: acquiring a test lock, and judging clocks and answer times.

use std::time::{Duration, Instant};

use tenure_proto::{
    Owner, Renewed,
    queue::{Answer, Ask, Intent, Kind, Mode, Order},
};

use crate::{
    Entropy, Fault, FaultKind, LockName, OsEntropy, Store,
    pace::{ENOUGH, SHORT},
    store::{Diagnostic, Renewal},
};

/// The beginning of a test lock's name. No other part of tenure uses it.
pub const PROBE: &str = "tenure-doctor-probe";
/// The difference to the server's clock from which people should know about it.
const CLOCKS_APART: Duration = Duration::from_secs(1);
/// The answer time from which leases get short in comparison.
const SLOW: Duration = Duration::from_millis(100);
/// The number of names that are tried to find a suitable one: enough for a part of the store that has one in a hundred.
const NAMES: usize = 4_096;

/// A lock that no other program has, and all operations that are done with a lock, as the current user.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use tenure_core::{MemoryStore, trial::TrialLock};
///
/// let trial = TrialLock::new()?;
/// trial.run(&MemoryStore::new()).await?;
/// # Ok::<(), tenure_core::Fault>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct TrialLock {
    name: LockName,
    holder: Owner,
    waiter: Owner,
}

impl TrialLock {
    /// Makes a trial with a new name, so that several can run at the same time.
    ///
    /// # Errors
    /// A fault if the system has no randomness.
    pub fn new() -> Result<Self, Fault> {
        Self::where_name(|_| true)?.ok_or_else(|| unusual("has no name"))
    }

    /// Makes a trial with a name that `fits`; `None` if none was found.
    ///
    /// # Errors
    /// As for [`TrialLock::new`].
    pub fn where_name(fits: impl Fn(&LockName) -> bool) -> Result<Option<Self>, Fault> {
        let random = OsEntropy::default();
        let (holder, waiter) = (random.owner()?, random.owner()?);
        let name = probe(&holder.to_hex(), fits);
        Ok(name.map(|name| Self { name, holder, waiter }))
    }

    /// Returns an owner that only this trial has, and that holds nothing once it has run.
    #[must_use]
    pub fn owner(&self) -> Owner {
        self.holder
    }

    /// Returns the name of the lock.
    #[must_use]
    pub fn name(&self) -> &LockName {
        &self.name
    }

    /// Acquires the lock, waits for it, renews it, inspects it and releases it. Returns the time of the renewal, which
    /// is a write that must be confirmed.
    ///
    /// # Errors
    /// The first fault of the store. Anything left in the store ends within seconds.
    pub async fn run(&self, store: &dyn Store) -> Result<Duration, Fault> {
        let outcome = self.cycle(store).await;
        for owner in [self.holder, self.waiter] {
            store.release(&self.name, &owner, Duration::ZERO).await?;
        }
        outcome
    }

    async fn cycle(&self, store: &dyn Store) -> Result<Duration, Fault> {
        let Self { name, holder, waiter } = self;
        let ttl = Duration::from_secs(5);
        let order = if store.capabilities().fifo { Order::Fifo } else { Order::Barging };
        let ask = |owner: &Owner, intent| Ask {
            owner: *owner,
            kind: Kind::Mutex,
            mode: Mode::Exclusive,
            order,
            intent,
            ttl,
            label: "tenure doctor".into(),
        };
        let granted = store.acquire(name, &ask(holder, Intent::Try)).await?;
        if !matches!(granted, Answer::Granted { .. }) {
            return Err(unusual("is held by another doctor"));
        }
        store.acquire(name, &ask(waiter, Intent::Wait { position: None })).await?;
        let renewal = Renewal { name: name.clone(), owner: *holder, ttl };
        let begun = Instant::now();
        match store.renew(&[renewal]).await.pop() {
            Some(Ok(Renewed::Renewed { .. })) => {}
            Some(Err(fault)) => return Err(fault),
            _ => return Err(unusual("could not be renewed")),
        }
        let took = begun.elapsed();
        store.inspect(name).await?;
        store.release(name, holder, Duration::ZERO).await?;
        Ok(took)
    }
}

fn probe(mark: &str, fits: impl Fn(&LockName) -> bool) -> Option<LockName> {
    let mark = mark.get(..8).unwrap_or_default();
    let names = (0..NAMES).filter_map(|number| match number {
        0 => LockName::new(format!("{PROBE}-{mark}")).ok(),
        _ => LockName::new(format!("{PROBE}-{mark}-{number}")).ok(),
    });
    { names }.find(fits)
}

fn unusual(what: &str) -> Fault {
    Fault::new(FaultKind::InDoubt, format!("the trial lock {what}"), "check again in a minute")
}

/// Returns the finding of such a trial. For the time of its renewal, see [`measure_latency`].
#[must_use]
pub fn cycle<T>(outcome: &Result<T, Fault>, works: impl Into<String>) -> Diagnostic {
    match outcome {
        Ok(_) => Diagnostic::good("permissions", works),
        Err(fault) => {
            let of_user = fault.kind() == FaultKind::Misconfigured;
            let what = if of_user { "permissions" } else { "full cycle" };
            Diagnostic::failed(what, fault).touches("S9")
        }
    }
}

/// Returns the finding for the server's clock. `there` was read between `before` and `after` on the local clock, all
/// since the Unix epoch. `promise` and `help` say what the clock matters for.
#[must_use]
pub fn clock(
    [before, after]: [Duration; 2],
    there: Duration,
    promise: &'static str,
    help: &str,
) -> Diagnostic {
    let apart = there.abs_diff(before).max(there.abs_diff(after));
    if apart <= CLOCKS_APART {
        return Diagnostic::good("clock", "within a second of this machine's");
    }
    let found = format!("up to {apart:.1?} away from this machine's");
    Diagnostic::warning("clock", found, promise, help)
}

/// Returns a warning if the shortest ttl of any locks is too short for a busy machine.
#[must_use]
pub fn ttl(shortest: Duration) -> Option<Diagnostic> {
    let found = format!("{shortest:?} for some locks, which is often lost on a busy machine");
    let help = format!(
        "choose {ENOUGH:?} or more: https://github.com/tenure-rs/tenure/blob/main/docs/ttl.md has figures of each store"
    );
    (shortest < SHORT).then(|| Diagnostic::warning("ttl", found, "S3", help))
}

/// Measures ten answers that need no work of the server, and compares them with the time of a renewal: see
/// [`TrialLock::run`].
///
/// # Errors
/// The first fault of `ask`.
pub async fn measure_latency<T, F>(
    renewal: Option<Duration>,
    mut ask: impl FnMut() -> F,
) -> Result<Diagnostic, Fault>
where
    F: Future<Output = Result<T, Fault>>,
{
    let mut took = Vec::new();
    for _ in 0..10 {
        let begun = Instant::now();
        ask().await?;
        took.push(begun.elapsed());
    }
    Ok(latency(took, renewal))
}

/// The finding for ten answers that need no work of the server, and for a write that must be confirmed.
#[must_use]
fn latency(mut took: Vec<Duration>, renewal: Option<Duration>) -> Diagnostic {
    took.sort_unstable();
    let (median, longest) = (took.get(took.len() / 2).copied(), took.last().copied());
    let (median, longest) = (median.unwrap_or_default(), longest.unwrap_or_default());
    let mut found = format!("{median:.1?} for an answer, {longest:.1?} at the longest of ten");
    if let Some(renewal) = renewal {
        found.push_str(&format!("; {renewal:.1?} for a renewal"));
    }
    if longest.max(renewal.unwrap_or_default()) < SLOW {
        return Diagnostic::good("latency", found);
    }
    let help = "choose ttls of many times that, or a server that is nearer or less busy";
    Diagnostic::warning("latency", found, "S3", help)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;
    use crate::store::Severity;

    #[test]
    fn clocks_are_together_only_if_they_are_whenever_the_server_looked() {
        let of = |before, there, after| {
            let [before, there, after] = [before, there, after].map(Duration::from_millis);
            clock([before, after], there, "S1", "").severity
        };
        assert_eq!(of(10_000, 10_900, 10_002), Severity::Good);
        assert_eq!(of(10_000, 9_200, 10_002), Severity::Good);
        // In the last case, the call took so long that the server's clock may be 1.3 s behind.
        for (before, there, after) in
            [(10_000, 11_900, 10_002), (10_000, 8_900, 10_002), (10_000, 9_500, 10_800)]
        {
            assert_eq!(of(before, there, after), Severity::Warning, "{there}");
        }
    }

    #[test]
    fn renewals_that_take_long_are_slow_however_quick_other_answers_are() {
        let quick = || vec![Duration::from_millis(1); 10];
        let renewal = |millis| Some(Duration::from_millis(millis));
        assert_eq!(latency(quick(), renewal(20)).severity, Severity::Good);
        let found = latency(quick(), renewal(300));
        assert!(
            found.severity == Severity::Warning && found.found.contains("300.0ms"),
            "{found:?}"
        );
        assert_eq!(latency(vec![Duration::from_millis(150)], None).severity, Severity::Warning);
    }

    #[test]
    fn a_name_is_found_that_fits() {
        let name = probe("0123456789", |_| true).unwrap();
        assert_eq!(name.as_str(), "tenure-doctor-probe-01234567");
        let rare = |name: &LockName| name.as_str().ends_with("99");
        assert!(rare(&probe("0123456789", rare).unwrap()));
        assert_eq!(probe("0123456789", |_| false), None);
    }
}
