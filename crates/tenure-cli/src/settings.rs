//! What was asked for, from the command line, the environment and the configuration file, made
//! into something that cannot be wrong.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;

use crate::{args, exit, exit::Failure};

const DEFAULT_TTL: Duration = Duration::from_secs(30);
const DEFAULT_GRACE: Duration = Duration::from_secs(5);

/// What can stand in the configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct File {
    store: Option<String>,
    ttl: Option<Length>,
    wait: Option<Length>,
    grace: Option<Length>,
    busy_exit_code: Option<u8>,
    label: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct Length(Duration);

impl TryFrom<String> for Length {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        humantime::parse_duration(&text)
            .map(Self)
            .map_err(|error| format!("{error}; write it like \"500ms\", \"30s\" or \"1m 30s\""))
    }
}

impl File {
    /// The first configuration file there is: the one TENURE_CONFIG names, the user's, the
    /// system's. None at all is the same as an empty one.
    pub(crate) fn load() -> Result<Self, Failure> {
        if let Some(path) = given("TENURE_CONFIG") {
            return match fs::read_to_string(&path) {
                Ok(text) => Self::parse(Path::new(&path), &text),
                Err(error) => Err(Failure::Usage(format!(
                    "cannot read the configuration file {path} that TENURE_CONFIG names: {error}; \
                     correct the variable or unset it"
                ))),
            };
        }
        for path in places() {
            match fs::read_to_string(&path) {
                Ok(text) => return Self::parse(&path, &text),
                Err(error) if is_absent(&error) => {}
                Err(error) => {
                    return Err(Failure::Usage(format!(
                        "cannot read the configuration file {}: {error}; make it readable or name \
                         another with TENURE_CONFIG",
                        path.display()
                    )));
                }
            }
        }
        Ok(Self::default())
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| {
                text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1
            });
            Failure::Usage(format!(
                "{}, line {line}: {}; it may hold store, ttl, wait, grace, busy-exit-code and \
                 label",
                path.display(),
                error.message()
            ))
        })
    }

    /// The store's URL; the empty one means the embedded store in its default place.
    pub(crate) fn store(&self, common: &args::Common) -> String {
        let asked = common.store.as_ref().filter(|url| !url.is_empty());
        asked.or(self.store.as_ref()).cloned().unwrap_or_default()
    }
}

/// A variable that is set to something.
fn given(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn places() -> Vec<PathBuf> {
    let home = || given("HOME").map(|home| Path::new(&home).join(".config"));
    let user = given("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home);
    let mut places: Vec<_> = user.into_iter().map(|dir| dir.join("tenure/config.toml")).collect();
    places.push("/etc/tenure/config.toml".into());
    places
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// How long to wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Not at all.
    None,
    /// This long.
    For(Duration),
    /// For ever.
    Endless,
}

/// What kind of lock the command runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Alone.
    Mutex,
    /// Together with other readers.
    Reader,
    /// With so many of a semaphore's permits.
    Permits { take: u32, of: u32 },
}

impl Kind {
    fn new(run: &args::Run) -> Result<Self, Failure> {
        let take = run.take.unwrap_or(1);
        match run.permits {
            Some(of) if take > of => Err(Failure::Usage(format!(
                "{take} of {of} permits can never be had; take at most {of}"
            ))),
            Some(of) => Ok(Self::Permits { take, of }),
            None if run.shared => Ok(Self::Reader),
            None => Ok(Self::Mutex),
        }
    }
}

/// Everything `run` needs to know besides the store.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    pub(crate) ttl: Duration,
    pub(crate) patience: Patience,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) hold_at_least: Option<Duration>,
    pub(crate) kill_when_lost: bool,
    pub(crate) grace: Duration,
    pub(crate) margin: Duration,
    pub(crate) busy_exit_code: u8,
    pub(crate) fair: bool,
    pub(crate) label: Option<String>,
}

