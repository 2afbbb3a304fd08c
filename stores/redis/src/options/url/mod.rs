//! Options from a URL.

mod scheme;
mod spellings;
#[cfg(test)]
mod tests;

use tenure_core::Fault;
use tenure_url::{Certificates, Password, Settings, Url};

use self::scheme::{DIALECT, Scheme};
use crate::options::{
    Address, Deployment, HostPort, Layout, RedisOptions, Sentinels, login::Login,
};

const DEFAULT_PORT: u16 = 6379;

impl RedisOptions {
    /// Returns the options in a URL.
    ///
    /// | URL | server |
    /// |---|---|
    /// | `redis://[user:password@]host[:port][/db]` | over TCP |
    /// | `rediss://…` | the same over TLS |
    /// | `redis-sentinel://[user:password@]host[:port],host[:port],…[/db]?service=…` | the primary that these sentinels name |
    /// | `rediss-sentinel://…` | the same over TLS, also to the sentinels unless `sentinel_tls=no` |
    /// | `redis-cluster://[user:password@]host[:port],host[:port],…` | the cluster of which these are nodes |
    /// | `rediss-cluster://…` | the same over TLS |
    /// | `unix:/path/to/socket?db=0&user=…&password=…` | over a unix socket |
    ///
    /// `valkey` means `redis`, and `valkeys` means `rediss`, also before `-sentinel` and `-cluster`.
    ///
    /// | setting | meaning |
    /// |---|---|
    /// | `prefix=` | [`RedisOptions::prefix`] |
    /// | `connect_timeout=`, `response_timeout=` | [`RedisOptions::connect_timeout`] and [`RedisOptions::response_timeout`], as `500ms`, `2s` or `1m30s` |
    /// | `replicas=`, `replica_timeout=` | [`RedisOptions::replicas`] and [`RedisOptions::replica_timeout`]; also `replicas=all` behind sentinels and in a cluster |
    /// | `scripts=no` | [`RedisOptions::scripts`]; not in a cluster |
    /// | `layout=plain`, `layout=redisson` | [`RedisOptions::layout`]: the keys of other libraries |
    /// | `key_prefix=` | with one of these: [`RedisOptions::key_prefix`] |
    /// | `unlock_channel=` | with `layout=plain`: [`RedisOptions::unlock_channel`] |
    /// | `lock_watchdog_timeout=` | with `layout=redisson`: [`RedisOptions::lock_watchdog_timeout`] |
    /// | `tokens=fenced` | with `layout=redisson`: [`RedisOptions::fenced_lock_tokens`] |
    /// | `ca=` | over TLS: a PEM file with the authorities to trust instead of the system's |
    /// | `cert=`, `key=` | over TLS: PEM files with a client certificate and its key, for a server that requires one |
    /// | `password_file=`, `sentinel_password_file=` | a file with the password for the servers or the sentinels, which is read at each login |
    /// | `sentinel_user=`, `sentinel_password=` | the login to the sentinels; the user and the password before the hosts are for the servers |
    /// | `sentinel_tls=yes`, `sentinel_ca=`, `sentinel_cert=`, `sentinel_key=` | TLS to the sentinels; without their own files, they use the servers' |
    ///
    /// Percent-encode special characters in a user, a password or a setting. PEM files are read at once. Other
    /// spellings with the same meaning, from redis-rs, redis-py, Lettuce and go-redis, work too.
    ///
    /// # Errors
    /// A fault that says what is wrong and what to write. It never shows a password.
    pub fn from_url(url: &str) -> Result<Self, Fault> {
        let mut url = DIALECT.read(url)?;
        let scheme = Scheme::of(&url.scheme);
        spellings::unify(&mut url, scheme)?;
        let files = PemFiles::of(&mut url.settings, ["ca", "cert", "key"]);
        let mut files_of_sentinels = None;
        let mut options = match scheme {
            Scheme::Server { tls } => {
                let (host, port) = server(&url)?;
                Self::new(Address::of(tls, &host, port))
            }
            Scheme::Sentinel { tls } | Scheme::SentinelOfPath { tls } => {
                files_of_sentinels = Some(PemFiles::of_sentinels(&mut url.settings));
                Self::found_by(sentinels(&mut url, scheme)?).tls(tls)
            }
            Scheme::Cluster { tls } => Self::in_cluster(url.servers(DEFAULT_PORT)?)?.tls(tls),
            Scheme::Socket if url.hosts.is_empty() && !url.path.is_empty() => {
                Self::new(Address::Unix(url.path.as_str().into()))
            }
            Scheme::Socket => return Err(DIALECT.wrong("a unix socket needs an absolute path")),
        };
        url.no_fragment()?;
        let password_files =
            ["password_file", "sentinel_password_file"].map(|name| url.settings.take(name));
        options.login = login(&mut url, password_files[0].is_some())?;
        options.database = database(&mut url, scheme)?;
        let settings = &mut url.settings;
        if let Some(prefix) = settings.take("prefix") {
            options = options.prefix(&prefix)?;
        }
        if let Some(time) = settings.duration("connect_timeout")? {
            options = options.connect_timeout(time)?;
        }
        if let Some(time) = settings.duration("response_timeout")? {
            options = options.response_timeout(time)?;
        }
        if let Some(time) = settings.duration("replica_timeout")? {
            options = options.replica_timeout(time)?;
        }
        options = match settings.take("replicas").as_deref() {
            None => options,
            Some("all") => options.all_replicas()?,
            Some(count) => options.replicas(count.parse().map_err(|_| {
                let message = "replicas is neither a number nor all";
                DIALECT.wrong_but(message, "write replicas=2, or replicas=all")
            })?),
        };
        if let Some(scripts) = settings.yes_no("scripts")? {
            options = options.scripts(scripts);
        }
        options = layout(options, settings)?;
        url.settings.finish()?;
        // Files are read once the rest is known to be right.
        let [file, file_of_sentinels] = password_files;
        if let Some(path) = file {
            options = options.password_file(path)?;
        }
        if let Deployment::Sentinels(sentinels) = &mut options.deployment {
            sentinels.login.password = match (file_of_sentinels, sentinels.login.password.take()) {
                (Some(_), Some(_)) => return Err(twice("sentinel_password")),
                (Some(path), None) => Some(Password::file(path)?),
                (None, password) => password,
            };
        }
        options.certificates = files.read()?;
        if let Deployment::Sentinels(sentinels) = &mut options.deployment {
            let own = files_of_sentinels.filter(PemFiles::are_given);
            sentinels.certificates = match own {
                Some(files) => files.read()?,
                None if sentinels.tls => options.certificates.clone(),
                None => Certificates::default(),
            };
        }
        options.check()?;
        Ok(options)
    }
}

