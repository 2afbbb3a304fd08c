//! A look at the real server, and which promise holds there.

mod encryption;
mod nodes;
mod persistence;
mod records;
mod sentinels;
mod tried;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_core::{Fault, Store, store::Finding, trial};

use crate::{
    connect::walk,
    info::{field, text},
    journal::{Journal, Step},
    options::{Replicas, bracketed},
    protocol::Value,
    route::{Panel, Role, Route, Seat},
    transport::Transport,
    watch::Watch,
};

/// What is looked at, and by what.
#[derive(Clone, Copy)]
pub(crate) struct Patient<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) transport: &'a Transport,
    /// By which this process hears its hints.
    pub(crate) watch: &'a Watch,
}

/// Over how many nodes of a cluster the way is tried.
const NODES: u32 = 3;
/// By what other servers that speak the protocol call their own version.
const OTHERS: [&str; 4] =
    ["dragonfly_version", "garnet_version", "keydb_version", "kvrocks_version"];

/// Looks at the way to the server first, and at the server if it leads there.
pub(crate) async fn look(patient: Patient<'_>) -> Result<Vec<Finding>, Fault> {
    let transport = patient.transport;
    let mut findings = match steps(transport).await {
        Ok(findings) => findings,
        Err(findings) => return Ok(findings),
    };
    findings.extend(encryption::encryption(&transport.options, &transport.route));
    let (cycle, renewal) = tried::full_cycle(&patient).await;
    findings.extend([cycle, tried::hints(&patient).await]);
    findings.extend(records::unread(&patient).await);
    match &*transport.route {
        Route::Cluster(cluster) => findings.extend(nodes::look(transport, cluster, renewal).await?),
        Route::Sentinels(group) => {
            findings.extend(server(transport, &Seat::Only, renewal).await);
            findings.extend(sentinels::look(transport, group).await);
        }
        Route::Always(_) => findings.extend(server(transport, &Seat::Only, renewal).await),
    }
    Ok(findings)
}

/// A look at one server.
async fn server(transport: &Transport, seat: &Seat, renewal: Option<Duration>) -> Vec<Finding> {
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
        persistence::persistence(info, persistence::sync(transport, seat).await),
        eviction(setting(transport, seat, "maxmemory-policy").await.as_deref()),
        none.unwrap_or_else(|| replicas(info, transport.options.replicas)),
        clock(transport, seat).await.unwrap_or_else(failed("clock", "S2")),
        tried::latency(transport, seat, renewal).await.unwrap_or_else(failed("latency", "S3")),
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
            return Finding::good(
                "replicas",
                format!("{there} connected, and each has what counts"),
            );
        }
        (Some(there), Replicas::Count(wanted @ 1..)) if there == wanted => {
            return Finding::good(
                "replicas",
                format!("{there} connected, and each has what counts"),
            );
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
            "none is connected, and none was of late: it knows of no other that could take its place",
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
    let here = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let before = here();
    let value = transport.send(seat, &["TIME"]).await?;
    let after = here();
    let parts = if let Value::Array(parts) = &value { parts.as_slice() } else { &[] };
    let mut numbers = parts.iter().map(|part| text(part).and_then(|text| text.parse().ok()));
    let (seconds, micros) = (numbers.next().flatten(), numbers.next().flatten());
    let (Some(seconds), Some(micros)) = (seconds, micros) else {
        return Ok(not_told("clock", "+time"));
    };
    let there = Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros));
    let cure = "set both by NTP: a clock that jumps ends leases early, and after a loss of data \
                tokens rise only if it is not behind";
    Ok(trial::clock([before, after], there, "S2", cure))
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
    let cure = if rule == "+config|get" {
        "run tenure doctor as an administrator: locks do not need this right, and it shows the server's passwords".to_owned()
    } else {
        format!("give it {rule} to have this looked at; locks do not need it")
    };
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
