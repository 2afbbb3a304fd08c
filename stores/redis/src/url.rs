//! Options from a URL.

use std::{collections::BTreeMap, time::Duration};

use percent_encoding::percent_decode_str;
use tenure_core::{Fault, FaultKind};

use crate::{
    Address, RedisOptions, Sentinels,
    login::Password,
    tls::{Certificates, Files},
};

const DEFAULT_PORT: u16 = 6379;

impl RedisOptions {
    /// Options from a URL.
    ///
    /// | URL | server |
    /// |---|---|
    /// | `redis://[user[:password]@]host[:port][/db]` | over TCP |
    /// | `rediss://…` | the same over TLS |
    /// | `redis-sentinel://[user[:password]@]host[:port],host[:port],…[/db]?service=…` | the primary that these sentinels name |
    /// | `rediss-sentinel://…` | the same over TLS, the sentinels too unless `sentinel_tls=no` |
    /// | `redis-cluster://[user[:password]@]host[:port],host[:port],…` | the cluster of which these are nodes |
    /// | `rediss-cluster://…` | the same over TLS |
    /// | `unix:/path/to/socket?db=0&user=…&password=…` | over a unix socket |
    ///
    /// `valkey` means `redis`, and `valkeys` `rediss`, also before `-sentinel` and `-cluster`.
    ///
    /// Each takes `?prefix=`, `connect_timeout=` and `response_timeout=`, in `ms` or `s`, and `replicas=` with
    /// `replica_timeout=`: [`RedisOptions::replicas`]; `replicas=all` behind sentinels and in a cluster. All but
    /// a cluster take `scripts=no`: [`RedisOptions::scripts`]. What is
    /// special in a user, password or prefix is percent-encoded. Over TLS each takes files in PEM too,
    /// which are read at once: `ca=` with the authorities to trust instead of the system's, and
    /// `cert=` and `key=` for a server that wants a client's certificate. User and password are those of
    /// the servers. `sentinel_user=`, `sentinel_password=`, `sentinel_tls=yes`, `sentinel_ca=`,
    /// `sentinel_cert=` and `sentinel_key=` are the sentinels'; without files of their own these get the
    /// servers'.
    ///
    /// # Errors
    /// A fault that says what is wrong, and never shows a password.
    pub fn from_url(url: &str) -> Result<Self, Fault> {
        let (written, rest) = url.split_once(':').unwrap_or((url, ""));
        let scheme = Scheme::of(written).ok_or_else(|| {
            wrong("it begins with none of redis:, rediss:, redis-sentinel:, rediss-sentinel:, redis-cluster:, rediss-cluster: and unix:")
        })?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut settings = Settings::of(scheme, url, query)?;
        let mut is_named = false;
        let mut options = match scheme {
            Scheme::Server { tls } => {
                let place = Authority::of(place)?;
                is_named = !place.database.is_empty();
                let (host, port) = host_and_port(place.servers, DEFAULT_PORT)?;
                place.applied(Self::new(Address::of(tls, &host, port)))?
            }
            Scheme::Sentinel { tls } => {
                let place = Authority::of(place)?;
                is_named = !place.database.is_empty();
                let sentinels = sentinels(&place, tls, &mut settings)?;
                place.applied(Self::found_by(sentinels).tls(tls))?
            }
            Scheme::Cluster { tls } => {
                let place = Authority::of(place)?;
                let seeds = seeds(&place, DEFAULT_PORT)?;
                place.applied(Self::in_cluster(seeds)?.tls(tls))?
            }
            Scheme::Socket => {
                let path = place.strip_prefix("//").unwrap_or(place);
                if !path.starts_with('/') {
                    return Err(wrong("a unix socket needs an absolute path"));
                }
                Self::new(Address::Unix(decoded(path)?.into()))
            }
        };
        if let Some(user) = settings.take("user") {
            options.login.user = Some(user);
        }
        if let Some(password) = settings.take("password") {
            options.login.password = Some(Password(password));
        }
        if let Some(database) = settings.take("db") {
            let database = number(&database)?;
            if is_named && options.database != database {
                return Err(wrong("it names two databases, behind the host and as db="));
            }
            options = options.database(database);
        }
        if let Some(prefix) = settings.take("prefix") {
            options = options.prefix(&prefix)?;
        }
        if let Some(time) = settings.take("connect_timeout") {
            options = options.connect_timeout(length(&time)?)?;
        }
        if let Some(time) = settings.take("response_timeout") {
            options = options.response_timeout(length(&time)?)?;
        }
        if let Some(time) = settings.take("replica_timeout") {
            options = options.replica_timeout(length(&time)?)?;
        }
        options = match settings.take("replicas").as_deref() {
            None => options,
            Some("all") => options.all_replicas()?,
            Some(count) => {
                let wrong = |_| wrong("replicas is a number, or all");
                options.replicas(count.parse().map_err(wrong)?)
            }
        };
        options = match settings.take("scripts").as_deref() {
            None | Some("yes") => options,
            Some("no") => options.scripts(false),
            Some(_) => return Err(wrong("scripts is yes or no")),
        };
        options.check()?;
        options.certificates = settings.certificates("")?;
        Ok(options)
    }
}

