//! Settings of other libraries in a URL, and refused settings. The [page on the
//! store](https://github.com/tenure-rs/tenure/blob/main/docs/stores/mysql.md) lists them.

use tenure_sql::{ForeignSettings, RefusedSettings};

/// Settings that do not concern a lock.
pub(crate) const FOREIGN: &[ForeignSettings] = &[
    ForeignSettings {
        owner: "Connector/J",
        settings: "autoReconnect cachePrepStmts characterEncoding connectionTimeZone createDatabaseIfNotExist \
            prepStmtCacheSize prepStmtCacheSqlLimit rewriteBatchedStatements serverTimezone socketTimeout \
            tcpKeepAlive tinyInt1isBit useLegacyDatetimeCode useServerPrepStmts useUnicode \
            zeroDateTimeBehavior",
    },
    ForeignSettings {
        owner: "Prisma",
        settings: "connection_limit pool_timeout socket_timeout statement_cache_size",
    },
    ForeignSettings {
        owner: "sqlx",
        settings: "connection-attributes statement-cache-capacity timezone",
    },
    ForeignSettings {
        owner: "Rails",
        settings: "advisory_locks checkout_timeout encoding idle_timeout pool prepared_statements read_timeout \
            reaping_frequency reconnect strict timeout wait_timeout write_timeout",
    },
    ForeignSettings {
        owner: "PyMySQL, mysqlclient and Laravel",
        settings: "charset collation conn_health_checks conn_max_age engine prefix prefix_indexes sql_mode \
            use_unicode",
    },
];

const BY_SOCKET: &str = "it is reached by host and port, not by a socket in the file system";
const BY_HOST: &str = "name the host, such as 127.0.0.1";
const STORES: &str = "Java keystores are not supported";
const IN_PEM: &str = "convert it to PEM, and name it in ssl-ca=";

/// Settings that would break a promise, or cannot be honoured.
pub(crate) const REFUSED: &[RefusedSettings] = &[
    RefusedSettings {
        settings: "socket unix_socket host",
        harmless: &[],
        why: BY_SOCKET,
        help: BY_HOST,
    },
    RefusedSettings {
        settings: "trustCertificateKeyStoreUrl trustStore",
        harmless: &[],
        why: STORES,
        help: IN_PEM,
    },
    RefusedSettings {
        settings: "clientCertificateKeyStoreUrl",
        harmless: &[],
        why: STORES,
        help: "convert it to PEM, and name the parts in ssl-cert= and ssl-key=",
    },
    RefusedSettings {
        settings: "sslcapath",
        harmless: &[],
        why: "tenure reads no directory of authorities",
        help: "name a file with them in ssl-ca=",
    },
    RefusedSettings {
        settings: "ssl-crl",
        harmless: &[],
        why: "tenure checks no certificate revocation lists",
        help: "leave it out",
    },
    RefusedSettings {
        settings: "sslidentity",
        harmless: &[],
        why: "PKCS#12 is not supported",
        help: "convert it to PEM, and name the parts in ssl-cert= and ssl-key=",
    },
    RefusedSettings {
        settings: "sslpassword",
        harmless: &[""],
        why: "keys with a passphrase are not supported",
        help: "name a key without one in ssl-key=: openssl pkey -in KEY -out BARE",
    },
    RefusedSettings {
        settings: "init_command",
        harmless: &[],
        why: "its effect on a session could break a promise",
        help: "leave it out",
    },
    RefusedSettings {
        settings: "sessionVariables",
        harmless: &[],
        why: "their effect on a session could break a promise",
        help: "leave them out",
    },
    RefusedSettings {
        settings: "enabledTLSProtocols",
        harmless: &["TLSv1.2,TLSv1.3"],
        why: "tenure uses TLS 1.2 or 1.3, as the server chooses",
        help: "leave it out",
    },
];
