//! Settings in a URL that are of other libraries, and those that are refused. The [page on it](https://github.com/tenure-rs/tenure/blob/main/docs/stores/postgres.md) names them.

use tenure_sql::{Foreign, Refused};

/// What does not concern a lock.
pub(crate) const FOREIGN: &[Foreign] = &[
    Foreign {
        // What it says of a connection tenure says by itself.
        owner: "libpq",
        settings: "client_encoding fallback_application_name gsslib keepalives keepalives_count keepalives_idle \
            keepalives_interval krbsrvname load_balance_hosts sslsni tcp_user_timeout",
    },
    Foreign {
        owner: "Prisma",
        settings: "connection_limit max_connection_lifetime max_idle_connection_lifetime pgbouncer pool_timeout \
            single_use_connections socket_timeout statement_cache_size",
    },
    Foreign { owner: "Supabase", settings: "supa workaround" },
    Foreign { owner: "sqlx", settings: "statement-cache-capacity" },
    Foreign {
        owner: "Rails",
        settings: "advisory_locks checkout_timeout encoding idle_timeout min_messages pool prepared_statements \
            reaping_frequency schema_search_path timeout",
    },
    Foreign {
        owner: "pgjdbc",
        settings: "binaryTransfer currentSchema defaultRowFetchSize hostRecheckSeconds loadBalanceHosts \
            loginTimeout prepareThreshold preparedStatementCacheQueries reWriteBatchedInserts socketTimeout \
            stringtype tcpKeepAlive",
    },
    Foreign {
        owner: "Django",
        settings: "conn_health_checks conn_max_age disable_server_side_cursors",
    },
    Foreign {
        owner: "SQLAlchemy and asyncpg",
        settings: "command_timeout prepared_statement_cache_size",
    },
    Foreign { owner: "node-postgres", settings: "uselibpqcompat" },
    Foreign { owner: "Laravel", settings: "charset prefix prefix_indexes search_path" },
];

const LEAVE: &str = "leave it out";

/// What would break a promise, or cannot be honoured.
pub(crate) const REFUSED: &[Refused] = &[
    Refused {
        settings: "gssencmode",
        harmless: &["disable", "prefer"],
        why: "there is no encryption by GSSAPI here",
        help: "write gssencmode=disable, and sslmode=verify-full",
    },
    Refused {
        settings: "sslnegotiation",
        harmless: &["postgres"],
        why: "TLS is asked for as every server has it",
        help: LEAVE,
    },
    Refused {
        settings: "sslcrl sslcrldir",
        harmless: &[],
        why: "no list of revoked certificates is looked at",
        help: LEAVE,
    },
    Refused {
        settings: "sslpassword",
        harmless: &[""],
        why: "keys with a passphrase are not read",
        help: "name one without in sslkey: openssl pkey -in KEY -out BARE",
    },
    Refused {
        settings: "sslidentity",
        harmless: &[],
        why: "PKCS#12 is not read",
        help: "convert it to PEM, and name the parts: sslcert= and sslkey=",
    },
    Refused {
        settings: "sslcompression",
        harmless: &["0"],
        why: "TLS does not compress here",
        help: LEAVE,
    },
    Refused {
        settings: "ssl_min_protocol_version",
        harmless: &["TLSv1", "TLSv1.1", "TLSv1.2"],
        why: "TLS 1.2 and 1.3 are spoken, as the server likes",
        help: "let the server take 1.3 alone",
    },
    Refused {
        settings: "ssl_max_protocol_version",
        harmless: &["", "TLSv1.3"],
        why: "TLS 1.2 and 1.3 are spoken, as the server likes",
        help: LEAVE,
    },
    Refused {
        settings: "hostaddr",
        harmless: &[],
        why: "the host is looked up by its name",
        help: "write the address as the host",
    },
    Refused {
        settings: "passfile",
        harmless: &[],
        why: "no file with passwords is read",
        help: "put the password into the URL",
    },
    Refused {
        settings: "service",
        harmless: &[],
        why: "no file with services is read",
        help: "put what it says into the URL",
    },
    Refused {
        settings: "requirepeer",
        harmless: &[],
        why: "nobody looks at who listens at a socket",
        help: "write require_auth=scram-sha-256, by which the server proves itself",
    },
    Refused {
        settings: "replication",
        harmless: &["false", "off", "no", "0"],
        why: "a connection for replication takes no locks",
        help: LEAVE,
    },
];
