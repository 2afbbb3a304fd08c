//! URLs for people and logs.

/// The ends of the names of secret settings, in lower case.
pub const SECRETS: [&str; 4] = ["password", "passwd", "pass", "pwd"];

/// Returns whether a URL, or one of a list of URLs, contains a password, as far as a malformed URL shows. A variable
/// for a password, `${NAME}`, does not count.
///
/// ```
/// use tenure_url::has_password;
///
/// assert!(has_password("redis://:secret@host") && has_password("unix:/x?password=secret&db=1"));
/// assert!(!has_password("redis://:${PASSWORD}@host") && !has_password("redis://me:@host"));
/// ```
#[must_use]
pub fn has_password(url: &str) -> bool {
    let is_written = |password: &str| !password.is_empty() && !password.starts_with("${");
    let in_front = |one: &str| {
        let credentials = one.split_once("://").and_then(|(_, behind)| behind.rsplit_once('@'));
        let password = credentials.and_then(|(credentials, _)| credentials.split_once(':'));
        password.is_some_and(|(_, password)| is_written(password))
    };
    let settings = url.split(['?', '&', ',']).filter_map(|setting| setting.split_once('='));
    let mut secrets = settings.filter(|(name, _)| {
        let name = name.to_ascii_lowercase();
        SECRETS.iter().any(|secret| name.ends_with(secret))
    });
    url.split(',').any(in_front) || secrets.any(|(_, password)| is_written(password))
}

/// Returns the URL without its password, for people and logs, whatever the scheme.
///
/// A password that is not percent-encoded may contain any character. If it is unclear what belongs to it, this leaves
/// out more.
///
/// ```
/// use tenure_url::without_password;
///
/// assert_eq!(without_password("redis://me:secret@host/1?prefix=a:"), "redis://me:***@host/1?prefix=a:");
/// assert_eq!(without_password("unix:/run/redis.sock?password=secret&db=1"), "unix:/run/redis.sock?password=***");
/// assert_eq!(without_password("redis://secret@host"), "redis://***@host");
/// ```
#[must_use]
pub fn without_password(url: &str) -> String {
    let scheme = url.split(':').next().unwrap_or_default();
    if scheme == "file" || url.is_empty() {
        return url.to_owned();
    }
    let is_path = url.starts_with(['/', '.', '~']) && !url.contains(['@', '=']);
    if is_path {
        return url.to_owned();
    }
    // Not a URL: the text may be anything.
    if !is_scheme(scheme) {
        return "***".to_owned();
    }
    // Keeps the position of each byte.
    let plain = url.to_ascii_lowercase();
    let found = |secret: &&str| Some((plain.find(&format!("{secret}="))?, secret.len() + 1));
    let mark = SECRETS.iter().filter_map(found).min();
    let (url, rest) = match mark {
        // These letters may be part of a password before the host.
        Some((at, _)) if url.get(at..).is_some_and(|behind| behind.contains('@')) => {
            return format!("{scheme}:***");
        }
        Some((at, length)) => {
            let (before, name) = (url.get(..at), url.get(at..at + length));
            (before.unwrap_or_default(), format!("{}***", name.unwrap_or_default()))
        }
        None => (url, String::new()),
    };
    let Some((before, after)) = url.rsplit_once('@') else {
        return if has_host_alone(url) {
            format!("{url}{rest}")
        } else {
            format!("{scheme}://***{rest}")
        };
    };
    let user = before.split_once("://").and_then(|(_, credentials)| credentials.split_once(':'));
    match user.map(|(user, _)| user).filter(|user| !user.contains(['/', '?', '#', '@'])) {
        Some(user) => format!("{scheme}://{user}:***@{after}{rest}"),
        // A user without a password may be the password.
        None => format!("{scheme}://***@{after}{rest}"),
    }
}

