//! What was asked for, from the command line, the environment and the configuration file, made
//! into something that cannot be wrong.

use std::{ffi::OsString, time::Duration};

use tenure::{
    Defaults, LockName,
    config::{Config, VARIABLES},
    inspect::Kind,
    store::LeaseScope,
};
use tenure_url::nearest;

use crate::{
    args,
    exit::{ExitCodes, Failure},
    explanation::Explanation,
    handle,
    label::{self, Caller},
    slots::SlotSettings,
};

const DEFAULT_TTL: Duration = Duration::from_secs(30);
const DEFAULT_GRACE: Duration = Duration::from_secs(5);

/// What the variables and the configuration file say, with the store that a flag chose.
pub(crate) fn load(common: &args::CommonArgs) -> Result<Config, Failure> {
    let mut config = Config::load().map_err(|error| Failure::Usage(error.into()))?;
    if let Some(store) = &common.store {
        config.use_store(store, "--store");
    }
    // It would mean a lock on this machine alone.
    if config.store_chosen_by().is_none()
        && let Some(slip) =
            unknown_variables().into_iter().find(|name| closest_variable(name) == Some(STORE))
    {
        let why = Explanation::new(format!(
            "the variable {slip} is set, but tenure has no such setting, and no store is chosen"
        ));
        let help = format!(
            "write {STORE}, or unset it; --store file: is the embedded store on this machine"
        );
        return Err(Failure::Usage(why.advise(help)));
    }
    Ok(config)
}

/// The variables of the environment that look like tenure's own and are none.
pub(crate) fn unknown_variables() -> Vec<String> {
    // What a command finds is no mistake of whoever runs tenure in it.
    const FOUND: [&str; 4] = ["TENURE_NAME", "TENURE_TOKEN", "TENURE_STORE_KIND", "TENURE_SLOT"];
    let is_known = |name: &str| {
        let number = name.strip_prefix("TENURE_TOKEN_");
        let listed = VARIABLES.contains(&name) || FOUND.contains(&name) || name == handle::VARIABLE;
        listed || number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut unknown: Vec<_> =
        names.filter(|name| name.starts_with("TENURE_") && !is_known(name)).collect();
    unknown.sort();
    unknown
}

/// The variable that names a store.
const STORE: &str = "TENURE_STORE";

/// The variable of tenure's that was meant by this one, most likely.
pub(crate) fn closest_variable(unknown: &str) -> Option<&'static str> {
    // As other tools have it.
    if ["_URL", "_URI", "_DSN", "_STORES"].iter().any(|end| unknown.ends_with(end)) {
        return Some(STORE);
    }
    let behind = |name: &'static str| name.strip_prefix("TENURE_");
    let meant =
        nearest(unknown.strip_prefix("TENURE_")?, VARIABLES.iter().copied().filter_map(behind))?;
    VARIABLES.iter().copied().find(|name| behind(name) == Some(meant))
}

/// How long to wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitLimit {
    /// Not at all.
    None,
    /// This long.
    For(Duration),
    /// For ever.
    Endless,
}

impl WaitLimit {
    fn new(asking: &args::AcquireArgs, default: Option<Duration>) -> Self {
        match asking.wait.or(default) {
            _ if asking.no_wait => Self::None,
            Some(Duration::ZERO) => Self::None,
            Some(wait) => Self::For(wait),
            None => Self::Endless,
        }
    }
}

/// What kind of lock the command runs under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockKind {
    /// Alone.
    Mutex,
    /// Together with other readers.
    Reader,
    /// Alone among readers.
    Writer,
    /// With so many of a semaphore's permits.
    Permits { take: u32, of: u32 },
    /// Alone, in several locks together.
    All,
    /// Leading, in the order of asking.
    Candidate,
}

impl LockKind {
    fn new(sharing: &args::ModeArgs) -> Result<Self, Failure> {
        let take = sharing.take.unwrap_or(1);
        match sharing.permits {
            Some(of) if take > of => Err(Failure::Usage(
                (
                    format!("{take} permits of {of} can never be granted"),
                    format!("write --take {of} or less"),
                )
                    .into(),
            )),
            Some(of) => Ok(Self::Permits { take, of }),
            None if sharing.shared => Ok(Self::Reader),
            None if sharing.write => Ok(Self::Writer),
            None => Ok(Self::Mutex),
        }
    }

