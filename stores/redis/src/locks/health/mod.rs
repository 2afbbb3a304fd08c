//! A look at the real server, and which promise holds there.

mod encryption;
mod foreign;
mod nodes;
mod persistence;
mod records;
mod sentinels;
mod tried;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_core::{Fault, Store, store::Diagnostic, trial};

use crate::{
    client::{ConnectStep, ConnectTrace, Value, field, text},
    locks::wakeups::WakeupSubscription,
    options::{Layout, LayoutOptions, Replicas, bracketed},
    servers::{
        NodeRef, Topology, TopologyClients, Transport, connect::connect_traced, route::Role,
    },
};

/// What is looked at, and by what.
#[derive(Clone, Copy)]
pub(crate) struct ProbeContext<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) transport: &'a Transport,
    /// By which this process hears its hints.
    pub(crate) watch: &'a WakeupSubscription,
}

/// Over how many nodes of a cluster the way is tried.
const NODES: u32 = 3;
/// By what other servers that speak the protocol call their own version.
const OTHERS: [&str; 4] =
    ["dragonfly_version", "garnet_version", "keydb_version", "kvrocks_version"];

/// Looks at the way to the server first, and at the server if it leads there.
pub(crate) async fn look(probe: ProbeContext<'_>) -> Result<Vec<Diagnostic>, Fault> {
    let transport = probe.transport;
    let mut diagnostics = match steps(transport).await {
        Ok(diagnostics) => diagnostics,
        Err(diagnostics) => return Ok(diagnostics),
    };
    diagnostics.extend(encryption::encryption(&transport.options, &transport.route));
    let (cycle, renewal) = tried::full_cycle(&probe).await;
    diagnostics.extend([cycle, tried::hints(&probe).await]);
    diagnostics.extend(records::unread(&probe).await);
    diagnostics.extend(foreign::found(&probe).await);
    match &*transport.route {
        Topology::Cluster(cluster) => {
            diagnostics.extend(nodes::look(transport, cluster, renewal).await?)
        }
        Topology::Sentinels(group) => {
            diagnostics.extend(server(transport, &NodeRef::Only, renewal).await);
            diagnostics.extend(sentinels::look(transport, group).await);
        }
        Topology::Always(_) => diagnostics.extend(server(transport, &NodeRef::Only, renewal).await),
    }
    Ok(diagnostics)
}

/// A look at one server.
async fn server(
    transport: &Transport,
    node_ref: &NodeRef,
    renewal: Option<Duration>,
) -> Vec<Diagnostic> {
    let failed =
        |what, promise| move |fault: Fault| Diagnostic::failed(what, &fault).touches(promise);
    let info = info(transport, node_ref).await;
    let info = info.as_deref();
    let wants = transport.options.replicas != Replicas::Count(0);
    let none = sentinels::replicas(info).filter(|_| transport.route.can_fail_over() && !wants);
    let one_of_many = one_of_many(info).filter(|_| !transport.route.can_fail_over());
    let layout = layout(&transport.options.layout);
    let without_scripts = (!transport.options.scripts).then(|| {
        let found =
            "scripts=no turns them off: there are only mutexes, and their waiters have no order";
        let help = "take scripts=no out of the URL if this user may run scripts";
        Diagnostic::warning("scripts", found, "S8", help)
    });
    let diagnostics = vec![
        version(info),
        persistence::persistence(info, persistence::sync(transport, node_ref).await),
        eviction(setting(transport, node_ref, "maxmemory-policy").await.as_deref()),
        none.unwrap_or_else(|| replicas(info, transport.options.replicas)),
        clock(transport, node_ref).await.unwrap_or_else(failed("clock", "S2")),
        trial::measure_latency(renewal, || transport.send(node_ref, &["PING"]))
            .await
            .unwrap_or_else(failed("latency", "S3")),
    ];
    one_of_many.into_iter().chain(layout).chain(without_scripts).chain(diagnostics).collect()
}

/// What a layout of other libraries lacks.
fn layout(options: &LayoutOptions) -> Option<Diagnostic> {
    let found = match (options.layout, options.key_prefix.is_empty(), options.fenced_tokens) {
        (Layout::Tenure, ..) => return None,
        (Layout::Plain, true, _) => {
            "plain, without key_prefix: every string counts as a lock, holders of other libraries \
             have no token, and waiters have no order"
        }
        (Layout::Plain, false, _) => {
            "plain: holders of other libraries have no token, and waiters have no order"
        }
        (Layout::Redisson, _, false) => {
            "redisson: Redisson's holders have no token, and waiters have no order"
        }
        (Layout::Redisson, _, true) => {
            "redisson, tokens=fenced: tokens begin again at 1 when the server loses its data, and \
             waiters have no order"
        }
    };
    let help = match options.layout {
        Layout::Redisson if options.fenced_tokens => {
            "reset the fences after a loss of data; use tenure's own layout if waiters need an order"
        }
        Layout::Redisson => {
            "fence by a version that every program raises, or use RFencedLock in Java and tokens=fenced here; or use tenure's own layout"
        }
        _ if options.key_prefix.is_empty() => {
            "name what the keys of locks begin with by key_prefix=, and fence by a version that every program \
             raises; or use tenure's own layout"
        }
        _ => "fence by a version that every program raises; or use tenure's own layout",
    };
    Some(Diagnostic::warning("layout", found, "S2", help))
}

