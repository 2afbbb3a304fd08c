//! The parts of a database's URL.

use std::time::Duration;

use tenure_core::{Fault, proto::time::in_range};
use tenure_url::{Dialect, Password, Settings, duration};

use crate::config::scheme::without_driver;

/// The parts of a URL.
#[derive(Clone, Debug)]
pub struct UrlParts {
    /// The user to log in as.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<Password>,
    /// The servers. If there are several, one of them is the primary.
    pub servers: Vec<(String, u16)>,
    /// The name of the database.
    pub database: String,
    /// The settings after the question mark.
    pub settings: Settings,
    pub(crate) dialect: Dialect,
}

impl UrlParts {
    /// Parses a URL. `port` is the default port. The user and the password may be settings, and with `as_libpq` every
    /// part.
    ///
    /// # Errors
    /// A fault that says what is wrong. It never shows a password.
    pub fn read(dialect: Dialect, port: u16, as_libpq: bool, url: &str) -> Result<Self, Fault> {
        let mut url = dialect.read(&without_driver(url))?;
        if url.fragment.is_some() {
            return Err(dialect.wrong("it has a #"));
        }
        let hosts = if as_libpq { url.settings.take("host") } else { None };
        let servers = match hosts {
            Some(hosts) => servers(dialect, &hosts, url.settings.take("port").as_deref(), port)?,
            None if url.hosts.iter().any(|host| host.name.starts_with('/')) => {
                let server =
                    |host: &tenure_url::Host| (host.name.clone(), host.port.unwrap_or(port));
                url.hosts.iter().map(server).collect()
            }
            None => url.servers(port)?,
        };
        url.settings.alias("username", "user")?;
        let user = url.settings.take("user").or(url.user.take());
        let password = url.settings.secret("password").or(url.password.take());
        let password = match (password.map(Password::from), url.settings.take("password_file")) {
            (Some(_), Some(_)) => {
                let message = "it has a password, and password_file names a file with one";
                return Err(dialect.wrong_but(message, "leave one of them out"));
            }
            (None, Some(path)) => Some(Password::file(path)?),
            (password, None) => password,
        };
        let database = if as_libpq { url.settings.take("dbname") } else { None };
        let database = database.unwrap_or_else(|| url.name().to_owned());
        if database.is_empty() || database.contains('/') {
            return Err(dialect.wrong("the name of the database comes after the host"));
        }
        Ok(Self { user, password, servers, database, settings: url.settings, dialect })
    }

    /// Takes a duration from `least` to `most` milliseconds. With `each`, a number without a unit counts in units of
    /// `each`, as in other libraries. Their 0, for no limit, means `most`.
    ///
    /// # Errors
    /// A fault if the value is not a duration, or out of range.
    pub fn length(
        &mut self,
        setting: &'static str,
        each: Option<Duration>,
        (least, most): (u64, u64),
    ) -> Result<Option<Duration>, Fault> {
        let bare = |text: &str| {
            let count = text.parse::<u32>().ok()?;
            let most = Duration::from_millis(most);
            Some(if count == 0 { most } else { each?.saturating_mul(count) })
        };
        let Some(text) = self.settings.take(setting) else { return Ok(None) };
        let length = bare(&text).filter(|_| each.is_some()).map_or_else(|| duration(&text), Ok);
        let length = length.map_err(|error| {
            self.dialect.wrong_but(format!("{setting} {error:#}"), error.help())
        })?;
        let within = (Duration::from_millis(least), Duration::from_millis(most));
        let length = in_range(setting, length, within.0, within.1)
            .map_err(|error| self.dialect.wrong_but(error.message(), error.help()))?;
        Ok(Some(length))
    }
}

