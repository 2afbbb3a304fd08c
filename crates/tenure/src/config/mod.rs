//! The configuration of a program and of the command `tenure`: one file and a few environment variables, which mean the
//! same for both.
//!
//! ```toml
//! store = "redis://:${REDIS_PASSWORD}@locks.internal"
//! ttl = "30s"
//!
//! [locks."order:*"]
//! ttl = "10s"
//! wait = "5s"
//! ```
//!
//! Settings in code take precedence, then the variables, then the file, then the defaults.
//! [docs/configuration.md](https://github.com/tenure-rs/tenure/blob/main/docs/configuration.md) lists every key.

mod error;
mod families;
mod file;
mod places;
mod secrets;
mod table;
mod values;
mod variables;

use std::{
    collections::BTreeMap,
    env, fmt,
    path::{Path, PathBuf},
    time::Duration,
};

pub use error::ConfigError;
use error::{Origin, SettingError};
use file::ParsedConfig;
pub use file::Run;
use table::ConfigSource;
use tenure_core::{
    Defaults, Fault, LockName, NamePattern, history::HistoryFamilies, observe::MetricFamilies,
    store::Diagnostic,
};
use tenure_url::nearest;
pub use variables::VARIABLES;
use variables::VariableLookup;

use crate::urls::spelling::{EMPTY, NO_URL, absolute, is_name, is_path, write_one};
#[doc(hidden)]
pub use crate::urls::url::without_passwords;

/// A valid configuration.
///
/// ```
/// use std::{path::Path, time::Duration};
/// use tenure::{LockName, config::Config};
///
/// let text = "ttl = '30s'\n[locks.'order:*']\nttl = '10s'\n";
/// let config = Config::parse(Some((Path::new("tenure.toml"), text)), |_variable| None)?;
/// let of_lock = config.defaults_of(&LockName::new("order:7")?);
/// assert_eq!(of_lock.ttl, Some(Duration::from_secs(10)));
///
/// let mistake = Config::parse(Some((Path::new("tenure.toml"), "ttl = 30\n")), |_variable| None);
/// assert_eq!(
///     format!("{:#}", mistake.unwrap_err()),
///     "tenure.toml, line 1: ttl: the length of time 30 has no unit; \
///      write \"30s\" for seconds or \"30ms\" for milliseconds",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Config {
    /// The URL, and where it was set.
    store: Result<(String, Option<Origin>), ConfigError>,
    /// As written in the file: the variables that they name need not be set for a store that is not used.
    stores: BTreeMap<String, (String, Origin)>,
    /// The variables' settings, for every lock.
    forced: Defaults,
    /// The file's settings, for every lock and by name. Those closer to the name come later.
    defaults: Defaults,
    locks: Vec<(NamePattern, Defaults)>,
    run: Run,
    families: MetricFamilies,
    history: HistoryFamilies,
    service: Option<String>,
    user: Option<String>,
    chosen_by: Option<Origin>,
    /// The file that it was loaded from, and which users may read and change it.
    file: Option<PathBuf>,
    access: places::FileAccess,
    /// Whether the file itself contains a password.
    has_password: bool,
    /// The settings of its holds that the program knows.
    expected: Option<Defaults>,
}

