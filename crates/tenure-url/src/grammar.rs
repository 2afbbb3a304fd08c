//! The parts of a URL.

use std::net::Ipv6Addr;

use tenure_core::Fault;

use crate::{Dialect, Secret, Settings, dialect::encode, percent::decode};

/// The parts of a URL, percent-decoded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Url {
    /// The scheme: the part before the colon, one of the dialect's schemes.
    pub scheme: String,
    /// The user. `None` if there is nothing before the colon.
    pub user: Option<String>,
    /// The user's password. `Some` and empty if there is nothing after the colon.
    pub password: Option<Secret>,
    /// The hosts, in their order. Empty if there are none, as in `scheme:///path`.
    pub hosts: Vec<Host>,
    /// The part after the hosts, with its leading slash, or empty.
    pub path: String,
    /// The settings after the question mark.
    pub settings: Settings,
    /// The part after the `#`.
    pub fragment: Option<String>,
    dialect: Dialect,
}

/// One of the hosts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Host {
    /// A host name, an address without brackets, or the path of a unix socket, which begins with a slash. Empty if
    /// there is only a port.
    pub name: String,
    /// The port, if there is one.
    pub port: Option<u16>,
}

impl Dialect {
    /// Parses a URL.
    ///
    /// Special characters in a user, a password or a path must be percent-encoded. The user and the password are
    /// written once, before all hosts. An IPv6 address is in brackets, without a zone. The commas between hosts may be
    /// encoded, for a URL in a list of URLs.
    ///
    /// # Errors
    /// A fault that says what is wrong. It shows nothing that may be part of a password.
    pub fn read(&self, url: &str) -> Result<Url, Fault> {
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        if !self.schemes.contains(&scheme) {
            let schemes = self.schemes.join(":, ");
            return Err(self.wrong(format!("it begins with none of {schemes}:")));
        }
        let (rest, fragment) = match rest.split_once('#') {
            Some((_, behind)) if behind.contains('@') => {
                return Err(self.not_encoded("a # comes before the @", '#'));
            }
            Some((rest, fragment)) => (rest, Some(self.decoded(fragment)?)),
            None => (rest, None),
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let settings = Settings::read(*self, query)?;
        let (authority, path) = match place.strip_prefix("//") {
            Some(place) => place.find('/').map_or((place, ""), |slash| place.split_at(slash)),
            None if place.starts_with('/') => ("", place),
            None => {
                return Err(self.wrong(format!("it does not begin with {scheme}:// or {scheme}:/")));
            }
        };
        // Part of a password would be mistaken for a path.
        if path.contains('@') {
            return Err(self.not_encoded("a / comes before the @", '/'));
        }
        let (credentials, servers) = match authority.rsplit_once('@') {
            Some((before, _)) if before.contains('@') => {
                return Err(self.wrong_but(
                    "it has more than one @ before the path",
                    format!("{}; write user and password once, before all hosts", encode('@')),
                ));
            }
            Some((credentials, servers)) => (Some(credentials), servers),
            None => (None, authority),
        };
        let (user, password) = match credentials.map(|text| text.split_once(':').ok_or(text)) {
            None => (None, None),
            Some(Ok((user, password))) => (Some(user), Some(Secret::from(self.decoded(password)?))),
            Some(Err(user)) => (Some(user), None),
        };
        let user =
            user.filter(|user| !user.is_empty()).map(|user| self.decoded(user)).transpose()?;
        Ok(Url {
            scheme: scheme.to_owned(),
            user,
            password,
            hosts: self.hosts(servers)?,
            path: self.decoded(path)?,
            settings,
            fragment,
            dialect: *self,
        })
    }

    fn hosts(&self, servers: &str) -> Result<Vec<Host>, Fault> {
        if servers.is_empty() {
            return Ok(Vec::new());
        }
        let mut in_brackets = servers.split('[').skip(1).filter_map(|rest| rest.split(']').next());
        if in_brackets.any(|address| address.contains('%')) {
            return Err(self.wrong_but(
                "an address in brackets has a zone, which means a different network on each \
                 machine",
                "name the host, or an address without a zone such as [2001:db8::1]",
            ));
        }
        self.decoded(servers)?.split(',').map(|host| self.host(host)).collect()
    }

    fn host(&self, text: &str) -> Result<Host, Fault> {
        if text.is_empty() {
            return Err(self.wrong("one of its hosts is empty"));
        }
        let (name, behind) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
            Some(Some((address, behind))) => {
                if address.parse::<Ipv6Addr>().is_err() {
                    return Err(self.wrong("the text in brackets is not an IPv6 address"));
                }
                (address, behind)
            }
            Some(None) => return Err(self.wrong("a bracket is not closed")),
            None => text.find(':').map_or((text, ""), |colon| text.split_at(colon)),
        };
        let port = match behind.strip_prefix(':') {
            None if behind.is_empty() => None,
            // A variable for the port may have been empty.
            Some("") => return Err(self.wrong("no port follows the colon")),
            Some(port) if port.contains(':') => {
                return Err(self.wrong_but(
                    "a host has several colons",
                    format!("write an IPv6 address in brackets: [::1]:6379; {}", encode(':')),
                ));
            }
            // The text may be part of a password.
            port => match port.and_then(|port| port.parse().ok()).filter(|port| *port != 0) {
                Some(port) => Some(port),
                None => {
                    return Err(self.wrong_but(
                        "a port is a number from 1 to 65535",
                        format!(
                            "{}, with %2F for a /, %3F for a ? and %23 for a # in a password",
                            self.instead()
                        ),
                    ));
                }
            },
        };
        let is_strange = |c: char| c.is_whitespace() || c.is_control() || "@[]\\?#".contains(c);
        if name.contains(is_strange) {
            return Err(self.wrong("a host has a space or another invalid character"));
        }
        Ok(Host { name: name.to_owned(), port })
    }

