//! What other clients write in the URLs of a server.

use tenure_core::Fault;
use tenure_url::{Settings, Url};

use super::scheme::{DIALECT, Scheme};

/// Other names of settings that mean the same.
const ALIASES: [(&str, &str); 18] = [
    // Lettuce, Predis
    ("database", "db"),
    // redis-py, go-redis
    ("username", "user"),
    // redis-rs, of a socket
    ("pass", "password"),
    // go-redis
    ("dial_timeout", "connect_timeout"),
    ("read_timeout", "response_timeout"),
    ("master_name", "service"),
    ("sentinel_username", "sentinel_user"),
    // redis-py
    ("socket_connect_timeout", "connect_timeout"),
    ("socket_timeout", "response_timeout"),
    ("ssl_ca_certs", "ca"),
    ("ssl_certfile", "cert"),
    ("ssl_keyfile", "key"),
    ("sentinel_ssl_ca_certs", "sentinel_ca"),
    ("sentinel_ssl_certfile", "sentinel_cert"),
    ("sentinel_ssl_keyfile", "sentinel_key"),
    // Lettuce
    ("timeout", "response_timeout"),
    ("sentinelMasterId", "service"),
    // redis-sentinel-url
    ("service_name", "service"),
];

/// What says whether a server's certificate is checked, and where it says yes.
const CHECKS: [(&str, &[&str]); 4] = [
    // redis-py
    ("ssl_cert_reqs", &["required"]),
    ("ssl_check_hostname", &["true", "True", "1", "yes"]),
    // go-redis
    ("skip_verify", &["false", "0"]),
    // Lettuce
    ("verifyPeer", &["FULL"]),
];

const TRUST: &str = "leave it out; if no authority of the system signed the certificate, name the one that did: ca=/path/ca.pem";

/// Calls each setting by its own name, and refuses what cannot be honoured.
pub(super) fn unify(url: &mut Url, scheme: Scheme) -> Result<(), Fault> {
    let settings = &mut url.settings;
    for (alias, setting) in ALIASES {
        settings.alias(alias, setting)?;
    }
    if let Some(version) = settings.take_unlisted("protocol")
        && !["3", "resp3"].contains(&version.as_str())
    {
        let message = "protocol is not RESP3, the only one that tenure supports";
        return Err(DIALECT.wrong_but(message, "leave protocol out, or write protocol=3"));
    }
    of_tls(settings, scheme)?;
    // redis-rs
    if url.fragment.as_deref() == Some("insecure") {
        return Err(unchecked("#insecure"));
    }
    Ok(())
}

fn of_tls(settings: &mut Settings, scheme: Scheme) -> Result<(), Fault> {
    for (check, yes) in CHECKS {
        if !scheme.is_over_tls() {
            without_tls(settings, check)?;
        } else if settings.take_unlisted(check).is_some_and(|value| !yes.contains(&&*value)) {
            return Err(unchecked(check));
        }
    }
    if !scheme.is_over_tls() {
        ["ca", "cert", "key"].into_iter().try_for_each(|file| without_tls(settings, file))?;
    }
    Ok(())
}

/// Whoever wrote it accepts the connection for encrypted.
fn without_tls(settings: &Settings, setting: &str) -> Result<(), Fault> {
    if !settings.has(setting) {
        return Ok(());
    }
    let message = format!("{setting} is for TLS, which this URL does not ask for");
    Err(DIALECT.wrong_but(message, "write rediss:// for TLS, or leave it out"))
}