/// How a server is found.
#[derive(Clone, Copy)]
enum Scheme {
    Server { tls: bool },
    Sentinel { tls: bool },
    Cluster { tls: bool },
    Socket,
}

impl Scheme {
    fn of(written: &str) -> Option<Self> {
        Some(match written {
            "redis" | "valkey" => Self::Server { tls: false },
            "rediss" | "valkeys" => Self::Server { tls: true },
            "redis-sentinel" | "valkey-sentinel" => Self::Sentinel { tls: false },
            "rediss-sentinel" | "valkeys-sentinel" => Self::Sentinel { tls: true },
            "redis-cluster" | "valkey-cluster" => Self::Cluster { tls: false },
            "rediss-cluster" | "valkeys-cluster" => Self::Cluster { tls: true },
            "unix" => Self::Socket,
            _ => return None,
        })
    }

    /// Whether URLs of its kind have such a setting.
    fn knows(self, setting: &str) -> bool {
        let tls = ["ca", "cert", "key"].contains(&setting);
        match setting {
            "prefix" | "connect_timeout" | "response_timeout" => true,
            "replicas" | "replica_timeout" | "scripts" => true,
            "db" | "user" | "password" => true,
            "service" | "sentinel_user" | "sentinel_password" | "sentinel_tls" | "sentinel_ca"
            | "sentinel_cert" | "sentinel_key" => matches!(self, Self::Sentinel { .. }),
            _ => {
                tls && matches!(
                    self,
                    Self::Server { tls: true }
                        | Self::Sentinel { tls: true }
                        | Self::Cluster { tls: true }
                )
            }
        }
    }
}

/// What stands behind the question mark.
struct Settings(BTreeMap<String, String>);

impl Settings {
    fn of(scheme: Scheme, url: &str, query: &str) -> Result<Self, Fault> {
        let mut settings = BTreeMap::new();
        let written = url.split(':').next().unwrap_or_default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !scheme.knows(key) {
                // What is not encoded may make a piece of a password look like a setting.
                return Err(wrong(&if url.contains('@') || url.contains("password=") {
                    format!("it has a setting that {written}: does not know")
                } else {
                    format!("{key:?} is no setting of {written}:")
                }));
            }
            settings.insert(key.to_owned(), decoded(value)?);
        }
        Ok(Self(settings))
    }

    fn take(&mut self, setting: &str) -> Option<String> {
        self.0.remove(setting)
    }

    /// Reads the files that are named by settings that begin so.
    fn certificates(&self, of: &str) -> Result<Certificates, Fault> {
        let file = |name| self.0.get(&format!("{of}{name}")).cloned();
        Certificates::read(&Files {
            roots: file("ca"),
            certificate: file("cert"),
            key: file("key"),
        })
    }

    fn has(&self, setting: &str) -> bool {
        self.0.contains_key(setting)
    }
}

/// What stands between the scheme and the question mark.
struct Authority<'a> {
    credentials: Option<&'a str>,
    servers: &'a str,
    database: &'a str,
}

impl<'a> Authority<'a> {
    fn of(place: &'a str) -> Result<Self, Fault> {
        let place =
            place.strip_prefix("//").ok_or_else(|| wrong("two slashes come before the host"))?;
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        Ok(match authority.rsplit_once('@') {
            Some((credentials, servers)) => {
                Self { credentials: Some(credentials), servers, database }
            }
            None => Self { credentials: None, servers: authority, database },
        })
    }

    /// These options as this user, and with this database.
    fn applied(&self, mut options: RedisOptions) -> Result<RedisOptions, Fault> {
        if let Some(credentials) = self.credentials {
            // A password that stands alone is a user by mistake, so it is not shown.
            let Some((user, password)) = credentials.split_once(':') else {
                return Err(wrong(
                    "a user stands before the @ without a password; write :PASSWORD@ for a password alone, USER:PASSWORD@ \
                     for both, and USER:@ for a user without one",
                ));
            };
            let (user, password) = (decoded(user)?, decoded(password)?);
            let user = Some(user.as_str()).filter(|user| !user.is_empty());
            options = options.credentials(user, &password);
        }
        if !self.database.is_empty() {
            options = options.database(number(self.database)?);
        }
        Ok(options)
    }
}

