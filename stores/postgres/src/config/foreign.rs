//! Settings of other libraries in a URL, and refused settings. The [page on the
//! store](https://github.com/tenure-rs/tenure/blob/main/docs/stores/postgres.md) lists them.

use tenure_sql::{ForeignSettings, RefusedSettings};

/// Settings that do not concern a lock.
pub(crate) const FOREIGN: &[ForeignSettings] = &[
    ForeignSettings {
        // tenure does on its own what these set for a connection.
        owner: "libpq",
        settings: "client_encoding fallback_application_name gsslib keepalives keepalives_count keepalives_idle \
            keepalives_interval krbsrvname load_balance_hosts sslsni tcp_user_timeout",
    },
    ForeignSettings {
        owner: "Prisma",
        settings: "connection_limit max_connection_lifetime max_idle_connection_lifetime pgbouncer pool_timeout \
            single_use_connections socket_timeout statement_cache_size",
    },
    ForeignSettings { owner: "Supabase", settings: "supa workaround" },
    ForeignSettings { owner: "sqlx", settings: "statement-cache-capacity" },
    ForeignSettings {
        owner: "Rails",
        settings: "advisory_locks checkout_timeout encoding idle_timeout min_messages pool prepared_statements \
            reaping_frequency schema_search_path timeout",
    },
    ForeignSettings {
        owner: "pgjdbc",
        settings: "binaryTransfer currentSchema defaultRowFetchSize hostRecheckSeconds loadBalanceHosts \
            loginTimeout prepareThreshold preparedStatementCacheQueries reWriteBatchedInserts socketTimeout \
            stringtype tcpKeepAlive",
    },
    ForeignSettings {
        owner: "Django",
        settings: "conn_health_checks conn_max_age disable_server_side_cursors",
    },
    ForeignSettings {
        owner: "SQLAlchemy and asyncpg",
        settings: "command_timeout prepared_statement_cache_size",
    },
    ForeignSettings { owner: "node-postgres", settings: "uselibpqcompat" },
    ForeignSettings { owner: "Laravel", settings: "charset prefix prefix_indexes search_path" },
];

const LEAVE: &str = "leave it out";

/// Settings that would break a promise, or cannot be honoured.
pub(crate) const REFUSED: &[RefusedSettings] = &[
    RefusedSettings {
        settings: "gssencmode",
        harmless: &["disable", "prefer"],
        why: "tenure has no GSSAPI encryption",
        help: "write gssencmode=disable, and sslmode=verify-full",
    },
    RefusedSettings {
        settings: "sslnegotiation",
        harmless: &["postgres"],
        why: "tenure asks for TLS in the way that every server supports",
        help: LEAVE,
    },
    RefusedSettings {
        settings: "sslcrl sslcrldir",
        harmless: &[],
        why: "tenure checks no certificate revocation lists",
        help: LEAVE,
    },
    RefusedSettings {
        settings: "sslpassword",
        harmless: &[""],
        why: "keys with a passphrase are not supported",
        help: "name a key without one in sslkey: openssl pkey -in KEY -out BARE",
    },
    RefusedSettings {
        settings: "sslidentity",
        harmless: &[],
        why: "PKCS#12 is not supported",
        help: "convert it to PEM, and name the parts: sslcert= and sslkey=",
    },
    RefusedSettings {
        settings: "sslcompression",
        harmless: &["0"],
        why: "tenure uses TLS without compression",
        help: LEAVE,
    },
    RefusedSettings {
        settings: "ssl_min_protocol_version",
        harmless: &["TLSv1", "TLSv1.1", "TLSv1.2"],
        why: "tenure uses TLS 1.2 or 1.3, as the server chooses",
        help: "make the server accept only 1.3",
    },
    RefusedSettings {
        settings: "ssl_max_protocol_version",
        harmless: &["", "TLSv1.3"],
        why: "tenure uses TLS 1.2 or 1.3, as the server chooses",
        help: LEAVE,
    },
    RefusedSettings {
        settings: "hostaddr",
        harmless: &[],
        why: "tenure looks up the host by its name",
        help: "write the address as the host",
    },
    RefusedSettings {
        settings: "passfile",
        harmless: &[],
        why: "tenure does not read .pgpass files",
        help: "put the password into the URL",
    },
    RefusedSettings {
        settings: "service",
        harmless: &[],
        why: "tenure does not read service files",
        help: "put its contents into the URL",
    },
    RefusedSettings {
        settings: "requirepeer",
        harmless: &[],
        why: "tenure does not check which process listens at a socket",
        help: "write require_auth=scram-sha-256, with which the server proves its identity",
    },
    RefusedSettings {
        settings: "replication",
        harmless: &["false", "off", "no", "0"],
        why: "a replication connection cannot take locks",
        help: LEAVE,
    },
];
