//! A URL of a database, taken apart.

use std::{collections::BTreeMap, fmt, time::Duration};

use percent_encoding::percent_decode_str;
use tenure_core::{Fault, FaultKind};

/// How URLs of one kind of database are written.
#[derive(Clone, Copy, Debug)]
pub struct Spelling {
    /// The database, as people call it.
    pub database: &'static str,
    /// What may stand before the colon.
    pub schemes: &'static [&'static str],
    /// The port, where none is written.
    pub port: u16,
    /// The settings that it has beyond those that all have.
    pub settings: &'static [&'static str],
    /// How one is written.
    pub example: &'static str,
}

/// The parts of a URL.
#[derive(Clone)]
pub struct Parts {
    /// Who we are to the server.
    pub user: Option<String>,
    /// By what we prove it.
    pub password: Option<Password>,
    /// Where it listens; several where one of them is the primary.
    pub servers: Vec<(String, u16)>,
    /// The name of the database there.
    pub database: String,
    settings: BTreeMap<String, String>,
    spelling: Spelling,
}

/// A password, which no text of ours ever shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, servers, database, .. } = self;
        let mut parts = f.debug_struct("Parts");
        parts.field("user", user).field("servers", servers).field("database", database);
        parts.finish_non_exhaustive()
    }
}

/// The settings that every database has.
const COMMON: [&str; 10] = [
    "connect_timeout",
    "response_timeout",
    "claim_window",
    "place_ttl",
    "max_waiters",
    "max_holders",
    "connections",
    "tls",
    "ca",
    "password",
];

impl Spelling {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// A fault that says what is wrong, and never shows a password.
    pub fn parts(&self, url: &str) -> Result<Parts, Fault> {
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        if !self.schemes.contains(&scheme) {
            return Err(self.wrong(&format!("it begins with none of {}", self.schemes.join(", "))));
        }
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let place = place
            .strip_prefix("//")
            .ok_or_else(|| self.wrong("two slashes come before the host"))?;
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let (credentials, servers) = match authority.rsplit_once('@') {
            Some((credentials, servers)) => (Some(credentials), servers),
            None => (None, authority),
        };
        let (user, password) = match credentials {
            Some(text) => match text.split_once(':') {
                Some((user, password)) => (Some(user), Some(password)),
                None => (Some(text), None),
            },
            None => (None, None),
        };
        let user =
            user.filter(|user| !user.is_empty()).map(|user| self.decoded(user)).transpose()?;
        let password = password.map(|text| self.decoded(text)).transpose()?.map(Password);
        let servers =
            servers.split(',').map(|server| self.server(server)).collect::<Result<_, _>>()?;
        // Behind a raw @ it may be a piece of a password.
        let is_raw = database.contains('@');
        let database = self.decoded(database)?;
        if database.is_empty() || is_raw || database.contains('/') {
            return Err(self.wrong("the name of the database comes behind the host"));
        }
        let settings = self.settings(url, query)?;
        let mut parts = Parts { user, password, servers, database, settings, spelling: *self };
        if let Some(password) = parts.take("password") {
            parts.password = Some(Password(password));
        }
        Ok(parts)
    }

    fn settings(&self, url: &str, query: &str) -> Result<BTreeMap<String, String>, Fault> {
        let mut settings = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !COMMON.contains(&key) && !self.settings.contains(&key) {
                // What is not encoded may make a piece of a password look like a setting.
                let which = if url.contains('@') || url.contains("password=") {
                    "what comes behind the question mark".to_owned()
                } else {
                    format!("{key:?}")
                };
                let known: Vec<_> = COMMON.iter().chain(self.settings).copied().collect();
                let known = known.join(", ");
                return Err(self.wrong(&format!("{which} is no setting of it; there are {known}")));
            }
            if settings.insert(key.to_owned(), self.decoded(value)?).is_some() {
                return Err(self.wrong(&format!("{key} is there twice")));
            }
        }
        Ok(settings)
    }

    fn server(&self, text: &str) -> Result<(String, u16), Fault> {
        let (host, port) = match text.rsplit_once(':') {
            // The colons of an address in brackets are its own.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (text, None),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = match port {
            Some(port) => port.parse().ok().filter(|port| *port != 0),
            None => Some(self.port),
        };
        match port {
            // What is there may be a piece of a password.
            None => Err(self.wrong("a port is a number from 1 to 65535")),
            Some(_) if host.is_empty() => Err(self.wrong("it names no host")),
            Some(port) => Ok((self.decoded(host)?, port)),
        }
    }

    fn decoded(&self, text: &str) -> Result<String, Fault> {
        // It would be taken as it stands, and a password would be another one.
        let is_whole = |digits: &str| {
            digits
                .as_bytes()
                .first_chunk::<2>()
                .is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
        };
        if !text.split('%').skip(1).all(is_whole) {
            return Err(self.wrong("a % comes before two hexadecimal digits; one by itself is %25"));
        }
        let decoded = percent_decode_str(text).decode_utf8();
        decoded.map(Into::into).map_err(|_| self.wrong("it has bytes that are no UTF-8"))
    }

    /// What is wrong with a URL, and how one is written.
    #[must_use]
    pub fn wrong(&self, what: &str) -> Fault {
        let what = format!("this is no URL of a {} database: {what}", self.database);
        Fault::new(FaultKind::Misconfigured, what, format!("write {}", self.example))
    }
}

