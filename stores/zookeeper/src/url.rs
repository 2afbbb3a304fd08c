//! Options from a URL.

use std::{collections::BTreeMap, time::Duration};

use percent_encoding::percent_decode_str;
use tenure_core::{Fault, FaultKind, files};

use crate::{
    client::{Acl, AuthId, Permission},
    options::{Access, Certificates, Login, Method, ZookeeperOptions},
};

const DEFAULT_PORT: u16 = 2181;

/// What a URL may say behind the question mark.
const SETTINGS: [&str; 14] = [
    "acl",
    "auth",
    "ca",
    "cert",
    "epoch",
    "key",
    "max_holders",
    "max_waiters",
    "mutex",
    "response_timeout",
    "revocation",
    "session",
    "tick",
    "tls",
];

impl ZookeeperOptions {
    /// Options from a URL: `zookeeper://[user:password@]host[:port],host[:port],…[/base/path]`.
    ///
    /// | setting | |
    /// |---|---|
    /// | `session=10s`, `tick=2s`, `response_timeout=2s` | [`ZookeeperOptions::session`], [`ZookeeperOptions::tick`], [`ZookeeperOptions::response_timeout`], in `ms` or `s` |
    /// | `epoch=0` | [`ZookeeperOptions::epoch`] |
    /// | `auth=digest`, `auth=sasl` | how user and password are said: by ZooKeeper's `digest`, or SASL with DIGEST-MD5 |
    /// | `acl=world`, `acl=creator`, `acl=digest:user:hash:cdrwa,…` | who may see and change what tenure creates; in the last form as `zkCli` writes it |
    /// | `tls=yes`, `ca=`, `cert=`, `key=` | over TLS; files in PEM, read at once: the authorities to trust, which there must be, and a client's certificate |
    /// | `mutex=semaphore` | [`ZookeeperOptions::semaphore_mutex`] |
    /// | `revocation=comply` | [`ZookeeperOptions::complies_with_revocation`] |
    /// | `max_waiters=1000`, `max_holders=1000` | [`ZookeeperOptions::bounds`] |
    ///
    /// What is special in a user, a password or the path is percent-encoded.
    ///
    /// # Errors
    /// A fault that says what is wrong, and never shows a password.
    pub fn from_url(url: &str) -> Result<Self, Fault> {
        let rest = url
            .strip_prefix("zookeeper://")
            .ok_or_else(|| wrong("it does not begin with zookeeper://"))?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut settings = Settings::of(url, query)?;
        let (authority, base) = match place.split_once('/') {
            // A piece of a password would be taken for a path, and shown.
            Some((_, base)) if base.contains('@') => {
                return Err(wrong("a / in a password is %2F, and a @ in the path is %40"));
            }
            Some((authority, base)) => (authority, Some(decoded(base)?)),
            None => (place, None),
        };
        let (credentials, servers) = match authority.rsplit_once('@') {
            Some((credentials, servers)) => (Some(credentials), servers),
            None => (None, authority),
        };
        let mut options = Self::new(servers_of(servers)?)?;
        if let Some(base) = base.filter(|base| !base.is_empty()) {
            options = options.base(&format!("/{base}"))?;
        }
        if let Some(time) = settings.take("session") {
            options = options.session(length(&time)?)?;
        }
        if let Some(time) = settings.take("tick") {
            options = options.tick(length(&time)?)?;
        }
        if let Some(time) = settings.take("response_timeout") {
            options = options.response_timeout(length(&time)?)?;
        }
        if let Some(epoch) = settings.take("epoch") {
            options = options.epoch(number(&epoch)?)?;
        }
        if let Some(bound) = settings.take("max_waiters") {
            options.max_waiters = bounded(&bound)?;
        }
        if let Some(bound) = settings.take("max_holders") {
            options.max_holders = bounded(&bound)?;
        }
        options.complies = match settings.take("revocation").as_deref() {
            None | Some("log") => false,
            Some("comply") => true,
            Some(_) => return Err(wrong("revocation is log or comply")),
        };
        options.semaphore_mutex = match settings.take("mutex").as_deref() {
            None | Some("mutex") => false,
            Some("semaphore") => true,
            Some(_) => return Err(wrong("mutex is mutex or semaphore")),
        };
        let method = match settings.take("auth").as_deref() {
            None | Some("digest") => Method::Digest,
            Some("sasl") => Method::Sasl,
            Some(_) => return Err(wrong("auth is digest or sasl")),
        };
        if let Some(credentials) = credentials {
            let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
            if user.is_empty() || password.is_empty() || password.contains('@') {
                return Err(wrong(
                    "user and password stand once, before all hosts, and a @ in them as %40",
                ));
            }
            let (user, password) = (decoded(user)?, decoded(password)?);
            options.login = Some(Login { user, password, method });
        }
        options.access = match settings.take("acl").as_deref() {
            None | Some("world") => Access::World,
            Some("creator") => Access::Creator,
            Some(list) => Access::Given(list.split(',').map(acl).collect::<Result<_, _>>()?),
        };
        let files = ["ca", "cert", "key"].map(|setting| settings.take(setting));
        options.tls = match settings.take("tls").as_deref() {
            None | Some("no") if files.iter().all(Option::is_none) => None,
            Some("yes") => Some(certificates(files)?),
            _ => return Err(wrong("tls is yes or no, and ca, cert and key are for tls=yes")),
        };
        options.check()?;
        Ok(options)
    }
}

