//! The configuration of a program and of the command `tenure`: one file and a few variables, with
//! one meaning for both.
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
//! What code says goes first, then the variables, then the file, then what is built in. Every key
//! stands in [docs/configuration.md](https://github.com/tenure-rs/tenure/blob/main/docs/configuration.md).

mod error;
mod file;
mod pattern;
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
use pattern::NamePattern;
use table::ConfigSource;
use tenure_core::{Defaults, Fault, LockName, store::Diagnostic};
use tenure_url::nearest;
pub use variables::VARIABLES;
use variables::VariableLookup;

use crate::urls::spelling::{EMPTY, NO_URL, absolute, is_name, is_path, write_one};
#[doc(hidden)]
pub use crate::urls::url::without_passwords;

/// A configuration without mistakes.
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
    /// The URL, and where it stands.
    store: Result<(String, Option<Origin>), ConfigError>,
    /// As they stand in the file: what they name need not be set for a store that is not used.
    stores: BTreeMap<String, (String, Origin)>,
    /// What the variables say, which is for every lock.
    forced: Defaults,
    /// What the file says, for every lock and by name: what is closer to the name comes later.
    defaults: Defaults,
    locks: Vec<(NamePattern, Defaults)>,
    run: Run,
    chosen_by: Option<Origin>,
    /// The file that it was loaded from, and who may do what with that.
    file: Option<PathBuf>,
    access: places::FileAccess,
    /// Whether a password stands in the file itself.
    has_password: bool,
    /// What the program knows of its holds.
    expected: Option<Defaults>,
}

impl Config {
    /// Reads the variables, and the first of these files that is there: the one that
    /// `TENURE_CONFIG` names, `$XDG_CONFIG_HOME/tenure/config.toml` (`~/.config/…`),
    /// `/etc/tenure/config.toml`. None at all is the same as an empty one.
    ///
    /// # Errors
    /// [`ConfigError`] with the file, the line and the help. A file that is there and cannot be
    /// read is an error too: two callers that use different stores do not exclude each other.
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

    /// The file that it was loaded from, and the user to whom that belongs, if that is neither root nor the user of this
    /// process: whoever it is chooses where locks are kept.
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

    /// What `tenure doctor` says of the file.
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

    /// Reads `file`, a path with its text, and what `variables` gives for the names of variables.
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
        let ParsedConfig { store, stores, defaults, mut locks, run } = file.unwrap_or_default();
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

    /// Uses another store: a URL, or the name of one of the table `[stores]`. For programs that let
    /// their users choose; `by` is what these choose it by, for errors.
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

    /// What chose the store, for people: the variable, the file with the line, or what
    /// [`Config::use_store`] was told; `None` if nothing did.
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

    /// The URL of the store to use, which may hold a password: `file:`, the embedded store in its default place, where
    /// nothing names another one.
    ///
    /// # Errors
    /// [`ConfigError`] if no store has the name that was chosen, or a variable in its URL is not set.
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

    /// The names under `[stores]`, for whoever offers them to a user.
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

    /// Why its store cannot be opened, where its scheme is not one of those that are `known`; nothing if
    /// it was not chosen here.
    pub(crate) fn unknown_store(&self, scheme: &str, known: &str) -> Option<ConfigError> {
        let (_, origin) = self.store.as_ref().ok()?;
        let what = format!("{scheme:?} is not a kind of store");
        Some(
            origin
                .as_ref()?
                .error(SettingError::new(what, crate::urls::spelling::use_one_of(scheme, known))),
        )
    }

    /// Why its store cannot be opened, where its URL is not written as it should be; nothing if it was
    /// not chosen here.
    pub(crate) fn misspelt_store(&self, fault: &Fault) -> Option<ConfigError> {
        let (_, origin) = self.store.as_ref().ok()?;
        Some(origin.as_ref()?.error(SettingError::new(fault.message_and_cause(), fault.help())))
    }

    /// What the lock called `name` uses where code says nothing: what the variables say, then the
    /// patterns that match it, those that fix more of its characters first, then the whole file.
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

    /// The same for a program that knows its holds before it opens the store: they last for `ttl`, and leave
    /// `grace` of it unused, whatever stands in the file. A store where all holds of a process share a session, as on
    /// ZooKeeper, is opened with a session of that length unless its URL says another.
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
    pub(crate) fn holds(&self) -> Defaults {
        if let Some(expected) = &self.expected {
            return expected.clone();
        }
        // A variable is for every lock, so nothing in the file counts beside it.
        let said = || self.locks.iter().map(|(_, of)| of).chain([&self.defaults]);
        let mut holds = Defaults::default();
        holds.ttl = self.forced.ttl.or_else(|| said().filter_map(|of| of.ttl).min());
        holds.grace = self.forced.grace.or_else(|| said().filter_map(|of| of.grace).max());
        holds
    }

    /// What only the command `tenure run` uses.
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

    /// What `chosen`, which stands at `origin`, means: the name of a store, or a URL.
    fn find(
        &self,
        chosen: String,
        origin: Origin,
        variables: VariableLookup<'_>,
    ) -> Result<(String, Option<Origin>), ConfigError> {
        // Made from a variable that is not set, it would mean a lock on this machine alone.
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

/// The embedded store in its default place.
const HERE: &str = "file:";

/// A variable of this process that is set to something, or one that names a store or the configuration: these are refused
/// where they are empty. Bytes that are no text make a value that
/// is refused where it is used, rather than one that is overlooked.
fn environment_variable(name: &str) -> Option<String> {
    let value = env::var_os(name)?.to_string_lossy().into_owned();
    let counts = [variables::STORE, variables::CONFIG].contains(&name);
    Some(value).filter(|value| !value.is_empty() || counts)
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { forced, defaults, locks, run, .. } = self;
        // URLs may hold passwords.
        f.debug_struct("Config")
            .field("forced", forced)
            .field("defaults", defaults)
            .field("locks", locks)
            .field("run", run)
            .finish_non_exhaustive()
    }
}