impl Parts {
    /// The text of a setting, once.
    pub fn take(&mut self, setting: &str) -> Option<String> {
        self.settings.remove(setting)
    }

    /// A length of time, once.
    ///
    /// # Errors
    /// A fault if it is none.
    pub fn length(&mut self, setting: &str) -> Result<Option<Duration>, Fault> {
        let Some(text) = self.take(setting) else { return Ok(None) };
        let parse = |digits: &str| digits.parse().ok();
        let length = if let Some(digits) = text.strip_suffix("ms") {
            parse(digits).map(Duration::from_millis)
        } else {
            text.strip_suffix('s').and_then(parse).map(Duration::from_secs)
        };
        let wrong = || self.spelling.wrong("a length of time is written as 500ms or 2s");
        length.ok_or_else(wrong).map(Some)
    }

    /// A number, once.
    ///
    /// # Errors
    /// A fault if it is none.
    pub fn number(&mut self, setting: &str) -> Result<Option<usize>, Fault> {
        let Some(text) = self.take(setting) else { return Ok(None) };
        let wrong = || self.spelling.wrong(&format!("{setting} is a number"));
        text.parse().map(Some).map_err(|_| wrong())
    }

    /// Yes or no, once.
    ///
    /// # Errors
    /// A fault if it is neither.
    pub fn yes(&mut self, setting: &str) -> Result<Option<bool>, Fault> {
        match self.take(setting).as_deref() {
            None => Ok(None),
            Some("yes") => Ok(Some(true)),
            Some("no") => Ok(Some(false)),
            Some(_) => Err(self.spelling.wrong(&format!("{setting} is yes or no"))),
        }
    }
}

/// The URL with its password left out, for people and logs.
///
/// ```
/// let shown = tenure_sql::without_password("postgres://me:secret@host/shop");
/// assert_eq!(shown, "postgres://me:***@host/shop");
/// ```
#[must_use]
pub fn without_password(url: &str) -> String {
    let scheme = url.split(':').next().unwrap_or_default();
    if let Some((before, after)) = url.split_once("password=") {
        // What is not encoded may hold any sign.
        if after.contains('@') {
            return format!("{scheme}:***");
        }
        return format!("{}password=***", without_password(before));
    }
    let Some((before, after)) = url.rsplit_once('@') else { return url.to_owned() };
    let (scheme, credentials) = before.split_once("://").unwrap_or(("", before));
    let user = credentials.split(':').next().unwrap_or_default();
    format!("{scheme}://{user}:***@{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPELLING: Spelling = Spelling {
        database: "Some",
        schemes: &["some"],
        port: 5,
        settings: &["own"],
        example: "some://host/database",
    };

    #[test]
    fn each_part_of_a_url_is_read() {
        let url =
            "some://me:pa%40ss@a,[::1]:7/shop?own=a%20b&connect_timeout=20ms&connections=3&tls=yes";
        let mut parts = SPELLING.parts(url).unwrap();
        assert_eq!(parts.user.as_deref(), Some("me"));
        assert_eq!(parts.password, Some(Password("pa@ss".to_owned())));
        assert_eq!(parts.servers, [("a".to_owned(), 5), ("::1".to_owned(), 7)]);
        assert_eq!(parts.database, "shop");
        assert_eq!(parts.take("own").as_deref(), Some("a b"));
        assert_eq!(parts.length("connect_timeout").unwrap(), Some(Duration::from_millis(20)));
        assert_eq!(parts.number("connections").unwrap(), Some(3));
        assert_eq!(parts.yes("tls").unwrap(), Some(true));
        assert!(!format!("{parts:?}").contains("pa@ss"));
    }

    #[test]
    fn a_setting_that_there_is_not_is_answered_by_those_that_there_are() {
        let said = format!("{:#}", SPELLING.parts("some://a/b?tsl=yes").unwrap_err());
        assert!(said.contains("\"tsl\" is no setting") && said.contains("tls, ca"), "{said}");
        assert!(said.contains("own"), "{said}");
    }

    #[test]
    fn what_is_wrong_with_a_url_is_said_without_its_password() {
        for url in [
            "other://me:s3ntinel@a/b",
            "some:me:s3ntinel@a/b",
            "some://me:s3ntinel@a",
            "some://me:s3ntinel@/b",
            "some://me:s3ntinel@a:x/b",
            "some://me:s3n?s3ntinel@a/b",
            "some://me:s3ntinel%ff@a/b",
            "some://me:s3ntinel%zz@a/b",
            "some://me:s3ntinel%4@a/b",
            "some://a/b?password=s3ntinel&s3ntinel",
            "some://a/b?own=1&own=2",
            "some://me:s3n:s3ntinel@a/b/c",
            "some://me:1234/s3ntinel@host",
        ] {
            let fault = SPELLING.parts(url).unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Misconfigured);
            assert!(!format!("{fault:#}").contains("s3ntinel"), "{fault:#}");
            assert!(!without_password(url).contains("s3ntinel"), "{}", without_password(url));
        }
    }
}