/// What stands behind the question mark.
struct Settings(BTreeMap<String, String>);

impl Settings {
    fn of(url: &str, query: &str) -> Result<Self, Fault> {
        let mut settings = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !SETTINGS.contains(&key) {
                // What is not encoded may make a piece of a password look like a setting.
                return Err(wrong(&if url.contains('@') {
                    "it has a setting that zookeeper: does not know".to_owned()
                } else {
                    format!("{key:?} is no setting of zookeeper:")
                }));
            }
            settings.insert(key.to_owned(), decoded(value)?);
        }
        Ok(Self(settings))
    }

    fn take(&mut self, setting: &str) -> Option<String> {
        self.0.remove(setting)
    }
}

fn servers_of(list: &str) -> Result<Vec<(String, u16)>, Fault> {
    // In a list of URLs the commas of one may be encoded.
    let list = decoded(list)?;
    let each = |server: &str| {
        if server.is_empty() || server.starts_with(':') || server.contains(char::is_whitespace) {
            return Err(wrong("one of its hosts is empty, or has a space in it"));
        }
        // A colon without a port is the place of a variable that was empty.
        if server.ends_with(':') {
            return Err(wrong("no port stands behind the colon"));
        }
        let (host, port) = match server.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, rest)) => (host, rest.strip_prefix(':').unwrap_or("")),
            None => server.split_once(':').unwrap_or((server, "")),
        };
        let port = match port {
            "" => DEFAULT_PORT,
            text => text.parse().map_err(|_| wrong("a port is no number up to 65535"))?,
        };
        Ok((host.to_owned(), port))
    };
    list.split(',').map(each).collect()
}

/// `scheme:id:rights`, as `zkCli` writes it; an id may have colons.
fn acl(text: &str) -> Result<Acl, Fault> {
    let parts = text
        .split_once(':')
        .and_then(|(scheme, rest)| rest.rsplit_once(':').map(|(id, rights)| (scheme, id, rights)));
    let Some((scheme, id, rights)) =
        parts.filter(|(scheme, _, rights)| !scheme.is_empty() && !rights.is_empty())
    else {
        return Err(wrong("acl is world, creator, or a list of scheme:id:cdrwa"));
    };
    let mut permission = Permission::NONE;
    for right in rights.chars() {
        permission = permission
            | match right {
                'c' => Permission::CREATE,
                'd' => Permission::DELETE,
                'r' => Permission::READ,
                'w' => Permission::WRITE,
                'a' => Permission::ADMIN,
                _ => return Err(wrong("the rights in acl are letters of cdrwa")),
            };
    }
    Ok(Acl::new(permission, AuthId::new(scheme, id)))
}

