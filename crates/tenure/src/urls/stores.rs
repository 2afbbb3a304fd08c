//! The stores of this build, each opened by its own part of a URL.

use std::sync::Arc;

use tenure_core::{Defaults, Fault, Store};

use crate::Examination;

/// The schemes of this build that several processes can share.
pub(crate) fn known_schemes() -> String {
    let schemes = [
        ("file:", cfg!(feature = "embedded")),
        ("redis:", cfg!(feature = "redis")),
        ("rediss:", cfg!(feature = "redis-tls")),
        ("valkey:", cfg!(feature = "redis")),
        ("valkeys:", cfg!(feature = "redis-tls")),
        ("unix:", cfg!(feature = "redis")),
        ("redis-sentinel:", cfg!(feature = "redis")),
        ("rediss-sentinel:", cfg!(feature = "redis-tls")),
        ("redis-cluster:", cfg!(feature = "redis")),
        ("rediss-cluster:", cfg!(feature = "redis-tls")),
        ("quorum:", cfg!(feature = "quorum")),
        ("zookeeper:", cfg!(feature = "zookeeper")),
        ("postgres:", cfg!(feature = "postgres")),
        ("postgresql:", cfg!(feature = "postgres")),
        ("mysql:", cfg!(feature = "mysql")),
        ("mariadb:", cfg!(feature = "mysql")),
    ];
    let known: Vec<_> = schemes.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect();
    known.join(", ")
}

/// A URL's scheme, and the rest. The scheme of Java's URLs has two parts: `jdbc:mysql`.
pub(crate) fn split_scheme(url: &str) -> (&str, &str) {
    let driver = url.strip_prefix(JDBC).and_then(|rest| rest.find(':'));
    match driver {
        Some(end) => {
            let (scheme, rest) = url.split_at(JDBC.len() + end);
            (scheme, rest.strip_prefix(':').unwrap_or(rest))
        }
        None => url.split_once(':').unwrap_or((url, "")),
    }
}

const JDBC: &str = "jdbc:";

/// A database's scheme without the driver that other libraries add: `jdbc:` before it, `+psycopg2` after it.
fn without_driver(scheme: &str) -> &str {
    let scheme = scheme.strip_prefix(JDBC).unwrap_or(scheme);
    scheme.split_once('+').map_or(scheme, |(scheme, _)| scheme)
}

/// Whether this is a scheme of Redis or Valkey.
pub(crate) fn is_redis(scheme: &str) -> bool {
    is_redis_socket(scheme) || is_redis_server(scheme) || names_several(scheme)
}

/// Whether this is the scheme of a unix socket of Redis or Valkey.
pub(crate) fn is_redis_socket(scheme: &str) -> bool {
    ["unix", "redis+unix", "valkey+unix", "redis-socket", "redis+socket"].contains(&scheme)
}

/// Whether this is a scheme of a single server with a host name.
pub(crate) fn is_redis_server(scheme: &str) -> bool {
    ["redis", "rediss", "valkey", "valkeys", "redis+ssl", "redis+tls"].contains(&scheme)
}

/// Whether this is a scheme with several hosts: sentinels, or nodes of a cluster.
pub(crate) fn names_several(scheme: &str) -> bool {
    let suffixes = ["-sentinel", "-cluster"];
    suffixes.iter().any(|suffix| scheme.strip_suffix(suffix).is_some_and(is_redis_server))
        || ["redis+sentinel", "rediss+sentinel"].contains(&scheme)
}

#[cfg(feature = "embedded")]
pub(crate) fn embedded(dir: &str) -> Result<Arc<dyn Store>, Fault> {
    use tenure_embedded::EmbeddedStore;

    let store =
        if dir.is_empty() { EmbeddedStore::open_default() } else { EmbeddedStore::open(dir) };
    store.map(|store| Arc::new(store) as Arc<dyn Store>)
}

#[cfg(not(feature = "embedded"))]
pub(crate) fn embedded(_dir: &str) -> Result<Arc<dyn Store>, Fault> {
    Err(not_built_in("embedded store", "embedded"))
}