fn sentinels(
    place: &Authority<'_>,
    tls: bool,
    settings: &mut Settings,
) -> Result<Sentinels, Fault> {
    let seeds = seeds(place, Sentinels::DEFAULT_PORT)?;
    let Some(service) = settings.take("service") else {
        return Err(wrong(
            "it does not say by which name the sentinels know the servers: service=mymaster",
        ));
    };
    let mut sentinels = Sentinels::new(seeds, &service)?;
    sentinels.tls = match settings.take("sentinel_tls").as_deref() {
        None => tls,
        Some("yes") => true,
        Some("no") => false,
        Some(_) => return Err(wrong("sentinel_tls is yes or no")),
    };
    sentinels.login.user = settings.take("sentinel_user");
    sentinels.login.password = settings.take("sentinel_password").map(Password);
    let own = ["sentinel_ca", "sentinel_cert", "sentinel_key"].iter().any(|one| settings.has(one));
    sentinels.certificates = settings.certificates(if own { "sentinel_" } else { "" })?;
    Ok(sentinels)
}

/// Several hosts that know of each other.
fn seeds(place: &Authority<'_>, usual: u16) -> Result<Vec<(String, u16)>, Fault> {
    if place.credentials.is_some_and(|credentials| credentials.contains('@')) {
        return Err(wrong(
            "user and password stand once, before all hosts, and a @ in them as %40",
        ));
    }
    // In a list of URLs the commas of one may be encoded.
    let seeds = decoded(place.servers)?;
    // A list made from what is empty must not mean whatever runs on this machine.
    if seeds.split(',').any(|seed| seed.is_empty() || seed.starts_with(':')) {
        return Err(wrong("one of its hosts is empty"));
    }
    seeds.split(',').map(|seed| host_and_port(seed, usual)).collect()
}

fn host_and_port(server: &str, usual: u16) -> Result<(String, u16), Fault> {
    let (host, port) = match server.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':').unwrap_or("")),
        None => server.split_once(':').unwrap_or((server, "")),
    };
    // A colon without a port is the place of a variable that was empty.
    if server.ends_with(':') && !host.is_empty() {
        return Err(wrong("no port stands behind the colon"));
    }
    let port = match port {
        "" => usual,
        text => text.parse().map_err(|_| wrong("the port is no number up to 65535"))?,
    };
    if host.contains(char::is_whitespace) {
        return Err(wrong("there is a space in a host"));
    }
    let host = if host.is_empty() { "localhost" } else { host };
    Ok((host.to_owned(), port))
}

fn number(text: &str) -> Result<u32, Fault> {
    text.parse().map_err(|_| wrong("the database is no number"))
}

fn length(text: &str) -> Result<Duration, Fault> {
    let parse = |digits: &str| digits.parse().ok();
    let length = if let Some(digits) = text.strip_suffix("ms") {
        parse(digits).map(Duration::from_millis)
    } else {
        text.strip_suffix('s').and_then(parse).map(Duration::from_secs)
    };
    length.ok_or_else(|| wrong("a length of time is written as 500ms or 2s"))
}

fn decoded(text: &str) -> Result<String, Fault> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| wrong("it has bytes that are no UTF-8"))
}