/// More than all authorities of a system have.
const LONGEST: u64 = 8 * 1024 * 1024;

fn certificates([ca, certificate, key]: [Option<String>; 3]) -> Result<Certificates, Fault> {
    let read = |path: &String| {
        let text = files::read(path.as_ref(), LONGEST).map_err(|error| format!("{error:#}"));
        let text = text.and_then(|file| {
            String::from_utf8(file.bytes).map_err(|_| "it is no text in PEM".to_owned())
        });
        text.map_err(|error| {
            let what = format!("{path} cannot be read: {error:#}");
            let help = "name files in PEM: ca=, cert= and key= in the URL";
            Fault::new(FaultKind::Misconfigured, what, help)
        })
    };
    if ca.is_none() {
        let what = "tls=yes needs ca=, the authorities to trust, such as /etc/ssl/certs/ca-certificates.crt";
        return Err(wrong(what));
    }
    let own = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((read(&certificate)?, read(&key)?)),
        (None, None) => None,
        _ => return Err(wrong("cert and key go together")),
    };
    Ok(Certificates { ca: ca.as_ref().map(read).transpose()?, own })
}

fn number(text: &str) -> Result<u32, Fault> {
    text.parse().map_err(|_| wrong("the epoch is no number"))
}

fn bounded(text: &str) -> Result<usize, Fault> {
    let bound = text.parse().ok().filter(|bound| (1..=100_000).contains(bound));
    bound.ok_or_else(|| wrong("max_waiters and max_holders are numbers from 1 to 100000"))
}

fn length(text: &str) -> Result<Duration, Fault> {
    let parse = |digits: &str| digits.parse().ok();
    let length = if let Some(digits) = text.strip_suffix("ms") {
        parse(digits).map(Duration::from_millis)
    } else {
        let units = [('s', 1), ('m', 60), ('h', 3600)];
        units.iter().find_map(|(unit, seconds)| {
            let count: u64 = text.strip_suffix(*unit).and_then(parse)?;
            Some(Duration::from_secs(count.saturating_mul(*seconds)))
        })
    };
    length.ok_or_else(|| wrong("a length of time is written as 500ms, 2s or 1m"))
}

fn decoded(text: &str) -> Result<String, Fault> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| wrong("it has bytes that are no UTF-8"))
}

fn wrong(what: &str) -> Fault {
    Fault::new(
        FaultKind::Misconfigured,
        format!("this is no URL of a ZooKeeper ensemble: {what}"),
        "write zookeeper://host1,host2,host3 or zookeeper://user:password@host:2181/base/path?session=10s",
    )
}