    /// The kind that its names are used as.
    pub(crate) const fn of_name(self) -> Kind {
        match self {
            Self::Mutex | Self::All => Kind::Mutex,
            Self::Reader | Self::Writer => Kind::ReadWrite,
            Self::Permits { .. } => Kind::Semaphore,
            Self::Candidate => Kind::Election,
        }
    }
}

/// Everything `run` needs to know besides the store.
#[derive(Debug)]
pub(crate) struct RunSettings {
    pub(crate) kind: LockKind,
    pub(crate) ttl: Duration,
    pub(crate) patience: WaitLimit,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) hold_at_least: Option<Duration>,
    /// Whether the lock is free at once if the command fails.
    pub(crate) frees_on_failure: bool,
    pub(crate) kill_when_lost: bool,
    /// Whether the command is told to end if somebody asks for the lock.
    pub(crate) obeys_requests: bool,
    pub(crate) grace: Duration,
    /// The grace that somebody chose.
    chosen_grace: Option<Duration>,
    pub(crate) margin: Duration,
    pub(crate) fair: bool,
    pub(crate) label: Option<String>,
    /// What the command is called, and why it runs.
    pub(crate) operation: Option<String>,
    pub(crate) reason: Option<String>,
    /// If the command runs once per slot.
    pub(crate) slots: Option<SlotSettings>,
    /// What the configuration says of the lock, or of the first of several.
    configured_label: Option<String>,
}

impl RunSettings {
    /// To run a command under the locks called `names`.
    pub(crate) fn for_run(
        run: &args::Run,
        names: &[&LockName],
        config: &Config,
    ) -> Result<Self, Failure> {
        let kind = if run.all.is_empty() { LockKind::new(&run.sharing)? } else { LockKind::All };
        Ok(Self {
            kind,
            hold_at_least: run.hold_at_least,
            frees_on_failure: run.hold_at_least_if == args::HoldAtLeastIf::Success,
            kill_when_lost: run.on_lost == args::OnLost::Kill,
            fair: run.fair,
            slots: SlotSettings::new(&run.slots)?,
            ..Self::new(names.iter().copied(), &run.hold, config)?
        })
    }

    pub(crate) fn for_election(elect: &args::Elect, config: &Config) -> Result<Self, Failure> {
        Self::new([&elect.name], &elect.hold, config)
    }

    /// To take a lock that no command runs under.
    pub(crate) fn for_lock(lock: &args::Lock, config: &Config) -> Result<Self, Failure> {
        let defaults = config.defaults_of(&lock.name);
        Ok(Self {
            kind: LockKind::new(&lock.sharing)?,
            ttl: defaults.ttl.unwrap_or(DEFAULT_TTL),
            patience: WaitLimit::new(&lock.asking, defaults.wait),
            max_hold: None,
            hold_at_least: None,
            frees_on_failure: false,
            kill_when_lost: false,
            obeys_requests: false,
            grace: Duration::ZERO,
            chosen_grace: None,
            margin: Duration::ZERO,
            fair: lock.fair,
            label: label(&lock.asking, &[&defaults], &[]),
            operation: None,
            reason: lock.asking.reason.clone(),
            slots: None,
            configured_label: defaults.label.clone(),
        })
    }

    /// To hold locks for the program that started this command.
    pub(crate) fn for_hold(hold: &args::Hold, config: &Config) -> Result<Self, Failure> {
        let kind = if hold.all.is_empty() { LockKind::new(&hold.sharing)? } else { LockKind::All };
        let defaults: Vec<_> = hold.names().map(|name| config.defaults_of(name)).collect();
        let shortest = |of: fn(&Defaults) -> Option<Duration>| defaults.iter().filter_map(of).min();
        let caller = Caller::from_system();
        let said = defaults.iter().any(|of| of.label.is_some());
        Ok(Self {
            kind,
            ttl: hold.ttl.or(shortest(|of| of.ttl)).unwrap_or(DEFAULT_TTL),
            patience: WaitLimit::new(&hold.asking, shortest(|of| of.wait)),
            max_hold: hold.max_hold.or(shortest(|of| of.max_hold)),
            hold_at_least: hold.hold_at_least,
            frees_on_failure: false,
            kill_when_lost: false,
            obeys_requests: false,
            grace: Duration::ZERO,
            chosen_grace: None,
            margin: Duration::ZERO,
            fair: hold.fair,
            label: hold.asking.label.clone().or_else(|| (!said).then(|| caller.label())),
            operation: caller.operation(),
            reason: hold.asking.reason.clone(),
            slots: None,
            configured_label: defaults.iter().find_map(|of| of.label.clone()),
        })
    }

