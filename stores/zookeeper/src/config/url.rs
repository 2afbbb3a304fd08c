//! Options from a URL.

use tenure_core::Fault;
use tenure_url::{Certificates, Dialect, Password, Settings, Url};

use crate::{
    client::{Acl, AuthId, Permission},
    config::options::{AclPolicy, LoginMethod, ZookeeperOptions},
    contenders::{node::Layout, tokens::TokenForm},
};

const DEFAULT_PORT: u16 = 2181;

/// The syntax of this store's URLs.
const DIALECT: Dialect = Dialect {
    store: "ZooKeeper",
    schemes: &["zookeeper"],
    example: "zookeeper://host1,host2,host3 or zookeeper://user:password@host:2181/base/path?session=10s",
};

impl ZookeeperOptions {
    /// Returns the options in a URL: `zookeeper://[user:password@]host[:port],host[:port],…[/base/path]`, with these
    /// settings.
    ///
    /// | setting | meaning |
    /// |---|---|
    /// | `session=10s`, `tick=2s`, `response_timeout=2s` | [`ZookeeperOptions::session`], [`ZookeeperOptions::tick`], [`ZookeeperOptions::response_timeout`], as `10s`, `500ms` or `1m30s` |
    /// | `epoch=0` | [`ZookeeperOptions::epoch`] |
    /// | `tokens=czxid` | [`ZookeeperOptions::czxid_tokens`]; `tokens=shifted` is the default |
    /// | `auth=digest`, `auth=sasl` | how to log in: with ZooKeeper's `digest`, or with SASL and DIGEST-MD5 |
    /// | `password_file=` | a file with the password, which is read at each login; only its owner may read it |
    /// | `acl=world`, `acl=creator`, `acl=digest:user:hash:cdrwa,…` | which clients may see and change what tenure creates; the last form is that of `zkCli` |
    /// | `tls=yes`, `ca=`, `cert=`, `key=` | TLS, with PEM files that are read at once: the authorities to trust, which are required, and a client certificate with its key |
    /// | `layout=kazoo` | [`ZookeeperOptions::kazoo_layout`]; `layout=curator` is the default |
    /// | `readers=yes` | [`ZookeeperOptions::kazoo_readers`] |
    /// | `mutex=semaphore` | [`ZookeeperOptions::semaphore_mutex`] |
    /// | `revocation=comply` | [`ZookeeperOptions::complies_with_revocation`] |
    /// | `max_waiters=1000`, `max_holders=1000` | [`ZookeeperOptions::bounds`] |
    ///
    /// Percent-encode special characters in a user, a password or the path.
    ///
    /// # Errors
    /// A fault that says what is wrong. It never shows a password.
    pub fn from_url(url: &str) -> Result<Self, Fault> {
        let mut url = DIALECT.read(url)?;
        url.no_fragment()?;
        let mut options = Self::new(url.servers(DEFAULT_PORT)?)?;
        if !url.name().is_empty() {
            options = options.base(&url.path)?;
        }
        let settings = &mut url.settings;
        if let Some(time) = settings.duration("session")? {
            options = options.session(time)?;
        }
        if let Some(time) = settings.duration("tick")? {
            options = options.tick(time)?;
        }
        if let Some(time) = settings.duration("response_timeout")? {
            options = options.response_timeout(time)?;
        }
        if let Some(epoch) = settings.number("epoch")? {
            options = options.epoch(epoch)?;
        }
        let forms = [TokenForm::Shifted, TokenForm::Czxid].map(|form| (form.text(), form));
        options.tokens = settings.word("tokens", &forms)?.unwrap_or_default();
        if let Some(bound) = bound(settings, "max_waiters")? {
            options.max_waiters = bound;
        }
        if let Some(bound) = bound(settings, "max_holders")? {
            options.max_holders = bound;
        }
        let complies = settings.word("revocation", &[("log", false), ("comply", true)])?;
        options.complies = complies.unwrap_or(false);
        let semaphore = settings.word("mutex", &[("mutex", false), ("semaphore", true)])?;
        options.semaphore_mutex = semaphore.unwrap_or(false);
        let layouts = Layout::ALL.map(|layout| (layout.text(), layout));
        options.layout = settings.word("layout", &layouts)?.unwrap_or_default();
        options.kazoo_readers = settings.yes_no("readers")?.unwrap_or(false);
        let methods = [("digest", LoginMethod::Digest), ("sasl", LoginMethod::Sasl)];
        let method = settings.word("auth", &methods)?.unwrap_or_default();
        options.access = match settings.take("acl").as_deref() {
            None | Some("world") => AclPolicy::World,
            Some("creator") => AclPolicy::Creator,
            Some(list) => AclPolicy::Given(list.split(',').map(acl).collect::<Result<_, _>>()?),
        };
        let tls = settings.yes_no("tls")?.unwrap_or(false);
        let files = ["ca", "cert", "key"].map(|name| (name, settings.take(name)));
        options.method = method;
        let password_file = url.settings.take("password_file");
        login(&mut options, &mut url, password_file.is_some())?;
        url.settings.finish()?;
        // Files are read once the rest is known to be right.
        if let Some(path) = password_file {
            options = options.password_file(path)?;
        }
        options.tls = certificates(tls, &files)?;
        options.check()?;
        Ok(options)
    }
}

