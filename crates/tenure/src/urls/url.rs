//! URLs of stores as people may see them.

#[cfg(feature = "config")]
use tenure_url::SECRETS;
use tenure_url::without_password;

use crate::urls::stores::{is_redis_server, is_redis_socket, names_several};

/// The URL without anything that may contain a password.
pub(crate) fn redacted_url(url: &str) -> String {
    if let Some(members) = url.strip_prefix("quorum:") {
        let members: Vec<_> = members.split(',').map(shown_member).collect();
        return format!("quorum:{}", members.join(","));
    }
    without_password(url)
}

/// Returns `text` without the users and passwords of any URLs in it. It may have URLs where none belongs.
#[cfg(feature = "config")]
#[must_use]
pub fn without_passwords(text: &str) -> String {
    // Keeps the position of each byte.
    let plain = text.to_ascii_lowercase();
    let mark = |secret: &&str| Some(plain.find(&format!("{secret}="))? + secret.len() + 1);
    if let Some(at) = SECRETS.iter().filter_map(mark).min() {
        // A value that is not percent-encoded may contain anything, also what looks like its end.
        let (before, rest) = text.split_at_checked(at).unwrap_or((text, ""));
        let behind = rest.rfind('"').and_then(|end| rest.get(end..)).unwrap_or_default();
        return without_users(before) + HIDDEN + behind;
    }
    without_users(text)
}

#[cfg(feature = "config")]
fn without_users(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        // A password that is not percent-encoded may contain anything but the end of a word.
        let word = after
            .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\''))
            .unwrap_or(after.len());
        let (word, behind) = after.split_at(word);
        match word.rsplit_once('@') {
            Some((_, server)) => shown.extend(["***@", server]),
            None => shown.push_str(word),
        }
        rest = behind;
    }
    shown + rest
}

/// Replaces what may be part of a password.
pub(crate) const HIDDEN: &str = "***";

/// The URL of one member of a quorum. A comma in a password that is not percent-encoded cuts the URL in two, so this
/// shows only what is certainly not part of a password.
pub(crate) fn shown_member(url: &str) -> String {
    let url = url.trim();
    let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
    let setting = |name| url.strip_prefix(name).is_some_and(|value| value.starts_with('='));
    let known = match scheme {
        scheme if is_redis_server(scheme) || names_several(scheme) || scheme == "zookeeper" => {
            let server = rest.trim_start_matches('/').split(['/', '?']).next().unwrap_or_default();
            let port = server.rsplit_once(':').map_or("", |(_, port)| port);
            url.contains('@') || port.chars().all(|c| c.is_ascii_digit() || c == ']')
        }
        scheme if is_redis_socket(scheme) => true,
        "file" | "memory" => true,
        _ if ["longest_lease", "member_limit", "durable_members"].into_iter().any(setting) => {
            return url.to_owned();
        }
        _ => false,
    };
    if known { redacted_url(url) } else { HIDDEN.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "config")]
    #[test]
    fn text_is_shown_without_the_passwords_in_it() {
        for (text, expected) in [
            ("no URL", "no URL"),
            (
                "a redis://u:pw@h/0 and \"mysql://p@w@h\" x@y",
                "a redis://***@h/0 and \"mysql://***@h\" x@y",
            ),
            ("redis://h, a@b", "redis://h, a@b"),
            ("://", "://"),
            ("ttl: \"redis://:pw@h\" is", "ttl: \"redis://***@h\" is"),
            (
                "\"postgres://h/d?user=u&Password=s3 \"cret\" is",
                "\"postgres://h/d?user=u&Password=***\" is",
            ),
            ("jdbc:mysql://u@h/d?pass=x", "jdbc:mysql://***@h/d?pass=***"),
        ] {
            assert_eq!(without_passwords(text), expected);
        }
    }

    #[test]
    fn a_url_is_shown_without_its_password() {
        for url in [
            "redis://me:s3ntinel@host/1",
            "redis://:s3n@s3ntinel@host",
            "unix:/run/redis.sock?user=me&password=s3ntinel",
            "unix:/run/redis.sock?user=me&password=s3n@s3ntinel",
            "redis-sentinel://a,b/0?service=m&sentinel_password=s3n@s3ntinel",
            "redis-sentinel://me:s3ntinel@a,b/0?service=m&sentinel_password=s3ntinel",
            "redis-sentinel://me:s3ntinel@a,b/0?service=m&sentinel_password=s3n@s3ntinel",
            "redis-cluster://me:s3ntinel@a,b",
            "redis-cluster://me:s3n@s3ntinel@a,b",
            "redis-cluster://a,b?user=me&password=s3ntinel",
            "redis://me:s3ntinel?@host",
            "zookeeper://me:s3ntinel@a,b/locks",
            "zookeeper://me:s3n@s3ntinel@a,b/locks?session=10s",
            "postgres://me:s3ntinel@a,b/shop?tls=yes",
            "mysql://me:s3n@s3ntinel@a/shop",
            "postgres://me:s3n@s3ntinel@a/shop",
            "postgres://me@a/shop?password=s3ntinel",
            "postgres://me@a/shop?password=s3n@s3ntinel",
            "quorum:redis://a,redis://me:s3ntinel@b,unix:/c?password=s3ntinel",
            "quorum:redis://a,redis://me:s3ntinel,s3ntinel@b,redis://c",
            "quorum:zookeeper://me:s3ntinel@a,zookeeper://me:s3ntinel,s3ntinel@b",
        ] {
            assert!(!redacted_url(url).contains("s3ntinel"), "{}", redacted_url(url));
        }
        let plain = "quorum:redis://a:6379/0,redis://b,file:/c,longest_lease=90s";
        let ensemble = "quorum:zookeeper://a,zookeeper://b:2181/locks";
        for url in ["file:/var/lib/tenure", "file:/home/me@work", plain, ensemble] {
            assert_eq!(redacted_url(url), url);
        }
        assert_eq!(
            shown_member("zookeeper://me:s3ntinel@b/locks?session=10s"),
            "zookeeper://me:***@b/locks?session=10s"
        );
    }
}