fn wrong(what: &str) -> Fault {
    Fault::new(
        FaultKind::Misconfigured,
        format!("this is no URL of a Redis server: {what}"),
        "write redis://host, rediss://user:password@host:6379/0, \
         redis-sentinel://host1,host2,host3/0?service=mymaster, redis-cluster://host1,host2,host3 or unix:/path",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RedisStore, login::Login, options::Deployment, without_password};

    const SENTINEL: &str = "s3ntinel";

    #[test]
    fn each_part_of_a_url_is_read() {
        let url = "redis://me:pa%40ss@example.org:6380/3?prefix=shop%3A&response_timeout=500ms";
        let options = RedisOptions::from_url(url).unwrap();
        let address = Address::Tcp { host: "example.org".to_owned(), port: 6380 };
        assert!(matches!(&options.deployment, Deployment::One(one) if *one == address));
        assert_eq!(options.login, Login::new(Some("me"), "pa@ss"));
        assert_eq!((options.database, options.prefix.as_str()), (3, "shop:"));
        assert_eq!(options.response_timeout, Duration::from_millis(500));
    }

    #[test]
    fn short_urls_mean_the_usual_place() {
        for url in ["redis://", "redis://localhost", "redis://localhost:6379/0"] {
            assert_eq!(RedisOptions::from_url(url).unwrap().location(), "redis://localhost:6379/0");
        }
        let six = RedisOptions::from_url("rediss://[::1]:7000").unwrap();
        assert_eq!(six.location(), "rediss://[::1]:7000/0");
        for url in ["unix:/run/redis.sock", "unix:///run/redis.sock?db=0"] {
            assert_eq!(
                RedisOptions::from_url(url).unwrap().location(),
                "unix:/run/redis.sock?db=0"
            );
        }
    }

    #[test]
    fn what_can_be_meant_in_two_ways_is_refused() {
        for (url, told) in [
            (format!("redis://{SENTINEL}@host"), ":PASSWORD@"),
            (format!("redis-cluster://{SENTINEL}@host"), ":PASSWORD@"),
            ("redis://host:".to_owned(), "no port"),
            ("redis-cluster://a,b:".to_owned(), "no port"),
            ("redis://host/2?db=3".to_owned(), "two databases"),
            ("redis-sentinel://host/0?db=3&service=m".to_owned(), "two databases"),
        ] {
            let said = format!("{:#}", RedisOptions::from_url(&url).unwrap_err());
            assert!(said.contains(told) && !said.contains(SENTINEL), "{said}");
        }
        let nameless = RedisOptions::from_url("redis://me:@host/2?db=2").unwrap();
        assert_eq!((nameless.login.user(), nameless.database), ("me", 2));
    }

    #[test]
    fn no_text_shows_a_password() {
        for url in [
            format!("redis://me:{SENTINEL}@host"),
            format!("redis://:{SENTINEL}@host/1"),
            format!("unix:/run/redis.sock?user=me&password={SENTINEL}"),
            format!("unix:/run/redis.sock?user=me&password={SENTINEL}&db=1"),
        ] {
            let options = RedisOptions::from_url(&url).unwrap();
            assert_eq!(options.login.password(), Some(SENTINEL));
            assert!(!format!("{options:?} {}", options.location()).contains(SENTINEL));
            assert!(!without_password(&url).contains(SENTINEL), "{}", without_password(&url));
        }
    }

    #[test]
    fn no_text_shows_a_password_of_sentinels() {
        for (password, url) in [
            ("s3ntinel", "redis-sentinel://a,b/0?service=m&sentinel_password=s3ntinel"),
            ("a@s3ntinel", "redis-sentinel://a,b/0?service=m&sentinel_password=a@s3ntinel"),
            ("s3ntinel", "redis-sentinel://me:s3ntinel@a/?sentinel_password=s3ntinel&service=m"),
            (
                "a@s3ntinel",
                "redis-sentinel://me:s3ntinel@a/?sentinel_password=a@s3ntinel&service=m",
            ),
        ] {
            let options = RedisOptions::from_url(url).unwrap();
            let Deployment::Sentinels(sentinels) = &options.deployment else { panic!("{url}") };
            assert_eq!(sentinels.login.password(), Some(password));
            assert!(!format!("{options:?} {}", options.location()).contains(SENTINEL));
            assert!(!without_password(url).contains(SENTINEL), "{}", without_password(url));
        }
    }

    #[test]
    fn sentinels_are_read_from_a_url() {
        let url =
            "rediss-sentinel://me:secret@a,b:7,[::1]:8/3?service=shop&sentinel_tls=no&prefix=p:";
        let options = RedisOptions::from_url(url).unwrap();
        let Deployment::Sentinels(sentinels) = &options.deployment else { panic!("another kind") };
        let seeds = [("a", 26379), ("b", 7), ("::1", 8)];
        assert_eq!(sentinels.seeds, seeds.map(|(host, port)| (host.to_owned(), port)));
        assert_eq!((sentinels.service.as_str(), sentinels.tls, options.tls), ("shop", false, true));
        assert_eq!(sentinels.login, Login::default());
        assert_eq!(options.login, Login::new(Some("me"), "secret"));
        assert_eq!(
            options.location(),
            "rediss-sentinel://a:26379,b:7,[::1]:8/3?service=shop&prefix=p:"
        );
        // In a list of URLs.
        let listed = url.replace(',', "%2C");
        assert_eq!(RedisOptions::from_url(&listed).unwrap().location(), options.location());
        let valkey = url.replace("rediss", "valkeys");
        assert_eq!(RedisOptions::from_url(&valkey).unwrap().location(), options.location());
    }

    #[test]
    fn a_cluster_is_read_from_a_url() {
        let options =
            RedisOptions::from_url("rediss-cluster://me:secret@a,b:7/0?prefix=p:").unwrap();
        let seeds = [("a", 6379), ("b", 7)].map(|(host, port)| (host.to_owned(), port));
        assert!(matches!(&options.deployment, Deployment::Cluster(found) if *found == seeds));
        assert!(options.tls && options.login == Login::new(Some("me"), "secret"));
        assert_eq!(options.location(), "rediss-cluster://a:6379,b:7?prefix=p:");
        let valkey = RedisOptions::from_url("valkey-cluster://a").unwrap();
        assert_eq!(valkey.location(), "redis-cluster://a:6379");
        for (url, told) in [
            ("redis-cluster://a,b/1", "database"),
            ("redis-cluster://a,b?db=2", "database"),
            ("redis-cluster://a,,b", "empty"),
            ("redis-cluster://", "empty"),
            ("redis-cluster://a?service=m", "service"),
            ("redis-cluster://a?ca=/x", "ca"),
        ] {
            let fault = RedisOptions::from_url(url).unwrap_err();
            assert!(format!("{fault:#}").contains(told), "{url}: {fault:#}");
        }
        assert!(
            RedisStore::new(RedisOptions::in_cluster([("a", 1)]).unwrap().database(1)).is_err()
        );
    }

    #[test]
    fn a_wrong_url_of_sentinels_is_refused() {
        for (url, told) in [
            ("redis-sentinel://a,b", "service="),
            ("redis-sentinel://a,b?service=", "service="),
            ("redis-sentinel://a,,b?service=m", "empty"),
            ("redis-sentinel://?service=m", "empty"),
            ("redis-sentinel://:26379?service=m", "empty"),
            ("redis-sentinel://a, b?service=m", "space"),
            ("redis-sentinel://me:one@a,me:one@b?service=m", "once"),
            ("redis-sentinel://a:x?service=m", "port"),
            ("redis-sentinel://a?service=m&sentinel_tls=maybe", "sentinel_tls"),
            ("redis-sentinel://a?service=m&ca=/x", "ca"),
            ("redis://a?service=m", "service"),
        ] {
            let fault = RedisOptions::from_url(url).unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Misconfigured, "{url}");
            assert!(format!("{fault:#}").contains(told), "{fault:#}");
        }
    }

    #[test]
    fn a_password_with_the_name_of_a_setting_in_it_is_not_shown() {
        for url in ["redis://me:s3ntinelpassword=x@host", "redis://me:a@s3ntinelpassword=x@host"] {
            assert!(!without_password(url).contains(SENTINEL), "{}", without_password(url));
        }
    }

    #[test]
    fn a_wrong_url_is_refused_without_showing_its_password() {
        for url in [
            format!("redis://me:{SENTINEL}@host:port"),
            format!("redis://me:{SENTINEL}@host/db"),
            format!("redis://me:{SENTINEL}@host?what=ever"),
            format!("redis://me:{SENTINEL}@host?response_timeout=1"),
            format!("redis://me:{SENTINEL}@host?prefix={{a}}"),
            format!("redis://me:{SENTINEL}/?@host:x"),
            format!("redis:me:{SENTINEL}@host"),
            "unix:relative.sock".to_owned(),
            "http://host".to_owned(),
        ] {
            let fault = RedisOptions::from_url(&url).unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Misconfigured, "{url}");
            assert!(!format!("{fault:?} {fault:#}").contains(SENTINEL), "{fault:#}");
            assert!(!without_password(&url).contains(SENTINEL), "{}", without_password(&url));
        }
    }

    #[test]
    fn any_text_is_a_url_or_refused() {
        let examples: &[&[u8]] = &[
            b"redis://user:p%40ss@[::1]:6379/3?prefix=a&response_timeout=5s&replicas=1",
            b"rediss://h1:1,h2:2?ca=/etc/ca.pem&max_waiters=9",
            b"redis+sentinel://u:p@a:1,b:2/name?sentinel_user=x",
            b"redis+cluster://a:1,b:2",
            b"redis+unix:///run/redis.sock?db=2",
        ];
        tenure_testkit::fuzz(20_000, examples, |bytes| {
            let Ok(url) = std::str::from_utf8(bytes) else { return false };
            RedisOptions::from_url(url).is_ok()
        });
    }
}
