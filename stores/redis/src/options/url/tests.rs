//! What URLs mean, and which are refused.

use std::time::Duration;

use tenure_core::FaultKind;
use tenure_url::Password;

use super::*;
use crate::without_password;

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
    for url in ["redis://localhost", "redis://localhost:6379", "redis://localhost:6379/0"] {
        assert_eq!(RedisOptions::from_url(url).unwrap().location(), "redis://localhost:6379/0");
    }
    for url in ["redis://", "redis:///0", "redis://:6379", "redis://:s3cret@/0"] {
        assert!(RedisOptions::from_url(url).is_err(), "{url}");
    }
    let six = RedisOptions::from_url("rediss://[::1]:7000").unwrap();
    assert_eq!(six.location(), "rediss://[::1]:7000/0");
    for url in ["unix:/run/redis.sock", "unix:///run/redis.sock?db=0"] {
        assert_eq!(RedisOptions::from_url(url).unwrap().location(), "unix:/run/redis.sock?db=0");
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
        assert_eq!(options.login.password, Some(Password::from(SENTINEL)));
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
        ("a@s3ntinel", "redis-sentinel://me:s3ntinel@a/?sentinel_password=a@s3ntinel&service=m"),
    ] {
        let options = RedisOptions::from_url(url).unwrap();
        let Deployment::Sentinels(sentinels) = &options.deployment else { panic!("{url}") };
        assert_eq!(sentinels.login.password, Some(Password::from(password)));
        assert!(!format!("{options:?} {}", options.location()).contains(SENTINEL));
        assert!(!without_password(url).contains(SENTINEL), "{}", without_password(url));
    }
}

#[test]
fn sentinels_are_read_from_a_url() {
    let url = "rediss-sentinel://me:secret@a,b:7,[::1]:8/3?service=shop&sentinel_tls=no&prefix=p:";
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
    let options = RedisOptions::from_url("rediss-cluster://me:secret@a,b:7/0?prefix=p:").unwrap();
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
    assert!(RedisOptions::in_cluster([("a", 1)]).unwrap().database(1).check().is_err());
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

#[test]
fn certificates_on_connections_that_are_not_encrypted_are_refused() {
    let refused = |options: RedisOptions| {
        let fault = options.check().unwrap_err();
        assert!(format!("{fault:#}").contains("are not encrypted"), "{fault:#}");
    };
    let roots = b"-----BEGIN CERTIFICATE-----";
    refused(RedisOptions::new(("cache", 6379)).root_certificates(roots));
    refused(RedisOptions::new(("cache", 6379)).client_certificate(roots, roots));
    let sentinels = || Sentinels::new([("a", 1)], "shop").unwrap();
    refused(RedisOptions::found_by(sentinels().root_certificates(roots)));
    refused(RedisOptions::found_by(sentinels()).root_certificates(roots));
}

#[test]
fn a_layout_and_its_names_are_read_and_are_part_of_the_location() {
    let url = "redis://h?layout=plain&key_prefix=stock%3A&unlock_channel=stock-channel%3A*";
    let options = RedisOptions::from_url(url).unwrap();
    assert_eq!(options.location(), "redis://h:6379/0?layout=plain&key_prefix=stock:");
    assert_eq!(options.layout.unlock_channel.as_deref(), Some("stock-channel:*"));
    let same = RedisOptions::from_url(&options.location()).unwrap();
    assert_eq!(same.location(), options.location());
    for layout in ["plain", "redisson"] {
        let cluster = format!("redis-cluster://h?layout={layout}");
        assert!(RedisOptions::from_url(&cluster).unwrap().location().contains(layout));
    }
    let ours = RedisOptions::from_url("redis://h?layout=tenure").unwrap();
    assert_eq!(ours.location(), "redis://h:6379/0");
}

#[test]
fn what_does_not_fit_a_layout_is_refused() {
    for (url, told) in [
        ("redis://h?layout=redison", "write layout=redisson"),
        ("redis://h?tokens=fenced", "add layout=redisson"),
        ("redis://h?lock_watchdog_timeout=10s", "add layout=redisson"),
        ("redis://h?layout=redisson&lock_watchdog_timeout=2h", "lock_watchdog_timeout"),
        ("redis://h?layout=redisson&tokens=czxid", "write tokens=fenced"),
        ("redis://h?layout=redisson&unlock_channel=a", "leave unlock_channel out"),
        ("redis://h?key_prefix=a", "add layout=plain"),
        ("redis://h?unlock_channel=a", "add layout=plain"),
        ("redis://h?layout=plain&scripts=no", "needs scripts"),
        ("redis://h?layout=plain&key_prefix=tenure:a", "tenure's own"),
        ("redis://h?layout=plain&key_prefix=a%0A", "control characters"),
        ("redis://h?layout=plain&prefix=", "tenure's own"),
    ] {
        let said = format!("{:#}", RedisOptions::from_url(url).unwrap_err());
        assert!(said.contains(told), "{url}: {said}");
    }
}