#[cfg(feature = "embedded")]
pub(crate) fn examine_embedded(dir: &str) -> Result<Examination, Fault> {
    use std::path::Path;

    let named = Some(Path::new(dir)).filter(|_| !dir.is_empty());
    let place = match named.map_or_else(tenure_embedded::default_dir, |dir| Ok(dir.to_owned())) {
        Ok(place) => place,
        // As for a user without a home directory.
        Err(fault) => return Ok(unusable_embedded(&fault)),
    };
    let diagnostics = tenure_embedded::EmbeddedStore::examine(named)?;
    // As an open store has it.
    let place = place.canonicalize().unwrap_or(place);
    Ok(Examination { kind: "file", location: format!("file:{}", place.display()), diagnostics })
}

/// The embedded store has no usable directory here.
#[cfg(feature = "embedded")]
fn unusable_embedded(fault: &Fault) -> Examination {
    let diagnostic = tenure_core::store::Diagnostic::failed("place", fault);
    let location = "file: in its default directory".to_owned();
    Examination { kind: "file", location, diagnostics: vec![diagnostic] }
}

#[cfg(not(feature = "embedded"))]
pub(crate) fn examine_embedded(_dir: &str) -> Result<Examination, Fault> {
    Err(not_built_in("embedded store", "embedded"))
}

#[cfg(feature = "redis")]
pub(crate) async fn examine_redis(url: &str) -> Result<Examination, Fault> {
    use tenure_redis::{RedisOptions, RedisStore};

    crate::urls::examination::examine_store(&RedisStore::new(RedisOptions::from_url(url)?)?).await
}

#[cfg(not(feature = "redis"))]
pub(crate) async fn examine_redis(_url: &str) -> Result<Examination, Fault> {
    Err(not_built_in("Redis store", "redis"))
}

/// Opens a server that answers now.
#[cfg(feature = "redis")]
pub(crate) async fn redis(url: &str) -> Result<Arc<dyn Store>, Fault> {
    Ok(Arc::new(tenure_redis::RedisStore::open(url).await?))
}

#[cfg(not(feature = "redis"))]
pub(crate) async fn redis(_url: &str) -> Result<Arc<dyn Store>, Fault> {
    Err(not_built_in("Redis store", "redis"))
}

/// Opens a server that may be down now, as one of several may.
#[cfg(all(feature = "quorum", feature = "redis"))]
pub(crate) fn redis_member(url: &str) -> Result<Arc<dyn Store>, Fault> {
    use tenure_redis::{RedisOptions, RedisStore};

    Ok(Arc::new(RedisStore::new(RedisOptions::from_url(url)?)?))
}

#[cfg(all(feature = "quorum", not(feature = "redis")))]
pub(crate) fn redis_member(_url: &str) -> Result<Arc<dyn Store>, Fault> {
    Err(not_built_in("Redis store", "redis"))
}

#[cfg(feature = "zookeeper")]
pub(crate) async fn examine_zookeeper(url: &str, holds: &Defaults) -> Result<Examination, Fault> {
    let options = zookeeper_options(url, holds)?;
    crate::urls::examination::examine_store(&tenure_zookeeper::ZookeeperStore::new(options)?).await
}

#[cfg(not(feature = "zookeeper"))]
pub(crate) async fn examine_zookeeper(_: &str, _: &Defaults) -> Result<Examination, Fault> {
    Err(not_built_in("ZooKeeper store", "zookeeper"))
}

/// If all holds of a process share a session, it is no longer than they need, and of each grant enough is left.
#[cfg(feature = "zookeeper")]
fn zookeeper_options(
    url: &str,
    holds: &Defaults,
) -> Result<tenure_zookeeper::ZookeeperOptions, Fault> {
    let options = tenure_zookeeper::ZookeeperOptions::from_url(url)?;
    // Without a ttl it is as long as it is by default.
    let ttl = holds.ttl.unwrap_or(std::time::Duration::MAX);
    Ok(options.for_holds(ttl, holds.grace.unwrap_or_default()))
}

/// Opens an ensemble that answers now.
#[cfg(feature = "zookeeper")]
pub(crate) async fn zookeeper(url: &str, holds: &Defaults) -> Result<Arc<dyn Store>, Fault> {
    let options = zookeeper_options(url, holds)?;
    Ok(Arc::new(tenure_zookeeper::ZookeeperStore::open_with(options).await?))
}