impl Plan {
    pub(crate) fn new(run: &args::Run, file: &File) -> Result<Self, Failure> {
        let ttl = run.ttl.or(file.ttl.map(|ttl| ttl.0)).unwrap_or(DEFAULT_TTL);
        // What is certain of the hold: a lease, or less if it is ended earlier.
        let certain = run.max_hold.map_or(ttl, |longest| longest.min(ttl));
        let grace = match run.grace.or(file.grace.map(|grace| grace.0)) {
            Some(grace) if grace > certain / 2 => {
                return Err(Failure::Usage(format!(
                    "a grace of {} does not fit a hold of {}: between two renewals half of it may \
                     be used up; choose a grace of at most {} or a longer ttl",
                    humantime::format_duration(grace),
                    humantime::format_duration(certain),
                    humantime::format_duration(certain / 2),
                )));
            }
            Some(grace) => grace,
            None => DEFAULT_GRACE.min(certain / 4),
        };
        let wait = run.wait.or(file.wait.map(|wait| wait.0).filter(|_| !run.no_wait));
        Ok(Self {
            kind: Kind::new(run)?,
            ttl,
            patience: match wait {
                _ if run.no_wait => Patience::None,
                Some(Duration::ZERO) => Patience::None,
                Some(wait) => Patience::For(wait),
                None => Patience::Endless,
            },
            max_hold: run.max_hold,
            hold_at_least: run.hold_at_least,
            kill_when_lost: run.on_lost == args::OnLost::Kill,
            grace,
            margin: kill_margin(certain),
            busy_exit_code: run.busy_exit_code.or(file.busy_exit_code).unwrap_or(exit::BUSY),
            fair: run.fair,
            label: run.label.clone().or_else(|| file.label.clone()),
        })
    }
}

/// How long before the deadline SIGKILL is sent, so that the group is gone by then.
fn kill_margin(certain: Duration) -> Duration {
    (certain / 10).min(Duration::from_millis(250))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn plan(args: &str, file: &str) -> Result<Plan, Failure> {
        let file = File::parse(Path::new("config.toml"), file)?;
        let words = format!("tenure run name {args} -- true");
        match Cli::try_parse_from(words.split(' ').filter(|word| !word.is_empty())).unwrap().command
        {
            Command::Run(run) => Plan::new(&run, &file),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_flag_goes_before_the_file_and_the_file_before_the_default() {
        assert_eq!(plan("", "").unwrap().ttl, DEFAULT_TTL);
        assert_eq!(plan("", "ttl = '8s'").unwrap().ttl, Duration::from_secs(8));
        assert_eq!(plan("--ttl 9s", "ttl = '8s'").unwrap().ttl, Duration::from_secs(9));
        assert_eq!(plan("--no-wait", "wait = '8s'").unwrap().patience, Patience::None);
        assert_eq!(plan("--wait 0s", "").unwrap().patience, Patience::None);
        assert_eq!(plan("", "").unwrap().patience, Patience::Endless);
    }

    #[test]
    fn the_default_grace_fits_a_short_ttl_and_a_short_hold() {
        assert_eq!(plan("", "").unwrap().grace, Duration::from_secs(5));
        assert_eq!(plan("--ttl 2s", "").unwrap().grace, Duration::from_millis(500));
        assert_eq!(plan("--max-hold 1s", "").unwrap().grace, Duration::from_millis(250));
    }

    #[test]
    fn a_grace_above_half_the_ttl_is_refused() {
        assert!(plan("--ttl 2s --grace 1s", "").is_ok());
        let refused = plan("--ttl 2s --grace 1001ms", "").unwrap_err();
        assert_eq!(refused.code(), exit::USAGE);
        assert!(refused.to_string().contains("at most 1s"), "{refused}");
    }

    #[test]
    fn a_command_runs_alone_or_shares_or_takes_permits() {
        assert_eq!(plan("", "").unwrap().kind, Kind::Mutex);
        assert_eq!(plan("--shared", "").unwrap().kind, Kind::Reader);
        assert_eq!(plan("--permits 3", "").unwrap().kind, Kind::Permits { take: 1, of: 3 });
        let two = plan("--permits 3 --take 2", "").unwrap();
        assert_eq!(two.kind, Kind::Permits { take: 2, of: 3 });
        let refused = plan("--permits 3 --take 4", "").unwrap_err();
        assert_eq!(refused.code(), exit::USAGE);
        assert_eq!(refused.to_string(), "4 of 3 permits can never be had; take at most 3");
    }

    #[test]
    fn a_mistake_in_the_file_is_named_with_its_line() {
        let refused = plan("", "# mine\n\nttl = 'soon'\n").unwrap_err().to_string();
        assert!(refused.starts_with("config.toml, line 3: "), "{refused}");
        let refused = plan("", "timeout = '1s'").unwrap_err().to_string();
        assert!(refused.contains("line 1: unknown field `timeout`"), "{refused}");
    }
}
