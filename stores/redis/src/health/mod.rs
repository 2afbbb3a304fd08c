//! A look at the real server, and which promise holds there.

mod nodes;
mod sentinels;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tenure_core::{
    Fault, FaultKind, LockName, Owner, Store,
    proto::{
        Renewed,
        queue::{Answer, Ask, Intent, Kind, Mode, Order},
    },
    store::{Finding, Renewal},
};

use crate::{
    connect::walk,
    info::{field, text},
    journal::{Journal, Step},
    options::{Replicas, bracketed},
    protocol::Value,
    route::{Panel, Role, Route, Seat},
    transport::Transport,
};

/// What is looked at, and by what.
#[derive(Clone, Copy)]
pub(crate) struct Patient<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) transport: &'a Transport,
    /// The channel on which this process hears its hints.
    pub(crate) channel: &'a str,
}

/// How far the server's clock may be from ours before somebody should know.
const CLOCKS_APART: Duration = Duration::from_secs(1);
/// Over how many nodes of a cluster the way is tried.
const NODES: u32 = 3;
/// How long one answer may take before leases get short beside it.
const SLOW: Duration = Duration::from_millis(100);
/// By what other servers that speak the protocol call their own version.
const OTHERS: [&str; 4] =
    ["dragonfly_version", "garnet_version", "keydb_version", "kvrocks_version"];
/// What the name of the lock that is tried begins with. No other part of tenure uses it.
const PROBE: &str = "tenure-doctor-probe";

/// Looks at the way to the server first, and at the server if it leads there.
pub(crate) async fn look(patient: Patient<'_>) -> Result<Vec<Finding>, Fault> {
    let transport = patient.transport;
    let mut findings = match steps(transport).await {
        Ok(findings) => findings,
        Err(findings) => return Ok(findings),
    };
    findings.push(full_cycle(&patient).await);
    match &*transport.route {
        Route::Cluster(cluster) => findings.extend(nodes::look(transport, cluster).await?),
        Route::Sentinels(group) => {
            findings.extend(server(transport, &Seat::Only).await);
            findings.extend(sentinels::look(transport, group).await);
        }
        Route::Always(_) => findings.extend(server(transport, &Seat::Only).await),
    }
    Ok(findings)
}

/// A look at one server.
async fn server(transport: &Transport, seat: &Seat) -> Vec<Finding> {
    let failed = |what, promise| move |fault: Fault| Finding::failed(what, &fault).touches(promise);
    let info = info(transport, seat).await;
    let info = info.as_deref();
    let wants = transport.options.replicas != Replicas::Count(0);
    let none = sentinels::replicas(info).filter(|_| transport.route.changes() && !wants);
    let one_of_many = one_of_many(info).filter(|_| !transport.route.changes());
    let without_scripts = (!transport.options.scripts).then(|| {
        let found = "none are run, as scripts=no says: mutexes alone, and who waits for one gets it in no order";
        let cure = "take scripts=no out of the URL where this user may run scripts";
        Finding::warning("scripts", found, "S8", cure)
    });
    let findings = vec![
        version(info),
        persistence(info, sync(transport, seat).await),
        eviction(setting(transport, seat, "maxmemory-policy").await.as_deref()),
        none.unwrap_or_else(|| replicas(info, transport.options.replicas)),
        clock(transport, seat).await.unwrap_or_else(failed("clock", "S2")),
        latency(transport, seat).await.unwrap_or_else(failed("latency", "S3")),
    ];
    one_of_many.into_iter().chain(without_scripts).chain(findings).collect()
}

/// What is wrong with a server that is one node of a cluster and is used as if it was alone.
fn one_of_many(info: Option<&str>) -> Option<Finding> {
    (field(info?, "cluster_enabled") == Some("1")).then(|| {
        let found = "this is one node of a cluster: locks in the slots of others fail, and so do all when a \
                     replica takes over";
        let cure = "write redis-cluster:// and some of its nodes into the URL";
        Finding::warning("cluster", found, "S9", cure)
    })
}

/// The steps to a connection: all of them, or those that went well and the one that did not.
async fn steps(transport: &Transport) -> Result<Vec<Finding>, Vec<Finding>> {
    let mut journal = Journal::new();
    let mut walked = go(transport, &mut journal).await;
    // Which nodes are away is told of each; one of them is not the end of the way.
    for _ in 1..NODES {
        if walked.is_ok() || transport.route.cluster().is_none() {
            break;
        }
        journal = Journal::new();
        walked = go(transport, &mut journal).await;
    }
    let done = journal.done.into_iter();
    let mut findings: Vec<_> =
        done.map(|(step, found)| Finding::good(step.to_string(), found)).collect();
    match walked {
        Ok(()) => Ok(findings),
        Err(fault) => {
            findings.push(Finding::failed(journal.at.to_string(), &fault));
            Err(findings)
        }
    }
}