/// Servers named by a setting, where paths and addresses are written as they are.
fn servers(
    dialect: Dialect,
    hosts: &str,
    ports: Option<&str>,
    usual: u16,
) -> Result<Vec<(String, u16)>, Fault> {
    let hosts: Vec<_> = hosts.split(',').collect();
    let ports: Vec<_> = ports.unwrap_or_default().split(',').collect();
    if ports.len() != 1 && ports.len() != hosts.len() {
        return Err(dialect.wrong("port has one value for all hosts, or one for each"));
    }
    let each = hosts.iter().zip(ports.iter().cycle()).map(|(host, port)| {
        if host.is_empty() {
            return Err(dialect.wrong("host names none"));
        }
        let number = || port.parse().ok().filter(|port| *port != 0);
        let port = if port.is_empty() { Some(usual) } else { number() };
        let port = port.ok_or_else(|| dialect.wrong("a port is a number from 1 to 65535"))?;
        Ok(((*host).to_owned(), port))
    });
    each.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use tenure_core::FaultKind;

    use super::*;

    const DIALECT: Dialect =
        Dialect { store: "Some", schemes: &["some"], example: "some://host/database" };

    fn parts(url: &str) -> Result<UrlParts, Fault> {
        UrlParts::read(DIALECT, 5, true, url)
    }

    #[test]
    fn each_part_of_a_url_is_read() {
        let parts = parts("some://me:pa%40ss@a,[::1]:7/shop?own=a%20b").unwrap();
        assert_eq!(parts.user.as_deref(), Some("me"));
        assert_eq!(parts.password, Some(Password::from("pa@ss")));
        assert_eq!(parts.servers, [("a".to_owned(), 5), ("::1".to_owned(), 7)]);
        assert_eq!(parts.database, "shop");
        assert!(!format!("{parts:?}").contains("pa@ss"));
    }

    #[test]
    fn the_parts_of_a_url_may_be_settings() {
        let url = "some:///?host=/cloudsql/a:b:c,db.example&port=7&user=me&password=pw&dbname=shop";
        let read = parts(url).unwrap();
        let servers = [("/cloudsql/a:b:c".to_owned(), 7), ("db.example".to_owned(), 7)];
        assert_eq!(read.servers, servers);
        assert_eq!((read.user.as_deref(), &*read.database), (Some("me"), "shop"));
        assert_eq!(read.password, Some(Password::from("pw")));
        for url in ["some:///b?host=a,b&port=1,2,3", "some:///b?host=a&port=0", "some:///b?host="] {
            parts(url).unwrap_err();
        }
        let jdbc = parts("jdbc:some://a/b?user=me").unwrap();
        assert_eq!(jdbc.servers, [("a".to_owned(), 5)]);
        assert_eq!(parts("some+driver://a/b").unwrap().database, "b");
        let socket = parts("some://%2Frun%2Fserver:7/b").unwrap();
        assert_eq!(socket.servers, [("/run/server".to_owned(), 7)]);
    }

    #[test]
    fn a_number_without_a_unit_is_a_length_where_others_have_it_so() {
        let length = |text: &str, each| {
            let mut parts = parts(&format!("some://a/b?own={text}")).unwrap();
            parts.length("own", each, (10, 60_000))
        };
        let second = Some(Duration::from_secs(1));
        assert_eq!(length("10", second).unwrap(), Some(Duration::from_secs(10)));
        assert_eq!(length("300ms", second).unwrap(), Some(Duration::from_millis(300)));
        assert_eq!(length("0", second).unwrap(), Some(Duration::from_secs(60)));
        for (text, each) in [("10", None), ("0", None), ("300", second), ("5ms", second)] {
            length(text, each).unwrap_err();
        }
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
            "some://me:s3n?host=s3ntinel@a/b",
            "some://me:s3ntinel%ff@a/b",
            "some://me:s3ntinel@a/b#c",
            "some://me:s3n:s3ntinel@a/b/c",
            "some://me:1234/s3ntinel@host",
        ] {
            let fault = parts(url).unwrap_err();
            assert_eq!(fault.kind(), FaultKind::Misconfigured);
            assert!(!format!("{fault:#}").contains("s3ntinel"), "{fault:#}");
        }
    }
}