    fn new<'a>(
        names: impl IntoIterator<Item = &'a LockName>,
        hold: &args::HoldArgs,
        config: &Config,
    ) -> Result<Self, Failure> {
        // Of several locks the one with the shortest time says what is certain of all.
        let defaults: Vec<_> = names.into_iter().map(|name| config.defaults_of(name)).collect();
        let shortest = |of: fn(&Defaults) -> Option<Duration>| defaults.iter().filter_map(of).min();
        let ttl = hold.ttl.or(shortest(|of| of.ttl)).unwrap_or(DEFAULT_TTL);
        let max_hold = hold.max_hold.or(shortest(|of| of.max_hold));
        let chosen_grace = hold.grace.or(config.run().grace);
        let plan = Self {
            kind: LockKind::Candidate,
            ttl,
            patience: WaitLimit::new(&hold.asking, shortest(|of| of.wait)),
            max_hold,
            hold_at_least: None,
            frees_on_failure: false,
            kill_when_lost: true,
            obeys_requests: hold.on_release_request == args::OnReleaseRequest::Term,
            grace: Duration::ZERO,
            chosen_grace,
            margin: Duration::ZERO,
            fair: false,
            label: label(&hold.asking, &defaults.iter().collect::<Vec<_>>(), &hold.command),
            operation: label::operation(&hold.command),
            reason: hold.asking.reason.clone(),
            slots: None,
            configured_label: defaults.iter().find_map(|of| of.label.clone()),
        };
        plan.adjust_to_lease(LeaseScope::Hold)
    }

    /// What the holds of this command are labelled with, as events tell it.
    pub(crate) fn event_label(&self) -> Option<&str> {
        self.label.as_deref().or(self.configured_label.as_deref())
    }

    /// The configuration to open the store by, which is to suit this hold.
    pub(crate) fn config(&self, config: &Config) -> Config {
        config.for_holds(self.ttl, self.chosen_grace)
    }

    /// The same on a store with such leases.
    pub(crate) fn adjust_to_lease(mut self, lease: LeaseScope) -> Result<Self, Failure> {
        // What is certain of the hold: a lease, or less if it is ended earlier.
        let certain =
            lease.at_most(self.max_hold.map_or(self.ttl, |longest| longest.min(self.ttl)));
        self.grace = match self.chosen_grace {
            Some(grace) if grace > certain / 2 => {
                let longer = if certain < self.ttl && lease != LeaseScope::Hold {
                    "or a longer session of the store"
                } else {
                    "or a longer ttl"
                };
                let [grace, hold, most] =
                    [grace, certain, certain / 2].map(humantime::format_duration);
                return Err(Failure::Usage(
                    (
                        format!("a grace of {grace} is longer than half of a hold of {hold}"),
                        format!("choose a grace of at most {most} {longer}"),
                    )
                        .into(),
                ));
            }
            Some(grace) => grace,
            None => DEFAULT_GRACE.min(certain / 4),
        };
        self.margin = kill_margin(certain);
        Ok(self)
    }
}

/// Who this is; nothing where the configuration says it of one of the locks at least.
fn label(
    asking: &args::AcquireArgs,
    defaults: &[&Defaults],
    command: &[OsString],
) -> Option<String> {
    let said = defaults.iter().any(|of| of.label.is_some());
    let own = || (!said).then(|| label::of_this_process(command));
    asking.label.clone().or_else(own)
}

/// The exit codes that flags or the file chose, else those that are built in.
pub(crate) fn codes(busy: Option<u8>, ends: &args::ExitCodeArgs, config: &Config) -> ExitCodes {
    let (run, built_in) = (config.run(), ExitCodes::default());
    ExitCodes {
        busy: busy.or(run.busy_exit_code).unwrap_or(built_in.busy),
        lost: ends.lost_exit_code.or(run.lost_exit_code).unwrap_or(built_in.lost),
        failed: ends.failed_exit_code.or(run.failed_exit_code).unwrap_or(built_in.failed),
        skipped: run.skipped_exit_code.unwrap_or(built_in.skipped),
    }
}