async fn go(transport: &Transport, journal: &mut Journal) -> Result<(), Fault> {
    if transport.route.changes() {
        let in_cluster = transport.route.cluster().is_some();
        journal.begin(if in_cluster { Step::Primaries } else { Step::Primary });
    }
    let server = transport.route.ask(&Panel::default()).await?;
    match (&server.role, transport.route.cluster()) {
        (Role::Primary(named), _) => {
            let (host, port) = (bracketed(&named.host), named.port);
            journal.done(format!("{host}:{port}, since fail-over {}", named.epoch));
        }
        (_, Some(cluster)) => {
            let (map, first) = (cluster.map(), &server.address);
            let (primaries, replicas) = (map.nodes().len(), map.replicas.len());
            let at = transport.options.location_of(first);
            journal.done(format!("{primaries} and {replicas} replicas, one is {at}"));
        }
        _ => {}
    }
    let confirm = transport.route.confirm(&transport.options, &server)?;
    let walked = walk(&transport.options, &transport.route, &server, None, confirm, journal).await;
    // Another one is looked for then.
    walked.map(drop).inspect_err(|_| transport.route.suspect(&server))
}

fn version(info: Option<&str>) -> Finding {
    let Some(info) = info else { return not_told("version", "+info") };
    let valkey = field(info, "valkey_version").map(|version| format!("Valkey {version}"));
    let redis = field(info, "redis_version").map(|version| format!("Redis {version}"));
    let found = valkey.or(redis).unwrap_or_else(|| "a server without a version".to_owned());
    let major = field(info, "redis_version").and_then(|version| version.split('.').next());
    match major.and_then(|major| major.parse::<u32>().ok()) {
        Some(7..) => match OTHERS.iter().find(|other| field(info, other).is_some()) {
            Some(other) => {
                let other = other.trim_end_matches("_version");
                let found =
                    format!("{found}, as which {other} answers: tenure is not tested on it");
                Finding::warning("version", found, "S1", "use Redis 7.0 or later, or Valkey")
            }
            None => Finding::good("version", found),
        },
        _ => Finding::bad(
            "version",
            format!("{found} is too old"),
            "S1",
            "use Redis 7.0 or later, or Valkey",
        ),
    }
}

/// When a server with an append-only file writes it to the disk: `appendfsync`, and `no-appendfsync-on-rewrite`.
async fn sync(transport: &Transport, seat: &Seat) -> Option<(String, String)> {
    let sync = setting(transport, seat, "appendfsync").await?;
    Some((sync, setting(transport, seat, "no-appendfsync-on-rewrite").await?))
}

fn persistence(info: Option<&str>, sync: Option<(String, String)>) -> Finding {
    let Some(info) = info else { return not_told("persistence", "+info") };
    let warning = |found: &str, cure: &str| {
        let cure = format!(
            "{cure}, or keep a server that crashed away for as long as the longest ttl; tokens rise as long as its \
             clock is not behind"
        );
        Finding::warning("persistence", found, "S1", cure)
    };
    if field(info, "aof_enabled") != Some("1") {
        let found = "a server that restarts has forgotten its locks";
        return warning(found, "set appendonly yes and appendfsync always");
    }
    if field(info, "aof_last_write_status").is_some_and(|status| status != "ok") {
        let found = "it could not write its append-only file the last time";
        return Finding::bad("persistence", found, "S1", "see the server's log and its disk");
    }
    let always = "set appendfsync always";
    match sync.as_ref().map(|(sync, rewrite)| (sync.as_str(), rewrite.as_str())) {
        Some(("always", "no")) => Finding::good(
            "persistence",
            "appendfsync always: what it confirms is on the disk first",
        ),
        Some(("always", _)) => warning(
            "appendfsync always, but not while the append-only file is written anew: what was confirmed then is lost \
             with the machine",
            "set no-appendfsync-on-rewrite no",
        ),
        Some(("everysec", _)) => warning(
            "appendfsync everysec: a server that restarts may have forgotten the locks of the last second or two",
            always,
        ),
        Some((other, _)) => warning(
            &format!(
                "appendfsync {other}: a machine that restarts may have forgotten the locks of the last half minute or \
                 more"
            ),
            always,
        ),
        None => not_told("persistence", "+config|get"),
    }
}

fn eviction(policy: Option<&str>) -> Finding {
    match policy {
        Some("noeviction") => Finding::good("eviction", "noeviction: no lock is evicted"),
        Some(policy) => Finding::bad(
            "eviction",
            format!("{policy}: a server out of memory evicts locks that are held"),
            "S1",
            "set maxmemory-policy noeviction, or give the locks a server of their own",
        ),
        None => not_told("eviction", "+config|get"),
    }
}

