//! What a look at any database brings up: a lock is tried, and the clock and the time of an answer are measured.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tenure_core::{
    Fault, FaultKind, LockName, Owner, Store,
    proto::{
        Renewed,
        queue::{Answer, Ask, Intent, Kind, Mode, Order},
    },
    store::{Finding, Renewal},
};

use crate::{Database, SqlStore};

/// How far the server's clock may be from ours before somebody should know.
const CLOCKS_APART: Duration = Duration::from_secs(1);
/// How long one answer may take before leases get short beside it.
const SLOW: Duration = Duration::from_millis(100);
/// What the name of the lock that is tried begins with. No other part of tenure uses it.
const PROBE: &str = "tenure-doctor-probe";

impl<D: Database> SqlStore<D> {
    /// Looks at what is the same for all databases, once the way there is known to be open.
    pub(crate) async fn try_out(&self) -> Result<Vec<Finding>, Fault> {
        let name = LockName::new(PROBE).map_err(|_| unusual("has no name"))?;
        let here = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let before = here();
        let there = self.0.read(&name).await?.now;
        let after = here();
        let there = Duration::from_micros(u64::try_from(there).unwrap_or_default());
        let mut took = Vec::new();
        for _ in 0..10 {
            let start = Instant::now();
            self.0.read(&name).await?;
            took.push(start.elapsed());
        }
        let (cycle, renewal) = self.full_cycle().await;
        Ok(vec![cycle, clock(before, there, after), latency(took, renewal)])
    }

    /// Everything that a lock does, as this very user, and what a renewal took.
    async fn full_cycle(&self) -> (Finding, Option<Duration>) {
        let begun = Instant::now();
        match self.try_everything().await {
            Ok(renewal) => {
                let took = begun.elapsed();
                let found = format!("a full cycle of a lock works, in {took:.1?}");
                (Finding::good("permissions", found), Some(renewal))
            }
            Err(fault) => {
                let of_user = fault.kind() == FaultKind::Misconfigured;
                let what = if of_user { "permissions" } else { "full cycle" };
                (Finding::failed(what, &fault).touches("S9"), None)
            }
        }
    }

    /// Says how long a renewal took, which is a write that counts.
    async fn try_everything(&self) -> Result<Duration, Fault> {
        let (holder, waiter) = (owner()?, owner()?);
        // Several may look at the same time.
        let mark = holder.to_hex();
        let name = format!("{PROBE}-{}", mark.get(..8).unwrap_or_default());
        let name = LockName::new(name).map_err(|_| unusual("has no name"))?;
        let ttl = Duration::from_secs(5);
        let ask = |owner, intent| Ask {
            owner,
            kind: Kind::Mutex,
            mode: Mode::Exclusive,
            order: Order::Fifo,
            intent,
            ttl,
            label: "tenure doctor".to_owned(),
        };
        if !matches!(self.acquire(&name, &ask(holder, Intent::Try)).await?, Answer::Granted { .. })
        {
            return Err(unusual("is held by another doctor"));
        }
        let cycle = async {
            self.acquire(&name, &ask(waiter, Intent::Wait { place: None })).await?;
            let renewal = Renewal { name: name.clone(), owner: holder, ttl };
            let begun = Instant::now();
            match self.renew(&[renewal]).await.pop() {
                Some(Ok(Renewed::Renewed { .. })) => {}
                Some(Err(fault)) => return Err(fault),
                _ => return Err(unusual("could not be renewed")),
            }
            let took = begun.elapsed();
            self.inspect(&name).await?;
            self.release(&name, &holder, Duration::ZERO).await?;
            Ok(took)
        };
        let outcome = cycle.await;
        for owner in [holder, waiter] {
            self.release(&name, &owner, Duration::ZERO).await?;
        }
        // Nobody uses this name again.
        let seen = self.0.read(&name).await?;
        self.0.raise_floor(seen.row.last_time).await?;
        self.0.remove(&name, seen.row.version).await?;
        outcome
    }
}

/// The server looked at its clock at some moment between the two.
fn clock(before: Duration, there: Duration, after: Duration) -> Finding {
    let apart = there.abs_diff(before).max(there.abs_diff(after));
    if apart <= CLOCKS_APART {
        return Finding::good("clock", "within a second of this machine's");
    }
    let found = format!("up to {apart:.1?} away from this machine's");
    let cure = "set both by NTP: a clock that jumps ends leases early";
    Finding::warning("clock", found, "S1", cure)
}

fn latency(mut took: Vec<Duration>, renewal: Option<Duration>) -> Finding {
    took.sort_unstable();
    let (median, longest) = (took.get(took.len() / 2).copied(), took.last().copied());
    let (median, longest) = (median.unwrap_or_default(), longest.unwrap_or_default());
    let mut found = format!("{median:.1?} for an answer, {longest:.1?} at the longest of ten");
    if let Some(renewal) = renewal {
        found.push_str(&format!("; {renewal:.1?} for a renewal"));
    }
    if longest.max(renewal.unwrap_or_default()) < SLOW {
        return Finding::good("latency", found);
    }
    let cure = "choose ttls of many times that, or a server that is nearer or less busy";
    Finding::warning("latency", found, "S3", cure)
}

fn unusual(what: &str) -> Fault {
    let what = format!("the trial lock {what}");
    Fault::new(FaultKind::InDoubt, what, "look again in a minute")
}

fn owner() -> Result<Owner, Fault> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let what = "the operating system gives no random bytes";
        Fault::new(FaultKind::Misconfigured, what, "see that /dev/urandom can be read")
            .because(error.to_string())
    })?;
    Ok(Owner::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use tenure_core::store::Weight;

    use super::*;

    #[test]
    fn clocks_are_together_only_if_they_are_whenever_the_server_looked() {
        let of = |before, there, after| {
            let [before, there, after] = [before, there, after].map(Duration::from_millis);
            clock(before, there, after).weight
        };
        assert_eq!(of(10_000, 10_900, 10_002), Weight::Good);
        assert_eq!(of(10_000, 11_100, 10_002), Weight::Warning);
        // Which was asked so long that it may be two seconds behind.
        assert_eq!(of(10_000, 9_500, 11_500), Weight::Warning);
    }

    #[test]
    fn renewals_that_take_long_are_slow_however_quick_other_answers_are() {
        let quick = || vec![Duration::from_millis(1); 10];
        let renewal = |millis| Some(Duration::from_millis(millis));
        assert_eq!(latency(quick(), renewal(20)).weight, Weight::Good);
        let found = latency(quick(), renewal(300));
        assert!(found.weight == Weight::Warning && found.found.contains("300.0ms"), "{found:?}");
    }
}