impl Config {
    /// Reads the environment variables and a configuration file.
    ///
    /// The file is the first of these that exists: the one that `TENURE_CONFIG` names,
    /// `$XDG_CONFIG_HOME/tenure/config.toml` (`~/.config/…`), `/etc/tenure/config.toml`. A missing file is the same as
    /// an empty one.
    ///
    /// # Errors
    /// [`ConfigError`] with the file, the line and the help. A file that exists but cannot be read is an error too,
    /// because two callers that use different stores do not exclude each other.
    ///
    /// ```no_run
    /// use tenure::config::Config;
    ///
    /// let config = Config::load()?;
    /// println!("locks are kept in {:?}", config.store()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load() -> Result<Self, ConfigError> {
        let place = places::find(&environment_variable)?;
        let file = place.as_ref().map(|place| (place.path.as_path(), place.text.as_str()));
        let mut config = Self::parse(file, environment_variable)?;
        if let Some(place) = place {
            (config.access, config.file) = (place.access, Some(place.path));
        }
        if let Some((file, owner)) = config.stranger() {
            tracing::warn!(
                file = %file.display(), owner,
                "the configuration belongs to another user, who can choose where locks are kept"
            );
        }
        Ok(config)
    }

    /// Returns the file that this was loaded from, and its owner, if that is neither root nor the user of this process.
    /// The owner of the file chooses where locks are kept.
    ///
    /// ```no_run
    /// use tenure::config::Config;
    ///
    /// if let Some((file, owner)) = Config::load()?.stranger() {
    ///     eprintln!("{} is the file of user {owner}", file.display());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stranger(&self) -> Option<(&Path, u32)> {
        self.file.as_deref().zip(self.access.stranger)
    }

    /// What `tenure doctor` reports about the file.
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        let Some(file) = self.file.as_ref().map(|file| file.display()) else { return Vec::new() };
        let mut diagnostics = Vec::new();
        if let Some(owner) = self.access.stranger {
            let found =
                format!("{file} belongs to user {owner}, who can choose where locks are kept");
            let help = "chown it to root, or to the user that tenure runs as";
            diagnostics.push(Diagnostic::warning("configuration", found, "S1", help));
        }
        if self.access.is_read_by_all && self.has_password {
            let found = format!("every user can read {file}, which contains a password");
            let help = "chmod o-r, or put the password into a variable: ${NAME}";
            diagnostics.push(Diagnostic::warning("configuration", found, "S4", help));
        }
        diagnostics
    }

    /// Parses `file`, a path with its text, and the environment variables that `variables` returns by name.
    ///
    /// # Errors
    /// As for [`Config::load`].
    ///
    /// ```
    /// use std::path::Path;
    /// use tenure::config::Config;
    ///
    /// let file = Some((Path::new("tenure.toml"), "store = 'memory:'"));
    /// let config = Config::parse(file, |_| None)?;
    /// assert_eq!(config.store()?, "memory:");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(
        file: Option<(&Path, &str)>,
        variables: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let file = file
            .map(|(file, text)| ParsedConfig::parse(ConfigSource { file, text }))
            .transpose()?;
        let ParsedConfig { store, stores, defaults, mut locks, run, families, history, service } =
            file.unwrap_or_default();
        locks.sort_by_key(|(pattern, _)| pattern.fixed());
        let urls = stores.values().chain(&store).map(|(url, _)| url.as_str());
        let has_password = { urls }.any(tenure_url::has_password);
        let mut config = Self {
            store: Ok((HERE.to_owned(), None)),
            stores,
            forced: variables::defaults(&variables)?,
            defaults,
            locks,
            run,
            families,
            history,
            service: variables(variables::SERVICE).or(service),
            user: None,
            chosen_by: None,
            file: None,
            access: places::FileAccess::default(),
            has_password,
            expected: None,
        };
        if let Some(chosen) = variables(variables::STORE) {
            config.chosen_by = Some(Origin::Variable(variables::STORE));
            config.store = config.find(chosen, Origin::Variable(variables::STORE), &variables);
        } else if let Some((chosen, origin)) = store {
            config.chosen_by = Some(origin.clone());
            let chosen = secrets::expand(&chosen, &variables).map_err(|wrong| origin.error(wrong));
            config.store = chosen.and_then(|chosen| config.find(chosen, origin, &variables));
        }
        Ok(config)
    }

    /// Uses another store: a URL, or the name of a store in the table `[stores]`. Use it if your users choose the
    /// store. In errors, `by` says what they chose it with.
    ///
    /// ```
    /// use tenure::config::Config;
    ///
    /// let mut config = Config::parse(None, |_| None)?;
    /// config.use_store("memory:", "--store");
    /// assert_eq!(config.store()?, "memory:");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn use_store(&mut self, chosen: &str, by: impl Into<String>) {
        let by = Origin::Program(by.into());
        self.store = self.find(chosen.to_owned(), by.clone(), &environment_variable);
        self.chosen_by = Some(by);
    }

    /// Returns what chose the store, for people to read: the variable, the file with the line, or the `by` of
    /// [`Config::use_store`]. Returns `None` if nothing did.
    ///
    /// ```
    /// use std::path::Path;
    /// use tenure::config::Config;
    ///
    /// let file = Some((Path::new("tenure.toml"), "store = 'memory:'"));
    /// let config = Config::parse(file, |_| None)?;
    /// assert!(config.store_chosen_by().is_some_and(|by| by.contains("tenure.toml")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn store_chosen_by(&self) -> Option<String> {
        self.chosen_by.as_ref().map(ToString::to_string)
    }

    /// Returns the URL of the store to use, which may contain a password. Default: `file:`, the embedded store in its
    /// default directory.
    ///
    /// # Errors
    /// [`ConfigError`] if no store has the chosen name, or a variable in its URL is not set.
    ///
    /// ```
    /// use tenure::config::Config;
    ///
    /// let config = Config::parse(None, |_| None)?;
    /// assert_eq!(config.store()?, "file:"); // the default directory on this machine
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn store(&self) -> Result<&str, ConfigError> {
        self.store.as_ref().map(|(url, _)| url.as_str()).map_err(Clone::clone)
    }

    /// Returns the names under `[stores]`, to offer them to a user.
    ///
    /// ```
    /// use std::path::Path;
    /// use tenure::config::Config;
    ///
    /// let text = "[stores]\nmain = 'redis://locks.internal'\nhere = 'file:/srv/locks'\n";
    /// let config = Config::parse(Some((Path::new("tenure.toml"), text)), |_variable| None)?;
    /// assert_eq!(config.store_names().collect::<Vec<_>>(), ["here", "main"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn store_names(&self) -> impl Iterator<Item = &str> {
        self.stores.keys().map(String::as_str)
    }

    /// Why the store cannot be opened, if its scheme is not among those `known`. `None` if the store was not chosen
    /// here.
    pub(crate) fn unknown_store(&self, scheme: &str, known: &str) -> Option<ConfigError> {
        let (_, origin) = self.store.as_ref().ok()?;
        let what = format!("{scheme:?} is not a kind of store");
        Some(
            origin
                .as_ref()?
                .error(SettingError::new(what, crate::urls::spelling::use_one_of(scheme, known))),
        )
    }

    /// Why the store cannot be opened, if its URL is malformed. `None` if the store was not chosen here.
    pub(crate) fn misspelt_store(&self, fault: &Fault) -> Option<ConfigError> {
        let (_, origin) = self.store.as_ref().ok()?;
        Some(origin.as_ref()?.error(SettingError::new(fault.message_and_cause(), fault.help())))
    }

    /// Returns the settings that the lock called `name` uses unless code sets others. The variables come first, then
    /// the patterns that match the name, then the whole file. Of the patterns, those that fix more characters of the
    /// name come first.
    ///
    /// ```
    /// use std::{path::Path, time::Duration};
    /// use tenure::{LockName, config::Config};
    ///
    /// let file = Some((Path::new("tenure.toml"), "ttl = '5s'"));
    /// let config = Config::parse(file, |_| None)?;
    /// assert_eq!(config.defaults_of(&LockName::new("job")?).ttl, Some(Duration::from_secs(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn defaults_of(&self, name: &LockName) -> Defaults {
        let closest_first = self.locks.iter().rev();
        let matching = closest_first.filter(|(pattern, _)| pattern.matches(name.as_str()));
        let by_name =
            matching.fold(self.forced.clone(), |above, (_, below)| above.or(below.clone()));
        by_name.or(self.defaults.clone())
    }

    /// Returns this configuration for a program that knows its holds before it opens the store. They last for `ttl`,
    /// and `grace` of that remains unused, whatever the file sets. If all holds of a process share a session, as on
    /// ZooKeeper, tenure opens the store with a session of that length, unless its URL sets another.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::config::Config;
    ///
    /// let config = Config::parse(None, |_| None)?.for_holds(Duration::from_secs(10), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn for_holds(&self, ttl: Duration, grace: Option<Duration>) -> Self {
        let mut config = self.clone();
        config.expected = Some(Defaults::default());
        if let Some(expected) = &mut config.expected {
            (expected.ttl, expected.grace) = (Some(ttl), grace);
        }
        config
    }

    /// The shortest ttl and the longest grace of all holds, as far as they are known before the store is opened.
    pub(crate) fn hold_bounds(&self) -> Defaults {
        if let Some(expected) = &self.expected {
            return expected.clone();
        }
        // A variable applies to every lock, so the file's settings do not matter.
        let said = || self.locks.iter().map(|(_, of)| of).chain([&self.defaults]);
        let mut holds = Defaults::default();
        holds.ttl = self.forced.ttl.or_else(|| said().filter_map(|of| of.ttl).min());
        holds.grace = self.forced.grace.or_else(|| said().filter_map(|of| of.grace).max());
        holds
    }

    /// Returns the settings that only the command `tenure run` uses.
    ///
    /// ```
    /// use tenure::config::Config;
    ///
    /// let config = Config::parse(None, |_| None)?;
    /// println!("{:?}", config.run());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the service that this process belongs to, such as `shop@1.4.2`, if it is set.
    ///
    /// ```
    /// use std::path::Path;
    /// use tenure::config::Config;
    ///
    /// let file = (Path::new("tenure.toml"), "service = 'shop@1.4.2'");
    /// assert_eq!(Config::parse(Some(file), |_| None)?.service(), Some("shop@1.4.2"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn service(&self) -> Option<&str> {
        self.service.as_deref()
    }

    /// Sets the user as whom this process acts, for people who see its holds.
    ///
    /// ```
    /// use tenure::config::Config;
    ///
    /// let mut config = Config::parse(None, |_| None)?;
    /// config.use_user("alice");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn use_user(&mut self, user: impl Into<String>) {
        self.user = Some(user.into());
    }

    /// The user as whom this process acts.
    pub(crate) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Resolves `chosen`, which was set at `origin`: the name of a store, or a URL.
    fn find(
        &self,
        chosen: String,
        origin: Origin,
        variables: VariableLookup<'_>,
    ) -> Result<(String, Option<Origin>), ConfigError> {
        // An empty text may come from a variable that is not set. It would mean a lock on this machine alone.
        if chosen.trim().is_empty() {
            return Err(origin.error(SettingError::new("the store is empty", EMPTY)));
        }
        if chosen.contains(':') {
            return Ok((chosen, Some(origin)));
        }
        if let Some((url, origin)) = self.stores.get(&chosen) {
            let url = secrets::expand(url, variables).map_err(|wrong| origin.error(wrong))?;
            return Ok((url, Some(origin.clone())));
        }
        if is_path(&chosen) {
            let what = format!("{chosen:?} is a path, not a URL");
            return Err(
                origin.error(SettingError::new(what, format!("write file:{}", absolute(&chosen))))
            );
        }
        if !is_name(&chosen) {
            return Err(origin.error(SettingError::new(NO_URL, write_one(&chosen))));
        }
        let names: Vec<_> = self.stores.keys().map(String::as_str).collect();
        let help = match nearest(&chosen, names.iter().copied()) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "write a URL like \"redis://host\", or name it under [stores]".into(),
        };
        let mut what = format!("no store is called {chosen:?}");
        if !names.is_empty() {
            what += &format!(" (there are {})", names.join(", "));
        }
        Err(origin.error(SettingError::new(what, help)))
    }
}

/// The embedded store in its default directory.
const HERE: &str = "file:";

/// Returns a variable of this process that is not empty. A variable that names a store or the configuration is returned
/// empty too, and is then refused. Bytes that are not text become a value that is refused where it is used, so that it
/// is not overlooked.
fn environment_variable(name: &str) -> Option<String> {
    let value = env::var_os(name)?.to_string_lossy().into_owned();
    let counts = [variables::STORE, variables::CONFIG].contains(&name);
    Some(value).filter(|value| !value.is_empty() || counts)
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { forced, defaults, locks, run, families, history, service, .. } = self;
        // URLs may contain passwords.
        f.debug_struct("Config")
            .field("forced", forced)
            .field("defaults", defaults)
            .field("locks", locks)
            .field("run", run)
            .field("families", families)
            .field("history", history)
            .field("service", service)
            .finish_non_exhaustive()
    }
}