fn replicas(info: Option<&str>, wanted: Replicas) -> Finding {
    let Some(info) = info else { return not_told("replicas", "+info") };
    if field(info, "role") != Some("master") {
        let cure = "point the URL to the primary";
        return Finding::bad("replicas", "this is a replica, which takes no writes", "S9", cure);
    }
    let there = field(info, "connected_slaves").and_then(|count| count.parse::<u32>().ok());
    match (there, wanted) {
        (Some(there), Replicas::Count(wanted)) if there < wanted => {
            let found = format!("{there}, of which {wanted} have to confirm: nothing is granted");
            let cure = "see why the others are away, or lower replicas= in the URL";
            return Finding::bad("replicas", found, "S9", cure);
        }
        (Some(there @ 1..), Replicas::All) => {
            return Finding::good("replicas", format!("{there}, and each has what counts"));
        }
        (Some(there), Replicas::Count(wanted @ 1..)) if there == wanted => {
            return Finding::good("replicas", format!("{there}, and each has what counts"));
        }
        _ => {}
    }
    match there {
        // The server keeps what it has written last for as long as one may come back: an hour, unless told otherwise.
        Some(0) if field(info, "repl_backlog_active") == Some("1") => Finding::warning(
            "replicas",
            "none is connected, but one was: a fail-over to it loses the locks that it lacks",
            "S1",
            "see why it is away; let nobody make it the primary before the longest ttl is over",
        ),
        Some(0) => Finding::good(
            "replicas",
            "none is connected: nothing else can take this server's place",
        ),
        Some(count) => Finding::warning(
            "replicas",
            format!("{count}: a fail-over can lose the locks of the last moment"),
            "S1",
            "let the resource check fencing tokens; set min-replicas-to-write to narrow the gap",
        ),
        None => not_told("replicas", "+info"),
    }
}

async fn clock(transport: &Transport, seat: &Seat) -> Result<Finding, Fault> {
    let before = SystemTime::now();
    let value = transport.send(seat, &["TIME"]).await?;
    let here = before.duration_since(UNIX_EPOCH).unwrap_or_default();
    let there = match &value {
        Value::Array(parts) => parts.first().and_then(text).and_then(|text| text.parse().ok()),
        _ => None,
    };
    let Some(there) = there.map(Duration::from_secs) else {
        return Ok(not_told("clock", "+time"));
    };
    let apart = here.abs_diff(there);
    if apart <= CLOCKS_APART {
        return Ok(Finding::good("clock", "within a second of this machine's"));
    }
    let found = format!("{} s away from this machine's", apart.as_secs());
    let cure = "set both by NTP: a clock that jumps ends leases early, and after a loss of data \
                tokens rise only if it is not behind";
    Ok(Finding::warning("clock", found, "S2", cure))
}

/// Everything that a lock does, as this very user.
async fn full_cycle(patient: &Patient<'_>) -> Finding {
    match try_everything(patient).await {
        Ok(()) => Finding::good("permissions", "a full cycle of a lock works"),
        Err(fault) => {
            let of_user = fault.kind() == FaultKind::Misconfigured;
            let what = if of_user { "permissions" } else { "full cycle" };
            Finding::failed(what, &fault).touches("S9")
        }
    }
}

async fn try_everything(patient: &Patient<'_>) -> Result<(), Fault> {
    let Patient { store, transport, channel } = *patient;
    let unusual = |what: &str| {
        Fault::new(FaultKind::InDoubt, format!("the trial lock {what}"), "look again in a minute")
    };
    let (holder, waiter) = (owner()?, owner()?);
    // Several may look at the same time.
    let mark = holder.to_hex();
    let name = format!("{PROBE}-{}", mark.get(..8).unwrap_or_default());
    let name = LockName::new(name).map_err(|_| unusual("has no name"))?;
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
        match store.renew(&[renewal]).await.pop() {
            Some(Ok(Renewed::Renewed { .. })) => {}
            Some(Err(fault)) => return Err(fault),
            _ => return Err(unusual("could not be renewed")),
        }
        store.inspect(&name).await?;
        store.release(&name, &holder, Duration::ZERO).await?;
        let seats = transport.seats().await?;
        for seat in seats {
            transport.send(&seat, &["PUBLISH", channel, ""]).await?;
        }
        Ok(())
    };
    let outcome = cycle.await;
    for owner in [holder, waiter] {
        store.release(&name, &owner, Duration::ZERO).await?;
    }
    outcome
}