/// How long before the deadline SIGKILL is sent, so that the group is gone by then.
fn kill_margin(certain: Duration) -> Duration {
    (certain / 10).min(Duration::from_millis(250))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn plan(args: &str, file: &str) -> Result<RunSettings, Failure> {
        let file = Some((Path::new("config.toml"), file));
        let config = Config::parse(file, |_| None).map_err(Failure::failed)?;
        let words = format!("tenure run name {args} -- true");
        match Cli::try_parse_from(words.split(' ').filter(|word| !word.is_empty())).unwrap().command
        {
            Command::Run(run) => {
                let names: Vec<_> = run.names().collect();
                RunSettings::for_run(&run, &names, &config)
            }
            other => panic!("{other:?}"),
        }
    }

    fn said(failure: &Failure) -> String {
        let why = failure.explanation();
        format!("{}; {}", why.line(), why.help.as_deref().unwrap_or_default())
    }

    #[test]
    fn a_flag_goes_before_the_file_and_the_file_before_the_default() {
        assert_eq!(plan("", "").unwrap().ttl, DEFAULT_TTL);
        assert_eq!(plan("", "ttl = '8s'").unwrap().ttl, Duration::from_secs(8));
        assert_eq!(plan("--ttl 9s", "ttl = '8s'").unwrap().ttl, Duration::from_secs(9));
        assert_eq!(plan("--no-wait", "wait = '8s'").unwrap().patience, WaitLimit::None);
        assert_eq!(plan("--wait 0s", "").unwrap().patience, WaitLimit::None);
        assert_eq!(plan("", "").unwrap().patience, WaitLimit::Endless);
    }

    #[test]
    fn the_default_grace_fits_a_short_ttl_and_a_short_hold() {
        assert_eq!(plan("", "").unwrap().grace, Duration::from_secs(5));
        assert_eq!(plan("--ttl 2s", "").unwrap().grace, Duration::from_millis(500));
        assert_eq!(plan("--max-hold 1s", "").unwrap().grace, Duration::from_millis(250));
    }

    #[test]
    fn the_grace_fits_the_session_of_a_store() {
        let session = LeaseScope::Session { longest: Duration::from_secs(4) };
        let fitted = plan("", "").unwrap().adjust_to_lease(session).unwrap();
        assert_eq!(fitted.grace, Duration::from_secs(1));
        let refused = plan("--grace 3s", "").unwrap().adjust_to_lease(session).unwrap_err();
        assert!(said(&refused).contains("at most 2s or a longer session"), "{refused:?}");
    }

    #[test]
    fn a_grace_above_half_the_ttl_is_refused() {
        assert!(plan("--ttl 2s --grace 1s", "").is_ok());
        let refused = plan("--ttl 2s --grace 1001ms", "").unwrap_err();
        assert!(matches!(refused, Failure::Usage(_)), "{refused:?}");
        assert!(said(&refused).contains("at most 1s"), "{refused:?}");
    }

    #[test]
    fn a_command_runs_alone_or_shares_or_takes_permits() {
        assert_eq!(plan("", "").unwrap().kind, LockKind::Mutex);
        assert_eq!(plan("--shared", "").unwrap().kind, LockKind::Reader);
        assert_eq!(plan("--write", "").unwrap().kind, LockKind::Writer);
        assert_eq!(plan("--permits 3", "").unwrap().kind, LockKind::Permits { take: 1, of: 3 });
        let two = plan("--permits 3 --take 2", "").unwrap();
        assert_eq!(two.kind, LockKind::Permits { take: 2, of: 3 });
        let refused = plan("--permits 3 --take 4", "").unwrap_err();
        assert!(matches!(refused, Failure::Usage(_)), "{refused:?}");
        assert_eq!(said(&refused), "4 permits of 3 can never be granted; write --take 3 or less");
    }

    #[test]
    fn a_pattern_of_the_file_goes_before_what_it_says_for_all() {
        let file = "ttl = '8s'\n[locks.'na*']\nttl = '9s'\n[locks.other]\nttl = '10s'";
        assert_eq!(plan("", file).unwrap().ttl, Duration::from_secs(9));
        assert_eq!(plan("", "[run]\ngrace = '2s'").unwrap().grace, Duration::from_secs(2));
    }
}