/// Returns whether `text` can be the scheme of a URL, and so is not part of a password written in its position by
/// mistake.
///
/// ```
/// use tenure_url::is_scheme;
///
/// assert!(is_scheme("redis+unix") && is_scheme("reids"));
/// assert!(!is_scheme("") && !is_scheme("host=a password=b") && !is_scheme("secret@host"));
/// ```
#[must_use]
pub fn is_scheme(text: &str) -> bool {
    text.len() <= 32
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Whether the host part is certainly not a user with a password whose host was forgotten.
fn has_host_alone(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return true };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.split([',', ' ']).all(|host| {
        let port = match host.rsplit_once(']') {
            Some((_, port)) => port.strip_prefix(':').unwrap_or(port),
            None => host.split_once(':').map_or("", |(_, port)| port),
        };
        port.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::{has_password, without_password};

    #[test]
    fn no_password_is_shown() {
        for url in [
            "redis://me:s3ntinel@host/1",
            "redis://:s3ntinel@host",
            "redis://:s3n@s3ntinel@host",
            "redis://s3ntinel@host",
            "redis://me:s3ntinel",
            "redis://:s3ntinel/0",
            "redis://me:s3ntinel?@host",
            "redis://me:s3ntinel/?@host:x",
            "redis:me:s3ntinel@host",
            "redis://me:s3ntinelpassword=x@host",
            "redis://me:a@s3ntinelpassword=x@host",
            "unix:/run/redis.sock?user=me&password=s3ntinel",
            "unix:/run/redis.sock?user=me&password=s3ntinel&db=1",
            "unix:/run/redis.sock?user=me&password=s3n@s3ntinel",
            "unix:/run/redis.sock?user=me&Password=s3ntinel",
            "redis+unix:///run/redis.sock?user=me&pass=s3ntinel",
            "redis-sentinel://a,b/0?service=m&sentinel_password=s3n@s3ntinel",
            "redis-sentinel://me:s3ntinel@a,b/0?service=m&sentinel_password=s3ntinel",
            "redis-sentinel://me:s3ntinel@a,b/0?service=m&sentinel_password=s3n@s3ntinel",
            "redis-cluster://me:s3ntinel@a,b",
            "redis-cluster://me:s3n@s3ntinel@a,b",
            "redis-cluster://a,b?user=me&password=s3ntinel",
            "zookeeper://me:s3ntinel@a,b/locks",
            "zookeeper://me:s3n@s3ntinel@a,b/locks?session=10s",
            "zookeeper://me:/s3ntinel@host/locks",
            "postgres://me:s3ntinel@a,b/shop?tls=yes",
            "mysql://me:s3n@s3ntinel@a/shop",
            "postgres://me@a/shop?password=s3ntinel",
            "postgres://me@a/shop?password=s3n@s3ntinel",
            "postgres://a/shop?sslpassword=s3ntinel",
            "some:me:s3ntinel@a/b",
            "some://me:s3n?s3ntinel@a/b",
            "some://a/b?password=s3ntinel&s3ntinel",
            "some://me:1234/s3ntinel@host",
            "host=h password=s3ntinel",
            "Server=h;Password=s3ntinel;",
            "h.example.net,password=s3ntinel,ssl=True",
            "s3ntinel@host:6379",
            ":s3ntinel@host",
            "Password=s3ntinel://",
        ] {
            assert!(!without_password(url).contains("s3ntinel"), "{}", without_password(url));
        }
    }

    #[test]
    fn a_password_in_a_url_is_noticed() {
        for url in [
            "redis://:secret@host",
            "postgres://me:secret@host/db",
            "quorum:redis://a,redis://me:secret@b,redis://c",
            "unix:/run/redis.sock?password=secret",
            "redis-sentinel://a,b?service=m&sentinel_password=secret",
            "redis+unix:///run/redis.sock?Pass=secret",
        ] {
            assert!(has_password(url), "{url}");
        }
        for url in [
            "redis://host?prefix=a",
            "postgres://me@host/db",
            "redis://me:@host",
            "redis://:${PASSWORD}@host",
            "unix:/x?password=${P}",
            "unix:/x?password_file=/run/secrets/p",
            "file:/a:b@c",
            "main",
        ] {
            assert!(!has_password(url), "{url}");
        }
    }

    #[test]
    fn a_url_without_one_stays_as_it_is() {
        for url in [
            "",
            "memory:",
            "file:/var/lib/tenure",
            "file:/home/me@work",
            "redis://a:6379/0",
            "redis://[::1]:6379/0",
            "redis-sentinel://a:1,b,[::1]:7/0?service=m",
            "unix:/run/redis.sock?db=1",
            "postgres://a/shop",
        ] {
            assert_eq!(without_password(url), url);
        }
        assert_eq!(
            without_password("zookeeper://me:x@b/l?session=9s"),
            "zookeeper://me:***@b/l?session=9s"
        );
        assert_eq!(without_password("postgres://me@a/shop"), "postgres://***@a/shop");
    }

    #[test]
    fn any_text_is_shown_without_what_may_be_a_password() {
        let examples: &[&[u8]] =
            &[b"redis://u:p@h/0?password=x&sentinel_password=y@z", b"unix:/a?PassWd=b"];
        tenure_testkit::fuzz(20_000, examples, |bytes| {
            let Ok(url) = std::str::from_utf8(bytes) else { return false };
            without_password(url) != url
        });
    }
}