/// The layout, and what belongs to it.
fn layout(mut options: RedisOptions, settings: &mut Settings) -> Result<RedisOptions, Fault> {
    if let Some(name) = settings.take("layout") {
        let layout = Layout::from_name(&name).ok_or_else(|| {
            let message = "it names a layout that tenure does not know";
            DIALECT.wrong_but(message, "write layout=redisson or layout=plain, or leave it out")
        })?;
        options = options.layout(layout);
    }
    if let Some(length) = settings.duration("lock_watchdog_timeout")? {
        options = options.lock_watchdog_timeout(length)?;
    }
    match settings.take("tokens").as_deref() {
        None => {}
        Some("fenced") => options = options.fenced_lock_tokens(true),
        Some(_) => {
            let message = "tokens is not fenced";
            return Err(DIALECT.wrong_but(message, "write tokens=fenced, or leave it out"));
        }
    }
    if let Some(text) = settings.take("key_prefix") {
        options = options.key_prefix(&text)?;
    }
    if let Some(text) = settings.take("unlock_channel") {
        options = options.unlock_channel(&text)?;
    }
    Ok(options)
}

/// Settings that name PEM files, and the paths: authorities, a certificate and its key.
struct PemFiles([(&'static str, Option<String>); 3]);

impl PemFiles {
    fn of(settings: &mut Settings, names: [&'static str; 3]) -> Self {
        Self(names.map(|name| (name, settings.take(name))))
    }

    fn of_sentinels(settings: &mut Settings) -> Self {
        Self::of(settings, ["sentinel_ca", "sentinel_cert", "sentinel_key"])
    }

    fn are_given(&self) -> bool {
        self.0.iter().any(|(_, path)| path.is_some())
    }

    fn read(&self) -> Result<Certificates, Fault> {
        let [roots, certificate, key] =
            self.0.each_ref().map(|(name, path)| (*name, path.as_deref()));
        Certificates::read(roots, certificate, key)
    }
}

/// The one server. An empty host may come from an empty variable. It would mean a different machine for each caller.
fn server(url: &Url) -> Result<HostPort, Fault> {
    match url.hosts.as_slice() {
        [] => {
            Err(DIALECT.wrong_but("it names no host", "write redis://host, or redis://localhost"))
        }
        [_] => Ok(url.servers(DEFAULT_PORT)?.swap_remove(0)),
        _ => {
            let help = "write redis-cluster://a,b for nodes of a cluster, redis-sentinel://a,b?service=mymaster for sentinels, \
                        or quorum:redis://a,redis://b,redis://c for independent servers";
            Err(DIALECT.wrong_but("it names several hosts", help))
        }
    }
}

/// The login to the servers.
fn login(url: &mut Url, is_in_file: bool) -> Result<Login, Fault> {
    let (user, password) = (url.settings.take("user"), url.settings.secret("password"));
    if is_in_file && (password.is_some() || url.password.is_some()) {
        return Err(twice("password"));
    }
    if (user.is_some() && url.user.is_some()) || (password.is_some() && url.password.is_some()) {
        let message = "user or password stand twice, before the host and as settings";
        return Err(DIALECT.wrong_but(message, "write them once"));
    }
    let password = password.or(url.password.take()).map(Password::from);
    let login = Login { user: user.or(url.user.take()), password };
    // A lone password is read as a user by mistake, so it is not shown.
    if login.user.is_some() && login.password.is_none() && !is_in_file {
        return Err(DIALECT.wrong_but(
            "a user stands there without a password",
            "write :PASSWORD@ for a password alone, USER:PASSWORD@ for both, and USER:@ for a user without one",
        ));
    }
    Ok(login)
}

/// The fault for a password both in the URL and in a file.
fn twice(setting: &str) -> Fault {
    let message = format!("it has a password, and {setting}_file names a file with one");
    DIALECT.wrong_but(message, "leave one of them out")
}

/// The parts after the hosts: the service, in some spellings of sentinels, and the database.
fn parts_of_path(url: &Url, scheme: Scheme) -> (Option<&str>, &str) {
    let name = url.name().trim_end_matches('/');
    match scheme {
        Scheme::Socket => (None, ""),
        Scheme::SentinelOfPath { .. } => {
            let (service, database) = name.split_once('/').unwrap_or((name, ""));
            (Some(service).filter(|service| !service.is_empty()), database)
        }
        _ => (None, name),
    }
}

fn database(url: &mut Url, scheme: Scheme) -> Result<u32, Fault> {
    let given: Option<u32> = url.settings.number("db")?;
    let named = match parts_of_path(url, scheme) {
        (_, "") => None,
        (_, text) => Some(text.parse().map_err(|_| DIALECT.wrong("the database is not a number"))?),
    };
    match (named, given) {
        (Some(named), Some(given)) if named != given => {
            Err(DIALECT.wrong_but("it names two databases", "write one, behind the host or as db="))
        }
        _ => Ok(named.or(given).unwrap_or_default()),
    }
}

fn sentinels(url: &mut Url, scheme: Scheme) -> Result<Sentinels, Fault> {
    let of_path = parts_of_path(url, scheme).0.map(str::to_owned);
    // As Lettuce has it.
    let of_fragment = url.fragment.take_if(|_| matches!(scheme, Scheme::Sentinel { .. }));
    let mut services = [url.settings.take("service"), of_path, of_fragment].into_iter().flatten();
    let Some(service) = services.next() else {
        let message = "it does not say by which name the sentinels know the servers";
        return Err(
            DIALECT.wrong_but(message, "write ?service=mymaster; SENTINEL MASTERS lists the names")
        );
    };
    if services.next().is_some() {
        return Err(DIALECT.wrong_but("the service stands twice", "write ?service=mymaster once"));
    }
    let mut sentinels = Sentinels::new(url.servers(Sentinels::DEFAULT_PORT)?, &service)?;
    sentinels.tls = url.settings.yes_no("sentinel_tls")?.unwrap_or(scheme.is_over_tls());
    sentinels.login.user = url.settings.take("sentinel_user");
    sentinels.login.password = url.settings.secret("sentinel_password").map(Password::from);
    Ok(sentinels)
}