#[cfg(not(feature = "zookeeper"))]
pub(crate) async fn zookeeper(_: &str, _: &Defaults) -> Result<Arc<dyn Store>, Fault> {
    Err(not_built_in("ZooKeeper store", "zookeeper"))
}

/// Whether this is a scheme of MySQL or MariaDB.
pub(crate) fn is_mysql(scheme: &str) -> bool {
    let known = ["mysql", "mariadb", "mysql2", "trilogy", "mysqlgis", "mysql-connector"];
    known.contains(&without_driver(scheme))
}

#[cfg(feature = "mysql")]
pub(crate) async fn examine_mysql(url: &str) -> Result<Examination, Fault> {
    use tenure_mysql::{MysqlOptions, MysqlStore};

    let store = MysqlStore::new(MysqlOptions::from_url(url)?)?.erased();
    crate::urls::examination::examine_store(&*store).await
}

#[cfg(not(feature = "mysql"))]
pub(crate) async fn examine_mysql(_url: &str) -> Result<Examination, Fault> {
    Err(not_built_in("MySQL store", "mysql"))
}

/// Opens a database that answers now.
#[cfg(feature = "mysql")]
pub(crate) async fn mysql(url: &str) -> Result<Arc<dyn Store>, Fault> {
    Ok(tenure_mysql::MysqlStore::open(url).await?.erased())
}

#[cfg(not(feature = "mysql"))]
pub(crate) async fn mysql(_url: &str) -> Result<Arc<dyn Store>, Fault> {
    Err(not_built_in("MySQL store", "mysql"))
}

/// Whether this is a scheme of PostgreSQL.
pub(crate) fn is_postgres(scheme: &str) -> bool {
    let known = ["postgres", "postgresql", "pgsql", "psql", "postgis"];
    known.contains(&without_driver(scheme))
}

#[cfg(feature = "postgres")]
pub(crate) async fn examine_postgres(url: &str) -> Result<Examination, Fault> {
    use tenure_postgres::{PostgresOptions, PostgresStore};

    let store = PostgresStore::new(PostgresOptions::from_url(url)?)?.erased();
    crate::urls::examination::examine_store(&*store).await
}

#[cfg(not(feature = "postgres"))]
pub(crate) async fn examine_postgres(_url: &str) -> Result<Examination, Fault> {
    Err(not_built_in("PostgreSQL store", "postgres"))
}

/// Opens a database that answers now.
#[cfg(feature = "postgres")]
pub(crate) async fn postgres(url: &str) -> Result<Arc<dyn Store>, Fault> {
    Ok(tenure_postgres::PostgresStore::open(url).await?.erased())
}

#[cfg(not(feature = "postgres"))]
pub(crate) async fn postgres(_url: &str) -> Result<Arc<dyn Store>, Fault> {
    Err(not_built_in("PostgreSQL store", "postgres"))
}

#[cfg(not(all(
    feature = "embedded",
    feature = "mysql",
    feature = "postgres",
    feature = "redis",
    feature = "quorum",
    feature = "zookeeper"
)))]
pub(crate) fn not_built_in(what: &str, feature: &str) -> Fault {
    let help = format!("turn on the feature `{feature}`");
    Fault::new(tenure_core::FaultKind::Unsupported, format!("this build has no {what}"), help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_known_by_the_schemes_of_other_libraries() {
        for url in [
            "postgres://db/shop",
            "postgresql+psycopg2://db/shop",
            "jdbc:postgresql://db/shop",
            "postgis://db/shop",
        ] {
            assert!(is_postgres(split_scheme(url).0) && !is_mysql(split_scheme(url).0), "{url}");
        }
        for url in [
            "mysql2://db/shop",
            "mysql+pymysql://db/shop",
            "jdbc:mysql://db/shop",
            "jdbc:mariadb://db/shop",
            "trilogy://db/shop",
        ] {
            assert!(is_mysql(split_scheme(url).0) && !is_postgres(split_scheme(url).0), "{url}");
        }
        assert_eq!(split_scheme("jdbc:mysql://db/shop"), ("jdbc:mysql", "//db/shop"));
        assert_eq!(split_scheme("jdbc:"), ("jdbc", ""));
        assert_eq!(split_scheme("memory"), ("memory", ""));
        assert!(!is_redis(split_scheme("jdbc:redis://db").0));
    }
}