/// The URL with its password left out, for people and logs.
///
/// ```
/// let shown = tenure_zookeeper::without_password("zookeeper://me:secret@host/locks");
/// assert_eq!(shown, "zookeeper://me:***@host/locks");
/// ```
#[must_use]
pub fn without_password(url: &str) -> String {
    // One that is not encoded may hold any of `/`, `@` and `?`: too much is left out then.
    let Some((before, after)) = url.rsplit_once('@') else { return url.to_owned() };
    let (scheme, credentials) = before.split_once("://").unwrap_or(("", before));
    let user = credentials.split(':').next().unwrap_or_default();
    format!("{scheme}://{user}:***@{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTINEL: &str = "s3ntinel";

    #[test]
    fn each_part_of_a_url_is_read() {
        let url = "zookeeper://me:pa%40ss@a,b:7,[::1]:8/x/y?session=20s&tick=500ms&epoch=3&revocation=comply&mutex=semaphore&acl=creator";
        let options = ZookeeperOptions::from_url(url).unwrap();
        let servers = [("a", 2181), ("b", 7), ("::1", 8)];
        assert_eq!(options.servers, servers.map(|(host, port)| (host.to_owned(), port)));
        assert_eq!((options.base.as_str(), options.epoch), ("/x/y", 3));
        assert_eq!(options.session, Duration::from_secs(20));
        assert_eq!(options.tick, Duration::from_millis(500));
        assert!(options.complies && options.semaphore_mutex);
        assert!(matches!(options.access, Access::Creator));
        assert_eq!(options.login.as_ref().unwrap().password, "pa@ss");
        assert_eq!(options.location(), "zookeeper://a:2181,b:7,[::1]:8/x/y");
        let listed = ZookeeperOptions::from_url("zookeeper://a%2Cb").unwrap();
        assert_eq!(listed.location(), "zookeeper://a:2181,b:2181/tenure");
    }

    #[test]
    fn rights_are_read_as_zkcli_writes_them() {
        let url = "zookeeper://a?acl=world:anyone:r,digest:me:ab%2Fc%3D:cdrwa";
        let Access::Given(given) = ZookeeperOptions::from_url(url).unwrap().access else {
            panic!("another kind")
        };
        assert_eq!((given[0].id(), given[0].permission()), ("anyone", Permission::READ));
        assert_eq!((given[1].scheme(), given[1].id()), ("digest", "me:ab/c="));
        assert_eq!(given[1].permission(), Permission::ALL);
    }

    #[test]
    fn a_wrong_url_is_refused_without_showing_its_password() {
        for (url, told) in [
            ("http://host".to_owned(), "begin"),
            ("zookeeper://".to_owned(), "empty"),
            ("zookeeper://a,,b".to_owned(), "empty"),
            ("zookeeper://a:x".to_owned(), "port"),
            ("zookeeper://a,b:".to_owned(), "no port"),
            ("zookeeper://a?what=ever".to_owned(), "what"),
            ("zookeeper://a?session=1".to_owned(), "500ms"),
            ("zookeeper://a?session=1ms".to_owned(), "session"),
            ("zookeeper://a?acl=creator".to_owned(), "creator"),
            ("zookeeper://a?acl=me".to_owned(), "acl"),
            ("zookeeper://a?acl=world:anyone:z".to_owned(), "cdrwa"),
            ("zookeeper://a?ca=/x".to_owned(), "tls"),
            ("zookeeper://a?tls=yes".to_owned(), "needs ca="),
            ("zookeeper://a/x//y".to_owned(), "path"),
            ("zookeeper://a/../y".to_owned(), "path"),
            ("zookeeper://a/zookeeper".to_owned(), "path"),
            ("zookeeper://a?max_waiters=0".to_owned(), "max_waiters"),
            (format!("zookeeper://me:{SENTINEL}@host:port"), "port"),
            (format!("zookeeper://me:{SENTINEL}@host?what=ever"), "setting"),
            (format!("zookeeper://me:a@{SENTINEL}@host"), "%40"),
            (format!("zookeeper://me:/{SENTINEL}@host/locks"), "%2F"),
            (format!("zookeeper://me:12/{SENTINEL}@host"), "%2F"),
        ] {
            let fault = ZookeeperOptions::from_url(&url).unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Misconfigured, "{url}");
            assert!(format!("{fault:#}").contains(told), "{url}: {fault:#}");
            assert!(!format!("{fault:?} {fault:#}").contains(SENTINEL), "{fault:#}");
            assert!(!without_password(&url).contains(SENTINEL), "{}", without_password(&url));
        }
        let options = ZookeeperOptions::from_url(&format!("zookeeper://me:{SENTINEL}@a")).unwrap();
        assert!(!format!("{options:?} {}", options.location()).contains(SENTINEL));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_what_is_wrong() {
        let fault = ZookeeperOptions::from_url("zookeeper://a?tls=yes&ca=/nope").unwrap_err();
        assert!(fault.message().starts_with("/nope cannot be read"), "{fault:#}");
        assert!(!format!("{fault:#}").contains("no URL"), "{fault:#}");
    }

    #[test]
    fn any_text_is_a_url_or_refused() {
        let examples: &[&[u8]] = &[
            b"zookeeper://u:p%20w@a:2181,[::1]:2182/chroot/x?session=10s&acl=creator",
            b"zookeepers://a:1?ca=/x.pem",
        ];
        tenure_testkit::fuzz(20_000, examples, |bytes| {
            let Ok(url) = std::str::from_utf8(bytes) else { return false };
            ZookeeperOptions::from_url(url).is_ok()
        });
    }
}
