//! Whether others can read what is said on the way to servers: those in use, whoever the URL names.

use tenure_core::store::Diagnostic;

use crate::{
    options::{Address, Deployment, HostPort, RedisOptions},
    servers::Topology,
};

/// A warning where nothing is encrypted on the way to another machine.
pub(super) fn encryption(options: &RedisOptions, route: &Topology) -> Option<Diagnostic> {
    let hosts = match route {
        Topology::Sentinels(group) => {
            let sentinels = group.known().0.into_iter().map(|(host, _)| host);
            let primary = group.named().map(|primary| primary.host);
            hosts(options, sentinels.collect(), primary.into_iter().collect())
        }
        Topology::Cluster(cluster) => {
            let map = cluster.map();
            let nodes = map.places().map(|(host, _)| host.clone());
            hosts(options, Vec::new(), nodes.collect())
        }
        Topology::Always(_) => hosts(options, Vec::new(), Vec::new()),
    };
    Diagnostic::in_clear(hosts.iter().map(String::as_str), help(options))
}

/// The hosts to which nothing is encrypted, each once: those of the URL, and those that are in use.
fn hosts(
    options: &RedisOptions,
    mut sentinels: Vec<String>,
    mut servers: Vec<String>,
) -> Vec<String> {
    let named =
        |seeds: &[HostPort]| -> Vec<_> { seeds.iter().map(|(host, _)| host.clone()).collect() };
    let seeds: Vec<_> = match &options.deployment {
        // A socket in the file system, or TLS, as the address says.
        Deployment::One(Address::Tcp { host, .. }) => return vec![host.clone()],
        Deployment::One(_) => return Vec::new(),
        Deployment::Sentinels(told) => {
            sentinels.splice(0..0, named(&told.seeds));
            sentinels.retain(|_| !told.tls);
            sentinels
        }
        Deployment::Cluster(seeds) => {
            servers.splice(0..0, named(seeds));
            Vec::new()
        }
    };
    servers.retain(|_| !options.tls);
    let mut all: Vec<String> = Vec::new();
    for host in seeds.into_iter().chain(servers) {
        if !all.contains(&host) {
            all.push(host);
        }
    }
    all
}

fn help(options: &RedisOptions) -> &'static str {
    match &options.deployment {
        Deployment::Sentinels(sentinels) if options.tls && !sentinels.tls => {
            "take sentinel_tls=no out of the URL, and enable TLS on the sentinels"
        }
        Deployment::Sentinels(_) => "write rediss-sentinel in the URL instead of redis-sentinel",
        Deployment::Cluster(_) => "write rediss-cluster in the URL instead of redis-cluster",
        Deployment::One(_) => "write rediss in the URL instead of redis",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(url: &str, sentinels: &[&str], servers: &[&str]) -> Option<Diagnostic> {
        let options = RedisOptions::from_url(url).unwrap();
        let of = |hosts: &[&str]| hosts.iter().map(|&host| host.to_owned()).collect();
        let hosts = hosts(&options, of(sentinels), of(servers));
        Diagnostic::in_clear(hosts.iter().map(String::as_str), help(&options))
    }

    #[test]
    fn servers_in_use_count_whoever_the_url_names() {
        let (ours, theirs) = ("127.0.0.1", "192.0.2.2");
        let sentinels = "://127.0.0.1,127.0.0.1:7?service=shop";
        let plain = format!("redis-sentinel{sentinels}");
        assert_eq!(told(&plain, &[ours], &[ours]), None);
        let primary = told(&plain, &[ours], &[theirs]).unwrap();
        assert!(primary.found.contains(theirs), "{primary:?}");
        assert!(primary.help.unwrap().contains("rediss-sentinel"));
        // One that the others told of.
        assert!(told(&plain, &[ours, theirs], &[ours]).is_some());
        assert_eq!(told(&format!("rediss-sentinel{sentinels}"), &[theirs], &[theirs]), None);
        let half = format!("rediss-sentinel{sentinels}&sentinel_tls=no");
        assert_eq!(told(&half, &[ours], &[theirs]), None);
        let half = told(&half, &[theirs], &[theirs]).unwrap();
        assert!(half.help.unwrap().contains("sentinel_tls=no"));
        let other = format!("{plain}&sentinel_tls=yes");
        assert_eq!(told(&other, &[theirs], &[ours]), None);
        assert!(told(&other, &[theirs], &[theirs]).is_some());
        let nodes = told("redis-cluster://localhost", &[], &[ours, theirs]).unwrap();
        assert!(nodes.help.unwrap().contains("rediss-cluster"));
        assert_eq!(told("rediss-cluster://localhost", &[], &[theirs]), None);
        assert_eq!(told("redis://localhost", &[], &[]), None);
        assert!(told("redis://192.0.2.2", &[], &[]).is_some());
        assert_eq!(told("rediss://192.0.2.2", &[], &[]), None);
    }

    #[test]
    fn each_host_is_named_once() {
        let url = "redis-sentinel://192.0.2.2:1,192.0.2.2:2,192.0.2.2:3?service=shop";
        let found = told(url, &["192.0.2.2"], &["192.0.2.2"]).unwrap().found;
        assert_eq!(found.matches("192.0.2.2").count(), 1, "{found}");
    }
}