fn unchecked(what: &str) -> Fault {
    let message = format!(
        "{what} turns off the check of the server's certificate, so any other server could answer \
         in its place"
    );
    DIALECT.wrong_but(message, TRUST)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::options::{Deployment, RedisOptions, login::Login};

    fn read(url: &str) -> RedisOptions {
        RedisOptions::from_url(url).unwrap_or_else(|fault| panic!("{url}: {fault:#}"))
    }

    /// Hosts, users and ports as these providers have them.
    #[test]
    fn urls_of_hosting_providers_are_read() {
        for (url, location, login) in [
            // Heroku
            (
                "rediss://:p1a2b@ec2-1-2-3-4.compute-1.amazonaws.com:12345",
                "rediss://ec2-1-2-3-4.compute-1.amazonaws.com:12345/0",
                Login::new(None, "p1a2b"),
            ),
            // Upstash
            (
                "rediss://default:AbC_d@eu1-fine-cat-30123.upstash.io:6379",
                "rediss://eu1-fine-cat-30123.upstash.io:6379/0",
                Login::new(Some("default"), "AbC_d"),
            ),
            // Redis Cloud
            (
                "redis://default:aBc@redis-12345.c1.eu-west-1-3.ec2.redns.redis-cloud.com:12345",
                "redis://redis-12345.c1.eu-west-1-3.ec2.redns.redis-cloud.com:12345/0",
                Login::new(Some("default"), "aBc"),
            ),
            // ElastiCache
            (
                "rediss://master.shop.abc123.euw1.cache.amazonaws.com:6379",
                "rediss://master.shop.abc123.euw1.cache.amazonaws.com:6379/0",
                Login::default(),
            ),
            // Azure, whose keys are base64
            (
                "rediss://:k%2Fey%3D@shop.redis.cache.windows.net:6380/0",
                "rediss://shop.redis.cache.windows.net:6380/0",
                Login::new(None, "k/ey="),
            ),
        ] {
            let options = read(url);
            assert_eq!((options.location().as_str(), &options.login), (location, &login));
        }
    }

    #[test]
    fn other_clients_spellings_of_a_server_are_read() {
        for (url, location) in [
            // redis-rs
            ("redis://127.0.0.1:6379/?protocol=resp3", "redis://127.0.0.1:6379/0"),
            ("redis+unix:///run/redis.sock?db=1", "unix:/run/redis.sock?db=1"),
            ("valkey+unix:///run/redis.sock", "unix:/run/redis.sock?db=0"),
            // redis-py
            ("redis://localhost:6379?db=1&protocol=3", "redis://localhost:6379/1"),
            ("unix:///run/redis.sock?db=2", "unix:/run/redis.sock?db=2"),
            (
                "rediss://h:6379/0?ssl_cert_reqs=required&ssl_check_hostname=True",
                "rediss://h:6379/0",
            ),
            // Lettuce
            ("redis://localhost:6379/3?timeout=10s", "redis://localhost:6379/3"),
            ("redis://localhost?database=4", "redis://localhost:6379/4"),
            ("redis+ssl://localhost:6379/3?verifyPeer=FULL", "rediss://localhost:6379/3"),
            ("redis-socket:///run/redis.sock?database=5", "unix:/run/redis.sock?db=5"),
            ("redis+socket:///run/redis.sock", "unix:/run/redis.sock?db=0"),
            // go-redis
            (
                "rediss://h:6379/1?dial_timeout=5s&read_timeout=1s&skip_verify=false",
                "rediss://h:6379/1",
            ),
            // Bun
            ("redis+tls://h", "rediss://h:6379/0"),
            // redis-rb
            ("redis://localhost:6379/1/", "redis://localhost:6379/1"),
        ] {
            assert_eq!(read(url).location(), location, "{url}");
        }
        let options = read("redis://h?timeout=10s&dial_timeout=1m");
        assert_eq!(options.response_timeout, Duration::from_secs(10));
        assert_eq!(options.connect_timeout, Duration::from_secs(60));
        let options = read("redis://h?socket_timeout=3s&socket_connect_timeout=700ms");
        assert_eq!(options.response_timeout, Duration::from_secs(3));
        assert_eq!(options.connect_timeout, Duration::from_millis(700));
    }

    #[test]
    fn other_clients_spellings_of_a_user_are_read() {
        let me = Login::new(Some("me"), "p@ss");
        for url in [
            "redis+unix:///run/redis.sock?user=me&pass=p%40ss",
            "unix://me@/run/redis.sock?password=p%40ss",
            "unix://me:p%40ss@/run/redis.sock",
            "redis-socket://me:p%40ss@/run/redis.sock?database=1",
            "redis://h?username=me&password=p%40ss",
        ] {
            assert_eq!(read(url).login, me, "{url}");
        }
    }

    #[test]
    fn other_clients_spellings_of_sentinels_are_read() {
        for url in [
            // Lettuce
            "redis-sentinel://:x@a,b/2#shop",
            "redis-sentinel://:x@a:26379,b/2?sentinelMasterId=shop&timeout=5s",
            // go-redis
            "redis-sentinel://:x@a,b/2?master_name=shop",
            // redis-sentinel-url, Prefect, LangChain
            "redis+sentinel://:x@a,b/shop/2",
            "redis+sentinel://:x@a,b?service_name=shop&db=2",
        ] {
            let options = read(url);
            assert_eq!(
                options.location(),
                "redis-sentinel://a:26379,b:26379/2?service=shop",
                "{url}"
            );
            assert_eq!(options.login, Login::new(None, "x"));
        }
        let options = read("rediss+sentinel://a/shop?sentinel_username=me&sentinel_password=x");
        let Deployment::Sentinels(sentinels) = &options.deployment else { panic!("another kind") };
        assert_eq!(sentinels.login, Login::new(Some("me"), "x"));
        assert!(options.tls && sentinels.tls);
        for url in
            ["redis-sentinel://a/0?service=shop#other", "redis+sentinel://a/shop?service=shop"]
        {
            let said = format!("{:#}", RedisOptions::from_url(url).unwrap_err());
            assert!(said.contains("the service stands twice"), "{said}");
        }
    }

    #[test]
    fn what_would_weaken_a_lock_or_means_nothing_to_it_is_refused_with_what_to_write() {
        for (url, named, help) in [
            ("rediss://:pw@h:6379/#insecure", "#insecure turns off", "ca=/path/ca.pem"),
            ("rediss://:pw@h?ssl_cert_reqs=none", "ssl_cert_reqs turns off", "ca=/path/ca.pem"),
            ("rediss://:pw@h?ssl_cert_reqs=optional", "ssl_cert_reqs turns off", "ca="),
            ("rediss://:pw@h?ssl_check_hostname=False", "ssl_check_hostname turns off", "ca="),
            ("rediss://:pw@h?skip_verify=true", "skip_verify turns off", "ca="),
            ("rediss://:pw@h?verifyPeer=NONE", "verifyPeer turns off", "ca="),
            ("rediss://:pw@h?verifyPeer=CA", "verifyPeer turns off", "ca="),
            ("redis://:pw@h?ssl_cert_reqs=required", "ssl_cert_reqs is for TLS", "rediss://"),
            ("redis://:pw@h?ssl_ca_certs=/ca.pem", "ca is for TLS", "rediss://"),
            ("redis://:pw@h?protocol=2", "RESP3", "leave protocol out"),
            ("redis://:pw@h?timeout=10", "timeout has no unit", "500ms, 2s"),
            ("redis://:pw@h?read_timeout=-1", "read_timeout has no unit", "500ms, 2s"),
            ("redis://:pw@h?pool_size=10", "unknown setting \"pool_size\"", "known settings: "),
            ("redis://:pw@h?max_connections=10", "unknown setting \"max_connections\"", "known"),
            ("redis://:pw@h?clientName=shop", "unknown setting \"clientName\"", "known"),
            ("redis://:pw@h?health_check_interval=30", "\"health_check_interval\"", "known"),
            ("redis://:pw@h?write_timeout=3s", "unknown setting \"write_timeout\"", "known"),
            ("redis://:pw@h?master_name=shop", "unknown setting \"master_name\"", "known"),
            ("redis://:pw@h?connect_timout=3s", "did you mean \"connect_timeout\"", "known"),
            ("redis://:pw@h?timeout=3s&read_timeout=3s", "timeout", "leave"),
            ("redis://:pw@h1:7000,h2:7001", "several hosts", "redis-cluster://"),
            ("redis://:pw@h#master", "#", "%23"),
            ("redis-socket://run/redis.sock", "absolute path", "unix:/path"),
            ("redis://pw@h", "without a password", ":PASSWORD@"),
        ] {
            let said = format!("{:#}", RedisOptions::from_url(url).unwrap_err());
            assert!(said.contains(named) && said.contains(help), "{url}: {said}");
            assert!(!said.contains("pw") && !said.contains('\n'), "{url}: {said}");
        }
    }
}
