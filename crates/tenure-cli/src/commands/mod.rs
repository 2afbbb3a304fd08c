//! One file for each subcommand.

mod ask_release;
mod attach;
mod bench;
mod break_;
mod completions;
mod doctor;
mod elect;
mod export;
mod history;
mod hold;
mod lock;
mod ls;
mod man;
mod renew;
mod run;
mod schema;
mod show;
mod unlock;

use std::{future::Future, pin::Pin, time::Duration};

use tenure::{
    Fault, LockName, Tenure,
    config::Config,
    history::{HistoryFamilies, Retention},
};
use tenure_url::has_password;

use crate::{
    args::{Cli, Command, CommonArgs},
    exit::{ExitCodes, Failure},
    explanation::Explanation,
    handle::read::given,
    output::{Event, Reporter},
    settings,
    store::open,
    system,
};

/// How long an interrupted wait may take to leave the queue.
const LEAVE: Duration = Duration::from_secs(2);
/// The same where the store did not answer, and most likely does not now.
const AWAY: Duration = Duration::from_millis(500);
/// How long the end may take for what the history lacks.
const HISTORY: Duration = Duration::from_secs(1);
/// How long the end may take where nothing is left to be done.
const SETTLED: Duration = Duration::from_millis(100);

/// The configuration, with a word where it is another user's.
fn load(common: &CommonArgs, voice: &Reporter) -> Result<Config, Failure> {
    let config = settings::load(common)?;
    if let Some((file, owner)) = config.stranger() {
        voice.event(&Event::ForeignConfiguration { file, owner });
    }
    Ok(config)
}

/// Says what is hardly meant of the variables and the command line.
fn warn_of_surroundings(common: &CommonArgs, voice: &Reporter) {
    for name in settings::unknown_variables() {
        let meant = settings::closest_variable(&name);
        // Others may be of another tool, and are of interest to whoever looks for a mistake.
        if meant.is_some() || voice.is_verbose() {
            voice.event(&Event::UnknownVariable { name: &name, meant });
        }
    }
    if common.store.as_deref().is_some_and(has_password) {
        voice.event(&Event::PasswordShown);
    }
}

/// Does what was asked and answers with the exit code.
pub(crate) fn dispatch(cli: Cli, voice: &mut Reporter) -> Result<u8, Failure> {
    let Cli { common, command } = cli;
    // It says that to the program that it holds for.
    if !matches!(command, Command::Hold(_)) {
        warn_of_surroundings(&common, voice);
    }
    match command {
        Command::Run(args) => {
            let mut config = load(&common, voice)?;
            keep_history(&mut config, args.hold.history, args.names())?;
            let asking = &args.hold.asking;
            let codes = settings::codes(asking.busy_exit_code, &asking.ends, &config);
            let skipped = args.slots.skipped_exit_code.unwrap_or(codes.skipped);
            voice.tell_with(ExitCodes { skipped, ..codes });
            block_on(run::run(*args, &config, voice))
        }
        Command::Hold(args) => block_on(hold::hold(*args, &common, voice)),
        Command::Lock(args) => {
            let config = load(&common, voice)?;
            let asking = &args.asking;
            voice.tell_with(settings::codes(asking.busy_exit_code, &asking.ends, &config));
            block_on(lock::lock(&args, &config, voice))
        }
        Command::Renew(args) => {
            let given = given(args.from.file()?)?;
            let config = load(&common, voice)?;
            voice.tell_with(settings::codes(None, &args.ends, &config));
            with_store(&config, |tenure| renew::renew(given, args.lease, tenure, voice))
        }
        Command::Unlock(args) => {
            let given = given(args.from.file()?)?;
            let config = load(&common, voice)?;
            voice.tell_with(settings::codes(None, &args.ends, &config));
            with_store(&config, |tenure| unlock::unlock(given, tenure, voice))
        }
        Command::Elect(args) => {
            let mut config = load(&common, voice)?;
            keep_history(&mut config, args.hold.history, [&args.name])?;
            let asking = &args.hold.asking;
            voice.tell_with(settings::codes(asking.busy_exit_code, &asking.ends, &config));
            block_on(elect::elect(args, &config, voice))
        }
        Command::Ls(args) => {
            with_store(&load(&common, voice)?, |tenure| ls::ls(args, tenure, voice))
        }
        Command::Show(args) => {
            with_store(&load(&common, voice)?, |tenure| show::show(args, tenure, voice))
        }
        Command::History(args) => {
            with_store(&load(&common, voice)?, |tenure| history::show_history(args, tenure, voice))
        }
        Command::AskRelease(args) => with_store(&load(&common, voice)?, |tenure| {
            ask_release::ask_release(args, tenure, voice)
        }),
        Command::Break(args) => {
            with_store(&load(&common, voice)?, |tenure| break_::break_(args, tenure, voice))
        }
        Command::Export(args) => block_on(export::export(args, load(&common, voice)?, voice)),
        Command::Doctor => {
            let config = load(&common, voice)?;
            block_on(doctor::doctor(&config, voice))
        }
        Command::Bench(args) => {
            let config = load(&common, voice)?;
            bench::on_all_cores(bench::bench(&args, &config, voice))
        }
        Command::Schema(args) => schema::schema(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => man::man(&args, voice),
    }
}

/// Keeps a history of these locks, if that is wanted, in place of what the configuration says.
fn keep_history<'a>(
    config: &mut Config,
    kept: Option<Retention>,
    names: impl IntoIterator<Item = &'a LockName>,
) -> Result<(), Failure> {
    let Some(kept) = kept else { return Ok(()) };
    let families = names.into_iter().map(|name| (name.as_str(), kept));
    let families = HistoryFamilies::new(families)
        .map_err(|error| Failure::Usage(Explanation::new(error.to_string())))?;
    config.use_history(families);
    Ok(())
}

/// A store's fault with the lock and the store it is about.
fn store_failure(tenure: &Tenure, name: &LockName, fault: &Fault) -> Failure {
    Failure::Failed(Explanation::of_fault(name.as_str(), tenure.store().location(), fault))
}

fn with_store<F: Future<Output = Result<u8, Failure>>>(
    config: &Config,
    work: impl FnOnce(Tenure) -> F,
) -> Result<u8, Failure> {
    // It holds nothing, and a store that keeps no history can be looked at.
    let mut config = config.clone();
    config.use_history(HistoryFamilies::default());
    block_on(async {
        let tenure = open(&config).await?;
        let done = work(tenure.clone()).await;
        close_store(&tenure, &done).await;
        done
    })
}

/// Ends the store's use in order, so that the process leaves nothing behind in it. What was begun
/// by something that failed is taken back before the process is gone, not one ttl later.
async fn close_store<T: Sync>(tenure: &Tenure, done: &Result<T, Failure>) {
    // What was done is in the history before the next command can ask for it.
    let _ = tokio::time::timeout(HISTORY, tenure.flush_history()).await;
    let within = match done {
        Ok(_) => SETTLED,
        Err(failure) if failure.is_unreachable() => AWAY,
        Err(_) => LEAVE,
    };
    let _ = tenure.shutdown(within).await;
}

fn block_on(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    let work: Pin<Box<dyn Future<Output = Result<u8, Failure>>>> = Box::pin(work);
    system::runtime()
        .map_err(|error| {
            Failure::Failed(Explanation::from_io_error("tenure cannot start", &error))
        })?
        .block_on(work)
}
