//! What a URL begins with.

use tenure_url::Dialect;

/// How URLs of this store are written.
pub(super) const DIALECT: Dialect = Dialect {
    store: "Redis",
    schemes: &[
        "redis",
        "rediss",
        "redis-sentinel",
        "rediss-sentinel",
        "redis-cluster",
        "rediss-cluster",
        "unix",
        "valkey",
        "valkeys",
        "valkey-sentinel",
        "valkeys-sentinel",
        "valkey-cluster",
        "valkeys-cluster",
        "redis+ssl",
        "redis+tls",
        "redis+unix",
        "valkey+unix",
        "redis-socket",
        "redis+socket",
        "redis+sentinel",
        "rediss+sentinel",
    ],
    example: "redis://host, rediss://user:password@host:6379/0, redis-sentinel://host1,host2,host3/0?service=mymaster, \
              redis-cluster://host1,host2,host3 or unix:/path",
};

/// How a server is found.
#[derive(Clone, Copy)]
pub(super) enum Scheme {
    Server {
        tls: bool,
    },
    Sentinel {
        tls: bool,
    },
    /// The same as Python's libraries write it: the service comes behind the hosts.
    SentinelOfPath {
        tls: bool,
    },
    Cluster {
        tls: bool,
    },
    Socket,
}

impl Scheme {
    /// Of one of the dialect's.
    pub(super) fn of(written: &str) -> Self {
        match written {
            "rediss" | "valkeys" | "redis+ssl" | "redis+tls" => Self::Server { tls: true },
            "redis-sentinel" | "valkey-sentinel" => Self::Sentinel { tls: false },
            "rediss-sentinel" | "valkeys-sentinel" => Self::Sentinel { tls: true },
            "redis+sentinel" => Self::SentinelOfPath { tls: false },
            "rediss+sentinel" => Self::SentinelOfPath { tls: true },
            "redis-cluster" | "valkey-cluster" => Self::Cluster { tls: false },
            "rediss-cluster" | "valkeys-cluster" => Self::Cluster { tls: true },
            "unix" | "redis+unix" | "valkey+unix" | "redis-socket" | "redis+socket" => Self::Socket,
            _ => Self::Server { tls: false },
        }
    }

    pub(super) const fn is_over_tls(self) -> bool {
        matches!(
            self,
            Self::Server { tls: true }
                | Self::Sentinel { tls: true }
                | Self::SentinelOfPath { tls: true }
                | Self::Cluster { tls: true }
        )
    }
}