    fn decoded(&self, text: &str) -> Result<String, Fault> {
        decode(text).map_err(|error| self.wrong(error))
    }

    fn instead(&self) -> String {
        format!("write {}", self.example)
    }
}

impl Url {
    /// Returns the hosts with their ports. `usual` is the default port.
    ///
    /// # Errors
    /// A fault if there is no host, if a port has no host, or if a host is the path of a socket.
    pub fn servers(&self, usual: u16) -> Result<Vec<(String, u16)>, Fault> {
        // A URL made from empty variables must not mean whatever runs on this machine.
        if self.hosts.is_empty() || self.hosts.iter().any(|host| host.name.is_empty()) {
            return Err(self.dialect.wrong("one of its hosts is empty"));
        }
        if self.hosts.iter().any(|host| host.name.contains('/')) {
            return Err(self.dialect.wrong("a host has a slash"));
        }
        let server = |host: &Host| (host.name.clone(), host.port.unwrap_or(usual));
        Ok(self.hosts.iter().map(server).collect())
    }

    /// Returns the path without its leading slash.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.strip_prefix('/').unwrap_or(&self.path)
    }

    /// Refuses a part after a `#`, for a store that gives it no meaning.
    ///
    /// # Errors
    /// A fault if there is such a part. The fault does not show it.
    pub fn no_fragment(&self) -> Result<(), Fault> {
        match self.fragment {
            None => Ok(()),
            Some(_) => Err(self.dialect.not_encoded("it has text after a #", '#')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECT: Dialect =
        Dialect { store: "Some", schemes: &["some", "unix"], example: "some://host/path" };

    fn host(name: &str, port: impl Into<Option<u16>>) -> Host {
        Host { name: name.to_owned(), port: port.into() }
    }

    #[test]
    fn each_part_of_a_url_is_read() {
        let url =
            DIALECT.read("some://me:p%40s%3As@a,[::1]:7,%2Frun%2Fdb:8/x%20y/z?own=1#top").unwrap();
        assert_eq!((url.scheme.as_str(), url.user.as_deref()), ("some", Some("me")));
        assert_eq!(url.password.as_ref().map(Secret::expose), Some("p@s:s"));
        assert_eq!(url.hosts, [host("a", None), host("::1", 7), host("/run/db", 8)]);
        assert_eq!((url.path.as_str(), url.name()), ("/x y/z", "x y/z"));
        assert_eq!(url.fragment.as_deref(), Some("top"));
        assert!(!format!("{url:?}").contains("p@s"), "{url:?}");
        assert!(url.no_fragment().is_err() && url.servers(1).is_err());
        // A password may have a colon.
        let url = DIALECT.read("some://:a:b@h").unwrap();
        assert_eq!((url.user, url.password.as_ref().map(Secret::expose)), (None, Some("a:b")));
    }

    #[test]
    fn what_is_left_out_is_told_from_what_is_empty() {
        let none = DIALECT.read("some://").unwrap();
        assert!(none.hosts.is_empty() && none.user.is_none() && none.password.is_none());
        let alone = DIALECT.read("some://me@a").unwrap();
        assert!(alone.user.is_some() && alone.password.is_none());
        let empty = DIALECT.read("some://me:@:7").unwrap();
        assert_eq!(empty.password.as_ref().map(Secret::expose), Some(""));
        assert_eq!(empty.hosts, [host("", 7)]);
        assert!(empty.servers(1).is_err());
        for (url, path) in [
            ("unix:/run/s", "/run/s"),
            ("unix:///run/s", "/run/s"),
            ("unix://me:x@/run/s?a=b", "/run/s"),
        ] {
            let url = DIALECT.read(url).unwrap();
            assert!(url.hosts.is_empty());
            assert_eq!(url.path, path);
        }
    }

    #[test]
    fn commas_between_hosts_may_be_encoded() {
        let url = DIALECT.read("some://a%2C[::1]:7").unwrap();
        assert_eq!(url.servers(5).unwrap(), [("a".to_owned(), 5), ("::1".to_owned(), 7)]);
    }

    #[test]
    fn what_is_wrong_is_said_without_a_piece_of_the_password() {
        for (url, said) in [
            ("other://me:s3ntinel@a/b", "none of some:, unix:"),
            ("some:me:s3ntinel@a/b", "some://"),
            ("some", "some://"),
            ("some://me:s3n@s3ntinel@a", "%40"),
            ("some://me:s3n#s3ntinel@a", "%23"),
            ("some://me:s3n?s3ntinel@a", "%3F"),
            ("some://me:s3n/s3ntinel@a", "%2F"),
            ("some://me:1234#s3ntinel@a", "%23"),
            ("some://me:1234?s3ntinel@a", "%3F"),
            ("some://me:1234?x=s3ntinel@a", "%3F"),
            ("some://me:1234/s3ntinel@a", "%2F"),
            ("some://me:one@a,me:s3ntinel@b", "once"),
            ("some://me:s3ntinel%zz@a", "%25"),
            ("some://me:s3ntinel%ff@a", "UTF-8"),
            ("some://me:s3ntinel@a:x", "65535"),
            ("some://me:s3ntinel@a:0", "65535"),
            ("some://me:s3ntinel@a:70000", "65535"),
            ("some://me:s3ntinel@a:", "no port"),
            ("some://me:s3ntinel@a,,b", "empty"),
            ("some://me:s3ntinel@a, b", "space"),
            ("some://me:s3ntinel@::1", "brackets"),
            ("some://me:s3ntinel@[::1", "closed"),
            ("some://me:s3ntinel@[::x]:7", "IPv6"),
            ("some://me:s3ntinel@[::1]7", "65535"),
            ("some://me:s3ntinel@[fe80::1%25eth0]:7", "zone"),
            ("some://me:s3ntinel@[fe80::1%eth0]:7", "zone"),
            ("some://me:s3ntinel@a%40b", "character"),
            ("some://me:s3ntinel", "65535"),
        ] {
            let fault = DIALECT.read(url).unwrap_err();
            assert!(format!("{fault:#}").contains(said), "{url}: {fault:#}");
            assert!(!format!("{fault:#} {fault:?}").contains("s3n"), "{url}: {fault:#}");
        }
    }

    #[test]
    fn any_text_is_a_url_or_refused() {
        let examples: &[&[u8]] =
            &[b"some://user:p%40ss@[::1]:6379,b/3?a=1&b=2s#x", b"unix://u:p@/run/s?password=1"];
        tenure_testkit::fuzz(20_000, examples, |bytes| {
            let Ok(url) = std::str::from_utf8(bytes) else { return false };
            DIALECT.read(url).is_ok()
        });
    }
}
