//! `tenure elect`: a command that runs wherever this candidate leads.

use std::time::Duration;

use tenure::{Tenure, config::Config};

use crate::{
    args,
    exit::Failure,
    output::{Event, Reporter},
    run::{
        acquire::{acquire, open_store},
        detaching::EndAction,
        held::AnyGuard,
        patience::WaitTimer,
        signals::{ENDING, Signals},
        under_lock::{LockedCommand, RunOutcome},
    },
    settings::RunSettings,
    store,
};

/// Between a campaign that found no answer and the next: each has tried for a whole ttl.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn elect(
    args: args::Elect,
    config: &Config,
    voice: &Reporter,
) -> Result<u8, Failure> {
    let plan = RunSettings::for_election(&args, config)?;
    voice.set_holder_label(plan.event_label());
    let wait = WaitTimer::begin(plan.patience);
    let mut signals = Signals::new();
    signals.listen(&ENDING).map_err(Failure::failed)?;
    let tenure =
        signals.unless_ended(open_store(config, args.name.as_str(), &plan, &wait, voice)).await?;
    store::report_location(&tenure, config, voice);
    let plan = plan.adjust_to_lease(tenure.store().capabilities().lease)?;

    let done = campaign_and_run(&args, &plan, wait, &tenure, &mut signals, voice).await;
    super::close_store(&tenure, &done).await;
    let mut done = done?.await_release(&tenure, &mut signals).await;
    done.exit_code(&mut signals).await;
    Ok(done.end())
}

/// Campaigns and runs the command, until it ends for another reason than the lead.
async fn campaign_and_run(
    args: &args::Elect,
    plan: &RunSettings,
    mut wait: WaitTimer,
    tenure: &Tenure,
    signals: &mut Signals,
    voice: &Reporter,
) -> Result<RunOutcome, Failure> {
    let name = args.name.as_str();
    // What opens without being there, as a quorum does, is waited for like what does not.
    let look = || async {
        tenure.election(name).leader().await.map_err(|error| {
            if error.is_transient() { Failure::Away(error.into()) } else { Failure::failed(error) }
        })
    };
    let away = |why: &str| voice.event(&Event::StoreUnreachable { name, why });
    signals.unless_ended(wait.open(&tenure.store().location(), plan.ttl, look, away)).await?;
    // Nor is the slot of a command around this one.
    let without = args.hold.hidden_variable().into_iter().chain(["TENURE_SLOT"]);
    let (names, without) = ([&args.name], Vec::from_iter(without));
    let under_lock = LockedCommand {
        names: &names,
        command: &args.hold.command,
        tenure,
        plan,
        voice,
        without: &without,
    };
    loop {
        let held = signals.unless_ended(campaign(args, plan, &wait, tenure, voice)).await?;
        let done = under_lock.run(held, signals, wait.elapsed(), EndAction::Release).await?;
        if !done.for_the_lock {
            return Ok(done);
        }
        // Each campaign has a wait of its own.
        wait = WaitTimer::begin(plan.patience);
    }
}

/// Waits to be elected, also while the store is away.
async fn campaign(
    args: &args::Elect,
    plan: &RunSettings,
    wait: &WaitTimer,
    tenure: &Tenure,
    voice: &Reporter,
) -> Result<AnyGuard, Failure> {
    loop {
        match acquire(tenure, &[&args.name], plan, wait, voice).await {
            Err(Failure::Away(why)) if !wait.is_none() && !wait.is_over() => {
                voice.event(&Event::CampaignFailed { name: args.name.as_str(), why: &why.line() });
            }
            outcome => return outcome,
        }
        let pause = wait.left().map_or(PAUSE, |left| left.min(PAUSE));
        tokio::time::sleep(pause).await;
    }
}