/// Reads the login.
fn login(options: &mut ZookeeperOptions, url: &mut Url, is_in_file: bool) -> Result<(), Fault> {
    let password = url.password.take().filter(|password| !password.expose().is_empty());
    if password.is_some() && is_in_file {
        let message = "it has a password, and password_file names a file with one";
        return Err(DIALECT.wrong_but(message, "leave one of them out"));
    }
    let has_password = password.is_some() || is_in_file;
    options.user = url.user.take();
    options.password = password.map(Password::from);
    if options.user.is_some() == has_password {
        return Ok(());
    }
    // Either of them alone may be the password.
    let message = "only one of user and password comes before the hosts";
    let help = "write user:password@ once, before all hosts, or user@ and password_file=";
    Err(DIALECT.wrong_but(message, help))
}

fn bound(settings: &mut Settings, name: &'static str) -> Result<Option<usize>, Fault> {
    let Some(bound) = settings.number(name)? else { return Ok(None) };
    if (1..=100_000).contains(&bound) {
        return Ok(Some(bound));
    }
    Err(DIALECT.wrong_but(format!("{name} is out of range"), "choose from 1 to 100000"))
}

fn certificates(
    tls: bool,
    [ca, certificate, key]: &[(&'static str, Option<String>); 3],
) -> Result<Option<Certificates>, Fault> {
    let [ca, certificate, key] =
        [ca, certificate, key].map(|(name, path)| (*name, path.as_deref()));
    if !tls {
        let Some((name, _)) = [ca, certificate, key].into_iter().find(|(_, path)| path.is_some())
        else {
            return Ok(None);
        };
        let message = format!("{name} is for TLS, which this URL does not ask for");
        return Err(DIALECT.wrong_but(message, "write tls=yes, or leave it out"));
    }
    if ca.1.is_none() {
        let help = "name the authorities to trust, such as ca=/etc/ssl/certs/ca-certificates.crt";
        return Err(DIALECT.wrong_but("tls=yes needs ca=", help));
    }
    Certificates::read(ca, certificate, key).map(Some)
}

/// `scheme:id:rights`, as `zkCli` writes it; an id may have colons.
fn acl(text: &str) -> Result<Acl, Fault> {
    let parts = text
        .split_once(':')
        .and_then(|(scheme, rest)| rest.rsplit_once(':').map(|(id, rights)| (scheme, id, rights)));
    let Some((scheme, id, rights)) =
        parts.filter(|(scheme, _, rights)| !scheme.is_empty() && !rights.is_empty())
    else {
        let message = "acl has an unknown value";
        return Err(
            DIALECT.wrong_but(message, "acl is world, creator, or a list of scheme:id:cdrwa")
        );
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
                _ => return Err(DIALECT.wrong("the rights in acl are letters of cdrwa")),
            };
    }
    Ok(Acl::new(permission, AuthId::new(scheme, id)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::FaultKind;

    use super::*;
    use crate::without_password;

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
        assert_eq!((options.tokens, options.layout), (TokenForm::Shifted, Layout::Curator));
        let kazoo =
            ZookeeperOptions::from_url("zookeeper://a/b?tokens=czxid&layout=kazoo").unwrap();
        assert_eq!((kazoo.tokens, kazoo.layout), (TokenForm::Czxid, Layout::Kazoo));
        let everybodys = ZookeeperOptions::from_url("zookeeper://a?tokens=czxid").unwrap_err();
        assert!(everybodys.to_string().contains("the default one"), "{everybodys:#}");
        assert!(options.has_readers() && !kazoo.has_readers());
        let kazoo = ZookeeperOptions::from_url("zookeeper://a?layout=kazoo&readers=yes").unwrap();
        assert!(kazoo.has_readers());
        assert!(matches!(options.access, AclPolicy::Creator));
        assert_eq!(options.password, Some(Password::from("pa@ss")));
        assert_eq!(options.location(), "zookeeper://a:2181,b:7,[::1]:8/x/y");
        let listed = ZookeeperOptions::from_url("zookeeper://a%2Cb").unwrap();
        assert_eq!(listed.location(), "zookeeper://a:2181,b:2181/tenure");
    }

    #[test]
    fn rights_are_read_as_zkcli_writes_them() {
        let url = "zookeeper://a?acl=world:anyone:r,digest:me:ab%2Fc%3D:cdrwa";
        let AclPolicy::Given(given) = ZookeeperOptions::from_url(url).unwrap().access else {
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
            ("zookeeper://a?sesion=9s".to_owned(), "did you mean \"session\""),
            ("zookeeper://a?session=9s&session=9s".to_owned(), "session is given twice"),
            ("zookeeper://me@a".to_owned(), "only one"),
            (format!("zookeeper://:{SENTINEL}@a"), "only one"),
            (format!("zookeeper://me:a#{SENTINEL}@host"), "%23"),
            (format!("zookeeper://me:a?{SENTINEL}@host"), "%3F"),
            ("zookeeper://a/locks#1".to_owned(), "%23"),
            (
                "zookeeper://a?session=1".to_owned(),
                "session has no unit; write a number and its unit: 500ms",
            ),
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
            ("zookeeper://a?tokens=bare".to_owned(), "tokens"),
            ("zookeeper://a?layout=plain".to_owned(), "layout"),
            ("zookeeper://a?layout=kazoo&mutex=semaphore".to_owned(), "leave one of them out"),
            ("zookeeper://a?readers=yes".to_owned(), "write layout=kazoo too"),
            (format!("zookeeper://me:{SENTINEL}@host:port"), "port"),
            (format!("zookeeper://me:{SENTINEL}@host?what=ever"), "unknown setting \"what\""),
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
        assert!(
            fault.message().starts_with("cannot read the file /nope that ca names"),
            "{fault:#}"
        );
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
