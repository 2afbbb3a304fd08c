//! A lock that is tried, as this very user, and how long its answers take.

use std::time::{Duration, Instant};

use tenure_core::{
    Fault, FaultKind, LockName, Owner,
    proto::{
        Renewed,
        queue::{Answer, Ask, Intent, Kind, Mode, Order},
    },
    store::{Finding, Renewal},
};

use super::Patient;
use crate::{cluster::written, keys::Tag, route::Seat, transport::Transport};

/// How long one answer may take before leases get short beside it.
const SLOW: Duration = Duration::from_millis(100);
/// What the name of the lock that is tried begins with. No other part of tenure uses it.
const PROBE: &str = "tenure-doctor-probe";
/// After so many names one was found in a slot of each node that has a few hundred of them.
const NAMES: usize = 4_096;

/// Everything that a lock does, at each primary, and what a renewal took, at the longest.
pub(super) async fn full_cycle(patient: &Patient<'_>) -> (Finding, Option<Duration>) {
    match try_everywhere(patient).await {
        Ok((found, took)) => (Finding::good("permissions", found), Some(took)),
        Err(fault) => {
            let of_user = fault.kind() == FaultKind::Misconfigured;
            let what = if of_user { "permissions" } else { "full cycle" };
            (Finding::failed(what, &fault).touches("S9"), None)
        }
    }
}

async fn try_everywhere(patient: &Patient<'_>) -> Result<(String, Duration), Fault> {
    let works = "a full cycle of a lock works";
    let Some(cluster) = patient.transport.route.cluster() else {
        return Ok((works.to_owned(), try_everything(patient, |_| true).await?));
    };
    // Each node has users of its own. Which of them there are was asked on the way here.
    let map = cluster.map();
    let (mut took, mut untried) = (Duration::ZERO, Vec::new());
    for node in map.nodes() {
        let is_there = |name: &LockName| {
            map.owner(Tag::of(name).slot()).is_some_and(|owner| owner.place == node.place)
        };
        match try_everything(patient, is_there).await {
            Ok(renewal) => took = took.max(renewal),
            // It has few slots.
            Err(fault) if fault.kind() == FaultKind::Unsupported => {
                untried.push(written(&node.place));
            }
            Err(fault) => return Err(fault),
        }
    }
    let tried = map.nodes().len() - untried.len();
    let mut found = format!("{works} at {tried} of {} primaries", map.nodes().len());
    if !untried.is_empty() {
        found.push_str(&format!(
            "; not tried at {}, where no name was found for",
            untried.join(", ")
        ));
    }
    Ok((found, took))
}

fn unusual(what: &str) -> Fault {
    Fault::new(FaultKind::InDoubt, format!("the trial lock {what}"), "look again in a minute")
}

/// A name of a lock that nobody else has. Several may look at the same time.
fn probe(mark: &str, fits: impl Fn(&LockName) -> bool) -> Result<LockName, Fault> {
    let mark = mark.get(..8).unwrap_or_default();
    let names = (0..NAMES).filter_map(|number| match number {
        0 => LockName::new(format!("{PROBE}-{mark}")).ok(),
        _ => LockName::new(format!("{PROBE}-{mark}-{number}")).ok(),
    });
    { names }.find(fits).ok_or_else(|| {
        let what = "no name was found for this node";
        Fault::new(FaultKind::Unsupported, what, "give it more slots")
    })
}

/// Says how long a renewal took, which is a write that counts.
async fn try_everything(
    patient: &Patient<'_>,
    fits: impl Fn(&LockName) -> bool,
) -> Result<Duration, Fault> {
    let Patient { store, transport, watch } = *patient;
    let (holder, waiter) = (owner()?, owner()?);
    let name = probe(&holder.to_hex(), fits)?;
    let ttl = Duration::from_secs(5);
    let order = if store.capabilities().fifo { Order::Fifo } else { Order::Barging };
    let ask = |owner, intent| Ask {
        owner,
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        order,
        intent,
        ttl,
        label: "tenure doctor".to_owned(),
    };
    let granted = store.acquire(&name, &ask(holder, Intent::Try)).await?;
    if !matches!(granted, Answer::Granted { .. }) {
        return Err(unusual("is held by another doctor"));
    }
    let cycle = async {
        store.acquire(&name, &ask(waiter, Intent::Wait { place: None })).await?;
        let renewal = Renewal { name: name.clone(), owner: holder, ttl };
        let begun = Instant::now();
        match store.renew(&[renewal]).await.pop() {
            Some(Ok(Renewed::Renewed { .. })) => {}
            Some(Err(fault)) => return Err(fault),
            _ => return Err(unusual("could not be renewed")),
        }
        let took = begun.elapsed();
        store.inspect(&name).await?;
        store.release(&name, &holder, Duration::ZERO).await?;
        let seats = transport.seats().await?;
        for seat in seats {
            transport.send(&seat, &["PUBLISH", &watch.channel, ""]).await?;
        }
        Ok(took)
    };
    let outcome = cycle.await;
    for owner in [holder, waiter] {
        store.release(&name, &owner, Duration::ZERO).await?;
    }
    outcome
}

/// Whether this user hears what others say.
pub(super) async fn hints(patient: &Patient<'_>) -> Finding {
    match patient.watch.try_out().await {
        Ok(()) => Finding::good("hints", "this user may listen: a release wakes the next waiter"),
        Err((channel, fault)) => {
            let without = channel.unwrap_or("now");
            let found = format!(
                "none {without} ({}): waiters look by themselves, and who is evicted learns by its next renewal",
                fault.what_and_why()
            );
            let cure = "give the user +subscribe and the channels that docs/stores/redis.md names";
            Finding::warning("hints", found, "S6", cure)
        }
    }
}

/// How long answers take: that of a server that has nothing to do, and that of a write that counts.
pub(super) async fn latency(
    transport: &Transport,
    seat: &Seat,
    renewal: Option<Duration>,
) -> Result<Finding, Fault> {
    let mut took = Vec::new();
    for _ in 0..10 {
        let start = Instant::now();
        transport.send(seat, &["PING"]).await?;
        took.push(start.elapsed());
    }
    Ok(slow(took, renewal))
}

fn slow(mut took: Vec<Duration>, renewal: Option<Duration>) -> Finding {
    took.sort_unstable();
    let (median, longest) = (took.get(5).copied(), took.last().copied());
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
    fn renewals_that_take_long_are_slow_however_quick_other_answers_are() {
        let quick = || vec![Duration::from_millis(1); 10];
        let renewal = |millis| Some(Duration::from_millis(millis));
        assert_eq!(slow(quick(), renewal(20)).weight, Weight::Good);
        let found = slow(quick(), renewal(300));
        assert!(found.weight == Weight::Warning && found.found.contains("300.0ms"), "{found:?}");
        assert_eq!(slow(vec![Duration::from_millis(150)], None).weight, Weight::Warning);
    }

    #[test]
    fn a_name_is_found_for_each_node() {
        let name = probe("0123456789", |_| true).unwrap();
        assert_eq!(name.as_str(), "tenure-doctor-probe-01234567");
        let least = |name: &LockName| Tag::of(name).slot() < 512;
        assert!(least(&probe("0123456789", least).unwrap()));
        assert!(probe("0123456789", |_| false).is_err());
    }
}