/// What is wrong with a server that is one node of a cluster and is used as if it was alone.
fn one_of_many(info: Option<&str>) -> Option<Diagnostic> {
    (field(info?, "cluster_enabled") == Some("1")).then(|| {
        let found = "this is one node of a cluster: locks in the slots of other nodes fail, and all locks fail when a replica takes over";
        let help = "write redis-cluster:// and some of its nodes into the URL";
        Diagnostic::warning("cluster", found, "S9", help)
    })
}

/// The steps to a connection: all of them, or those that went well and the one that did not.
async fn steps(transport: &Transport) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let mut journal = ConnectTrace::new();
    let mut walked = go(transport, &mut journal).await;
    // Which nodes are away is told of each; one of them is not the end of the way.
    for _ in 1..NODES {
        if walked.is_ok() || transport.route.cluster().is_none() {
            break;
        }
        journal = ConnectTrace::new();
        walked = go(transport, &mut journal).await;
    }
    let done = journal.done.into_iter();
    let mut diagnostics: Vec<_> =
        done.map(|(step, found)| Diagnostic::good(step.to_string(), found)).collect();
    match walked {
        Ok(()) => Ok(diagnostics),
        Err(fault) => {
            diagnostics.push(Diagnostic::failed(journal.at.to_string(), &fault));
            Err(diagnostics)
        }
    }
}

async fn go(transport: &Transport, journal: &mut ConnectTrace) -> Result<(), Fault> {
    if transport.route.can_fail_over() {
        let in_cluster = transport.route.cluster().is_some();
        journal.begin(if in_cluster { ConnectStep::Primaries } else { ConnectStep::Primary });
    }
    let server = transport.route.ask(&TopologyClients::default()).await?;
    match (&server.role, transport.route.cluster()) {
        (Role::Primary(named), _) => {
            let (host, port) = (bracketed(&named.host), named.port);
            journal.done(format!("{host}:{port}, since failover {}", named.epoch));
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
    let walked = connect_traced(
        &transport.options,
        &transport.route,
        &server,
        transport.purpose(),
        confirm,
        journal,
    )
    .await;
    // Another one is looked for then.
    walked.map(drop).inspect_err(|_| transport.route.suspect(&server))
}

fn version(info: Option<&str>) -> Diagnostic {
    let Some(info) = info else { return not_told("version", "+info") };
    let valkey = field(info, "valkey_version").map(|version| format!("Valkey {version}"));
    let redis = field(info, "redis_version").map(|version| format!("Redis {version}"));
    let found = valkey.or(redis).unwrap_or_else(|| "a server without a version".to_owned());
    let major = field(info, "redis_version").and_then(|version| version.split('.').next());
    match major.and_then(|major| major.parse::<u32>().ok()) {
        Some(7..) => match OTHERS.iter().find(|other| field(info, other).is_some()) {
            Some(other) => {
                let other = other.trim_end_matches("_version");
                let found = format!("{found}, reported by {other}: tenure is not tested on it");
                Diagnostic::warning("version", found, "S1", "use Redis 7.0 or later, or Valkey")
            }
            None => Diagnostic::good("version", found),
        },
        _ => Diagnostic::bad(
            "version",
            format!("{found} is too old"),
            "S1",
            "use Redis 7.0 or later, or Valkey",
        ),
    }
}

fn eviction(policy: Option<&str>) -> Diagnostic {
    match policy {
        Some("noeviction") => Diagnostic::good("eviction", "noeviction: no lock is evicted"),
        Some(policy) => Diagnostic::bad(
            "eviction",
            format!("{policy}: a server without free memory evicts locks that are held"),
            "S1",
            "set maxmemory-policy noeviction, or give the locks a separate server",
        ),
        None => not_told("eviction", "+config|get"),
    }
}

fn replicas(info: Option<&str>, wanted: Replicas) -> Diagnostic {
    let Some(info) = info else { return not_told("replicas", "+info") };
    if field(info, "role") != Some("master") {
        let help = "point the URL to the primary";
        return Diagnostic::bad("replicas", "this is a replica, which takes no writes", "S9", help);
    }
    let there = field(info, "connected_slaves").and_then(|count| count.parse::<u32>().ok());
    match (there, wanted) {
        (Some(there), Replicas::Count(wanted)) if there < wanted => {
            let found = format!("{there}, of which {wanted} have to confirm: no lock is granted");
            let help = "see why the others are unreachable, or lower replicas= in the URL";
            return Diagnostic::bad("replicas", found, "S9", help);
        }
        (Some(there @ 1..), Replicas::All) => {
            return Diagnostic::good(
                "replicas",
                format!("{there} connected, and each has every confirmed write"),
            );
        }
        (Some(there), Replicas::Count(wanted @ 1..)) if there == wanted => {
            return Diagnostic::good(
                "replicas",
                format!("{there} connected, and each has every confirmed write"),
            );
        }
        _ => {}
    }
    match there {
        // The server keeps what it has written last for as long as one may come back: an hour, unless told otherwise.
        Some(0) if field(info, "repl_backlog_active") == Some("1") => Diagnostic::warning(
            "replicas",
            "no replica is connected, but one was: a failover to it loses the locks that it lacks",
            "S1",
            "see why it is unreachable; do not make it the primary before the longest ttl is over",
        ),
        Some(0) => Diagnostic::good(
            "replicas",
            "no replica is connected, and none was recently: no server that this one knows could \
             replace it",
        ),
        Some(count) => Diagnostic::warning(
            "replicas",
            format!("{count}: a failover can lose the locks of the last moment"),
            "S1",
            "make the resource check fencing tokens; set min-replicas-to-write to narrow the gap",
        ),
        None => not_told("replicas", "+info"),
    }
}

async fn clock(transport: &Transport, node_ref: &NodeRef) -> Result<Diagnostic, Fault> {
    let here = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let before = here();
    let value = transport.send(node_ref, &["TIME"]).await?;
    let after = here();
    let parts = if let Value::Array(parts) = &value { parts.as_slice() } else { &[] };
    let mut numbers = parts.iter().map(|part| text(part).and_then(|text| text.parse().ok()));
    let (seconds, micros) = (numbers.next().flatten(), numbers.next().flatten());
    let (Some(seconds), Some(micros)) = (seconds, micros) else {
        return Ok(not_told("clock", "+time"));
    };
    let there = Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros));
    let help = "set both by NTP: a clock that jumps ends leases early, and after a loss of data \
                tokens rise only if it is not behind";
    Ok(trial::clock([before, after], there, "S2", help))
}

