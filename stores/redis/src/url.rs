//! Options from a URL, and URLs without their password.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use tenure_core::{Fault, FaultKind};

use crate::{
    Address, RedisOptions,
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
    /// | `unix:/path/to/socket?db=0&user=…&password=…` | over a unix socket |
    ///
    /// Each takes `?prefix=`, `connect_timeout=` and `response_timeout=`, in `ms` or `s`. What is
    /// special in a user, password or prefix is percent-encoded. `rediss:` takes files in PEM too,
    /// which are read at once: `ca=` with the authorities to trust instead of the system's, and
    /// `cert=` and `key=` for a server that wants a client's certificate.
    ///
    /// # Errors
    /// A fault that says what is wrong, and never shows the password.
    pub fn from_url(url: &str) -> Result<Self, Fault> {
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut options = match scheme {
            "redis" | "rediss" => from_authority(scheme == "rediss", place)?,
            "unix" => {
                let path = place.strip_prefix("//").unwrap_or(place);
                if !path.starts_with('/') {
                    return Err(wrong("a unix socket needs an absolute path"));
                }
                Self::new(Address::Unix(decoded(path)?.into()))
            }
            _ => return Err(wrong("it begins with none of redis:, rediss: and unix:")),
        };
        let mut files = Files::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(value)?;
            options = match key {
                "prefix" => options.prefix(&value)?,
                "connect_timeout" => options.connect_timeout(length(&value)?)?,
                "response_timeout" => options.response_timeout(length(&value)?)?,
                "db" => options.database(number(&value)?),
                "user" => Self { user: Some(value), ..options },
                "password" => {
                    let user = options.user.clone();
                    options.credentials(user.as_deref(), &value)
                }
                "ca" | "cert" | "key" if scheme == "rediss" => {
                    match key {
                        "ca" => files.roots = Some(value),
                        "cert" => files.certificate = Some(value),
                        _ => files.key = Some(value),
                    }
                    options
                }
                // What is not encoded may make a piece of a password look like a setting.
                _ if url.contains('@') || url.contains("password=") => {
                    return Err(wrong(&format!("it has a setting that {scheme}: does not know")));
                }
                _ => return Err(wrong(&format!("{key:?} is no setting of {scheme}:"))),
            };
        }
        options.certificates = Certificates::read(&files)?;
        Ok(options)
    }
}

fn from_authority(tls: bool, place: &str) -> Result<RedisOptions, Fault> {
    let place =
        place.strip_prefix("//").ok_or_else(|| wrong("two slashes come before the host"))?;
    let (authority, database) = place.split_once('/').unwrap_or((place, ""));
    let (credentials, server) = match authority.rsplit_once('@') {
        Some((credentials, server)) => (Some(credentials), server),
        None => (None, authority),
    };
    let (host, port) = host_and_port(server)?;
    let address = if tls { Address::Tls { host, port } } else { Address::Tcp { host, port } };
    let mut options = RedisOptions::new(address);
    if let Some(credentials) = credentials {
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        let (user, password) = (decoded(user)?, decoded(password)?);
        options =
            options.credentials(Some(user.as_str()).filter(|user| !user.is_empty()), &password);
    }
    if !database.is_empty() {
        options = options.database(number(database)?);
    }
    Ok(options)
}

fn host_and_port(server: &str) -> Result<(String, u16), Fault> {
    let (host, port) = match server.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':').unwrap_or("")),
        None => server.split_once(':').unwrap_or((server, "")),
    };
    let port = match port {
        "" => DEFAULT_PORT,
        text => text.parse().map_err(|_| wrong("the port is no number up to 65535"))?,
    };
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
        "write redis://host, rediss://user:password@host:6379/0 or unix:/path",
    )
}

/// The URL with its password left out, for people and logs.
///
/// ```
/// let shown = tenure_redis::without_password("redis://me:secret@host/1?prefix=a:");
/// assert_eq!(shown, "redis://me:***@host/1?prefix=a:");
/// ```
#[must_use]
pub fn without_password(url: &str) -> String {
    let (place, query) =
        url.split_once('?').map_or((url, None), |(place, query)| (place, Some(query)));
    // A password that was not encoded may hold any of `/`, `@` and `?`: too much is left out then.
    let (shown_place, query) = match url.rsplit_once('@') {
        Some((before, after)) => {
            let (scheme, credentials) = before.split_once("://").unwrap_or(("", before));
            let user = credentials.split(':').next().unwrap_or_default();
            let (place, query) =
                after.split_once('?').map_or((after, None), |(place, query)| (place, Some(query)));
            (format!("{scheme}://{user}:***@{place}"), query)
        }
        None => (place.to_owned(), query),
    };
    let Some(query) = query else { return shown_place };
    let pairs: Vec<_> = query
        .split('&')
        .map(|pair| if pair.starts_with("password=") { "password=***" } else { pair })
        .collect();
    format!("{shown_place}?{}", pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Password;

    const SENTINEL: &str = "s3ntinel";

    #[test]
    fn each_part_of_a_url_is_read() {
        let url = "redis://me:pa%40ss@example.org:6380/3?prefix=shop%3A&response_timeout=500ms";
        let options = RedisOptions::from_url(url).unwrap();
        let address = Address::Tcp { host: "example.org".to_owned(), port: 6380 };
        assert_eq!(options.address, address);
        assert_eq!(options.user.as_deref(), Some("me"));
        assert_eq!(options.password, Some(Password("pa@ss".to_owned())));
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
    fn no_text_shows_a_password() {
        for url in [
            format!("redis://me:{SENTINEL}@host"),
            format!("redis://:{SENTINEL}@host/1"),
            format!("unix:/run/redis.sock?user=me&password={SENTINEL}"),
        ] {
            let options = RedisOptions::from_url(&url).unwrap();
            assert_eq!(options.password, Some(Password(SENTINEL.to_owned())));
            assert!(!format!("{options:?} {}", options.location()).contains(SENTINEL));
            assert!(!without_password(&url).contains(SENTINEL), "{}", without_password(&url));
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
            assert!(!format!("{fault:?} {fault}").contains(SENTINEL), "{fault}");
            assert!(!without_password(&url).contains(SENTINEL), "{}", without_password(&url));
        }
    }
}