async fn latency(transport: &Transport, seat: &Seat) -> Result<Finding, Fault> {
    let mut took = Vec::new();
    for _ in 0..10 {
        let start = Instant::now();
        transport.send(seat, &["PING"]).await?;
        took.push(start.elapsed());
    }
    took.sort_unstable();
    let (median, longest) = (took.get(5).copied(), took.last().copied());
    let (median, longest) = (median.unwrap_or_default(), longest.unwrap_or_default());
    let found = format!("{median:.1?} for an answer, {longest:.1?} at the longest of ten");
    if longest < SLOW {
        return Ok(Finding::good("latency", found));
    }
    let cure = "choose ttls of many times that, or a server that is nearer or less busy";
    Ok(Finding::warning("latency", found, "S3", cure))
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

async fn info(transport: &Transport, seat: &Seat) -> Option<String> {
    text(&transport.send(seat, &["INFO"]).await.ok()?)
}

async fn setting(transport: &Transport, seat: &Seat, name: &str) -> Option<String> {
    match transport.send(seat, &["CONFIG", "GET", name]).await.ok()? {
        Value::Map(pairs) => pairs.first().and_then(|(_, value)| text(value)),
        _ => None,
    }
}

fn not_told(what: &str, rule: &str) -> Finding {
    let found = "the server does not tell this user";
    let cure = format!("give it {rule} to have this looked at; locks do not need it");
    Finding::warning(what, found, "S1", cure)
}

#[cfg(test)]
mod tests {
    use tenure_core::store::Weight;

    use super::*;

    #[test]
    fn each_policy_but_one_is_bad() {
        assert_eq!(eviction(Some("noeviction")).weight, Weight::Good);
        for policy in ["volatile-ttl", "volatile-lru", "allkeys-lru", "allkeys-random"] {
            assert_eq!(eviction(Some(policy)).weight, Weight::Bad);
        }
        assert_eq!(eviction(None).weight, Weight::Warning);
    }

    #[test]
    fn valkey_is_called_by_its_name() {
        let info = "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n";
        assert_eq!(version(Some(info)).found, "Valkey 8.1.1");
        assert_eq!(version(Some("redis_version:6.2.0\r\n")).weight, Weight::Bad);
        let other = version(Some("redis_version:7.4.0\r\ndragonfly_version:df-v1.2\r\n"));
        assert!(other.weight == Weight::Warning && other.found.contains("dragonfly"), "{other:?}");
    }

    #[test]
    fn only_a_server_that_writes_first_keeps_what_it_confirmed() {
        let of = |info: &str, sync: Option<(&str, &str)>| {
            let sync = sync.map(|(sync, rewrite)| (sync.to_owned(), rewrite.to_owned()));
            persistence(Some(info), sync)
        };
        let on = "aof_enabled:1\r\naof_last_write_status:ok\r\n";
        assert_eq!(of(on, Some(("always", "no"))).weight, Weight::Good);
        for (sync, says) in [
            (Some(("always", "yes")), "written anew"),
            (Some(("everysec", "no")), "appendfsync everysec"),
            (Some(("no", "no")), "appendfsync no"),
            (None, "does not tell"),
        ] {
            let found = of(on, sync);
            assert_eq!((found.weight, found.promise), (Weight::Warning, Some("S1")), "{found:?}");
            assert!(found.found.contains(says), "{found:?}");
        }
        let off = of("aof_enabled:0\r\n", Some(("always", "no")));
        assert!(off.weight == Weight::Warning && off.found.contains("has forgotten"), "{off:?}");
        let failed = of("aof_enabled:1\r\naof_last_write_status:err\r\n", Some(("always", "no")));
        assert_eq!(failed.weight, Weight::Bad);
    }

    #[test]
    fn a_replica_is_bad_and_a_primary_with_replicas_a_warning() {
        let none = Replicas::Count(0);
        assert_eq!(replicas(Some("role:slave\r\n"), none).weight, Weight::Bad);
        let info = |count| format!("role:master\r\nconnected_slaves:{count}\r\n");
        assert_eq!(replicas(Some(&info(0)), none).weight, Weight::Good);
        let away = format!("{}repl_backlog_active:1\r\n", info(0));
        assert_eq!(replicas(Some(&away), none).weight, Weight::Warning);
        assert_eq!(replicas(Some(&info(2)), none).weight, Weight::Warning);
        assert_eq!(replicas(Some(&info(1)), Replicas::Count(2)).weight, Weight::Bad);
        assert_eq!(replicas(Some(&info(2)), Replicas::Count(2)).weight, Weight::Good);
        assert_eq!(replicas(Some(&info(2)), Replicas::Count(1)).weight, Weight::Warning);
        assert_eq!(replicas(Some(&info(2)), Replicas::All).weight, Weight::Good);
    }
}
