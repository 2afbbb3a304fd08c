//! `tenure run`: a command under a lock.

use std::path::Path;

use tenure::{LockName, Tenure, config::Config};

use super::attach::PendingAttach;
use crate::{
    args,
    exit::Failure,
    explanation::Explanation,
    handle::VARIABLE,
    output::Reporter,
    record::RunRecord,
    run::{
        acquire::{acquire, join_names, open_store},
        detaching::EndAction,
        held::AnyGuard,
        patience::WaitTimer,
        signals::{ENDING, Signals},
        under_lock::{LockedCommand, RunOutcome},
    },
    settings::RunSettings,
    store,
};

pub(super) async fn run(args: args::Run, config: &Config, voice: &Reporter) -> Result<u8, Failure> {
    let attaching = if args.attach { Some(PendingAttach::from_args(&args)?) } else { None };
    let names: Vec<LockName> = match &attaching {
        Some(attaching) => vec![attaching.handle().name().clone()],
        None => args.names().cloned().collect(),
    };
    let names: Vec<&LockName> = names.iter().collect();
    let name = join_names(names.iter().copied());
    let plan = RunSettings::for_run(&args, &names, config)?;
    voice.set_holder_label(plan.event_label());
    if args.metrics_file.is_some() || args.summary {
        let record = RunRecord::new(args.metrics_file.as_deref(), args.summary, &names);
        voice.set_record(record.map_err(|error| no_metrics(&args, &error))?);
    }
    let mut signals = Signals::new();
    let run = Run { args: &args, names: &names, name: &name, config, voice };
    let mut done = run.to_its_end(attaching, plan, &mut signals).await;
    complete_record(&mut done, &mut signals, voice).await;
    done.map(RunOutcome::end)
}

/// Completes the record. A key that is typed meanwhile ends tenure as well, so the record says that.
async fn complete_record(
    done: &mut Result<RunOutcome, Failure>,
    signals: &mut Signals,
    voice: &Reporter,
) {
    let outcome = match done {
        Ok(outcome) => outcome,
        Err(failure) => {
            let code = voice.codes().of(failure);
            voice.record_failure(failure);
            voice.record_end(code, matches!(failure, Failure::Lost(_)));
            return voice.summarize(code);
        }
    };
    let (code, is_lost) = (outcome.exit_code(signals).await, outcome.is_lost);
    voice.record_end(code, is_lost);
    voice.summarize(code);
    let last = outcome.exit_code(signals).await;
    if last != code {
        voice.record_end(last, is_lost);
    }
}

/// Why there can be no file of metrics.
fn no_metrics(args: &args::Run, error: &std::io::Error) -> Failure {
    let path = args.metrics_file.as_deref().unwrap_or_else(|| Path::new(""));
    let what = format!("there can be no metrics in {}", path.display());
    let why = Explanation::new(what).because(error);
    Failure::Usage(why.advise("name a file in a directory that this user can write to"))
}

/// What is run, and how.
#[derive(Clone, Copy)]
struct Run<'a> {
    args: &'a args::Run,
    names: &'a [&'a LockName],
    name: &'a str,
    config: &'a Config,
    voice: &'a Reporter,
}

impl Run<'_> {
    /// Opens the store, acquires the locks, and runs the command under them.
    async fn to_its_end(
        self,
        attaching: Option<PendingAttach>,
        plan: RunSettings,
        signals: &mut Signals,
    ) -> Result<RunOutcome, Failure> {
        let Self { args, names, name, config, voice } = self;
        let wait = WaitTimer::begin(plan.patience);
        signals.listen(&ENDING).map_err(Failure::failed)?;
        let tenure = signals.unless_ended(open_store(config, name, &plan, &wait, voice)).await?;
        store::report_location(&tenure, config, voice);
        let plan = plan.adjust_to_lease(tenure.store().capabilities().lease)?;

        // A copy of the handle is no use to the command, and a secret that leaks.
        let handle = args.attach.then_some(VARIABLE);
        // Nor is the slot of a command around this one.
        let slot = plan.slots.is_none().then_some("TENURE_SLOT");
        let without: Vec<_> =
            handle.into_iter().chain(slot).chain(args.hold.hidden_variable()).collect();
        let held = signals
            .unless_ended(acquire_or_attach(&tenure, attaching, names, &plan, &wait, voice))
            .await;
        let done = match held {
            Ok((held, at_end)) => {
                let waited = wait.elapsed();
                let under_lock = LockedCommand {
                    names,
                    command: &args.hold.command,
                    tenure: &tenure,
                    plan: &plan,
                    voice,
                    without: &without,
                };
                under_lock.run(held, signals, waited, at_end).await
            }
            Err(failure) => Err(failure),
        };
        super::close_store(&tenure, &done).await;
        Ok(done?.await_release(&tenure, signals).await)
    }
}

/// What the command runs under, and what becomes of that.
async fn acquire_or_attach(
    tenure: &Tenure,
    attaching: Option<PendingAttach>,
    names: &[&LockName],
    plan: &RunSettings,
    wait: &WaitTimer,
    voice: &Reporter,
) -> Result<(AnyGuard, EndAction), Failure> {
    match attaching {
        Some(attaching) => attaching.attach(tenure, plan).await,
        None => Ok((acquire(tenure, names, plan, wait, voice).await?, EndAction::Release)),
    }
}