async fn info(transport: &Transport, node_ref: &NodeRef) -> Option<String> {
    text(&transport.send(node_ref, &["INFO"]).await.ok()?)
}

async fn setting(transport: &Transport, node_ref: &NodeRef, name: &str) -> Option<String> {
    match transport.send(node_ref, &["CONFIG", "GET", name]).await.ok()? {
        Value::Map(pairs) => pairs.first().and_then(|(_, value)| text(value)),
        _ => None,
    }
}

fn not_told(what: &str, rule: &str) -> Diagnostic {
    let found = "the server does not show this to this user";
    let help = if rule == "+config|get" {
        "run tenure doctor as an administrator: locks do not need this right, and it shows the server's passwords".to_owned()
    } else {
        format!("give it {rule} to have this checked; locks do not need it")
    };
    Diagnostic::warning(what, found, "S1", help)
}

#[cfg(test)]
mod tests {
    use tenure_core::store::Severity;

    use super::*;

    #[test]
    fn each_policy_but_one_is_bad() {
        assert_eq!(eviction(Some("noeviction")).severity, Severity::Good);
        for policy in ["volatile-ttl", "volatile-lru", "allkeys-lru", "allkeys-random"] {
            assert_eq!(eviction(Some(policy)).severity, Severity::Bad);
        }
        assert_eq!(eviction(None).severity, Severity::Warning);
    }

    #[test]
    fn valkey_is_called_by_its_name() {
        let info = "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n";
        assert_eq!(version(Some(info)).found, "Valkey 8.1.1");
        assert_eq!(version(Some("redis_version:6.2.0\r\n")).severity, Severity::Bad);
        let other = version(Some("redis_version:7.4.0\r\ndragonfly_version:df-v1.2\r\n"));
        assert!(
            other.severity == Severity::Warning && other.found.contains("dragonfly"),
            "{other:?}"
        );
    }

    #[test]
    fn a_replica_is_bad_and_a_primary_with_replicas_a_warning() {
        let none = Replicas::Count(0);
        assert_eq!(replicas(Some("role:slave\r\n"), none).severity, Severity::Bad);
        let info = |count| format!("role:master\r\nconnected_slaves:{count}\r\n");
        assert_eq!(replicas(Some(&info(0)), none).severity, Severity::Good);
        let away = format!("{}repl_backlog_active:1\r\n", info(0));
        assert_eq!(replicas(Some(&away), none).severity, Severity::Warning);
        assert_eq!(replicas(Some(&info(2)), none).severity, Severity::Warning);
        assert_eq!(replicas(Some(&info(1)), Replicas::Count(2)).severity, Severity::Bad);
        assert_eq!(replicas(Some(&info(2)), Replicas::Count(2)).severity, Severity::Good);
        assert_eq!(replicas(Some(&info(2)), Replicas::Count(1)).severity, Severity::Warning);
        assert_eq!(replicas(Some(&info(2)), Replicas::All).severity, Severity::Good);
    }
}
