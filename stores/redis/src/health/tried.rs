//! A lock that is tried, as this very user, and how long its answers take.

use std::time::{Duration, Instant};

use tenure_core::{
    Fault, LockName,
    store::Finding,
    trial::{self, Trial},
};

use super::Patient;
use crate::{cluster::written, keys::Tag, route::Seat, transport::Transport};

/// Everything that a lock does, at each primary, and what a renewal took, at the longest.
pub(super) async fn full_cycle(patient: &Patient<'_>) -> (Finding, Option<Duration>) {
    let tried = try_everywhere(patient).await;
    let works = tried.as_ref().map_or("", |(works, _)| works);
    (trial::cycle(&tried, works), tried.ok().map(|(_, took)| took))
}

async fn try_everywhere(patient: &Patient<'_>) -> Result<(String, Duration), Fault> {
    let works = "a full cycle of a lock works";
    let Some(cluster) = patient.transport.route.cluster() else {
        return Ok((works.to_owned(), try_everything(patient, &Trial::new()?).await?));
    };
    // Each node has users of its own. Which of them there are was asked on the way here.
    let map = cluster.map();
    let (mut took, mut untried) = (Duration::ZERO, Vec::new());
    for node in map.nodes() {
        let is_there = |name: &LockName| {
            map.owner(Tag::of(name).slot()).is_some_and(|owner| owner.place == node.place)
        };
        match Trial::where_name(is_there)? {
            Some(trial) => took = took.max(try_everything(patient, &trial).await?),
            // It has few slots.
            None => untried.push(written(&node.place)),
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

/// Also what is told to others, which a lock does where it can.
async fn try_everything(patient: &Patient<'_>, trial: &Trial) -> Result<Duration, Fault> {
    let took = trial.run(patient.store).await?;
    for seat in patient.transport.seats().await? {
        patient.transport.send(&seat, &["PUBLISH", &patient.watch.channel, ""]).await?;
    }
    Ok(took)
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
    Ok(trial::latency(took, renewal))
}
