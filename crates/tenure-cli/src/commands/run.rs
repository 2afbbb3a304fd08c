//! `tenure run`: a command under a lock.

use std::time::{Duration, Instant};

use tenure::{Clock, Guard, ReleaseError, SystemClock, Tenure, config::Config, proto::LostReason};

use crate::{
    args,
    exit::{self, Failure},
    output::{Event, Fate, Voice},
    run::{
        acquire::acquire,
        child::{Child, Launch},
        guardian::vigil::{Cause, Terms},
        protocol::{Ended, How},
        signals::{ENDING, Signals, TELLING},
        supervise::{Outcome, Supervision},
        terminal::Terminal,
    },
    settings::Plan,
};

/// How long an interrupted wait may take to leave the queue.
const LEAVE: Duration = Duration::from_secs(2);

pub(super) async fn run(args: args::Run, config: &Config, voice: &Voice) -> Result<u8, Failure> {
    let plan = Plan::new(&args, config)?;
    let mut signals = Signals::default();
    signals.listen(&ENDING).map_err(Failure::failed)?;
    let tenure = tokio::select! {
        tenure = super::open(config) => tenure?,
        signal = signals.next() => return Err(Failure::Interrupted { signal: signal as i32 }),
    };
    let store = tenure.store();
    voice.event(&Event::Store { kind: store.kind(), location: &store.location() });

    let asked = Instant::now();
    let guard = tokio::select! {
        guard = acquire(&tenure, &args.name, &plan, voice) => guard,
        signal = signals.next() => Err(Failure::Interrupted { signal: signal as i32 }),
    };
    let done = match guard {
        Ok(guard) => {
            let waited = asked.elapsed();
            under_lock(guard, args, &tenure, &plan, signals, voice, waited).await
        }
        Err(failure) => Err(failure),
    };
    if done.is_err() {
        // What was begun is taken back before the process is gone, not one ttl later.
        let _ = tenure.shutdown(LEAVE).await;
    }
    done
}

/// Runs the command and releases the lock when nothing of it is left.
async fn under_lock(
    guard: Guard,
    args: args::Run,
    tenure: &Tenure,
    plan: &Plan,
    mut signals: Signals,
    voice: &Voice,
    waited: Duration,
) -> Result<u8, Failure> {
    let began = SystemClock.now();
    let name = args.name.as_str();
    voice.event(&Event::Acquired { name, token: guard.token(), waited });
    signals.listen(&TELLING).map_err(Failure::failed)?;
    let terminal = Terminal::open();
    let environment = vec![
        ("TENURE_NAME", name.to_owned()),
        ("TENURE_TOKEN", guard.token().to_string()),
        ("TENURE_STORE_KIND", tenure.store().kind().to_owned()),
    ];
    let terms =
        Terms { grace: plan.grace, margin: plan.margin, kill_when_lost: plan.kill_when_lost };
    let launch = Launch {
        name,
        command: args.command.clone(),
        environment,
        foreground: terminal.as_ref().is_some_and(Terminal::is_ours),
        liveness: tenure.store().liveness(),
        terms,
        deadline: guard.deadline(),
    };
    let mut child = Child::start(launch).await.map_err(|error| {
        Failure::Failed(format!("cannot start the guardian of the command: {error}"))
    })?;
    let terminal = terminal.as_ref();
    let supervision = Supervision {
        guard: &guard,
        child: &mut child,
        signals: &mut signals,
        terminal,
        plan,
        voice,
        began,
    };
    let outcome = supervision.run().await;
    if let (Some(terminal), Some(group)) = (terminal, child.group()) {
        terminal.take_back_from(group);
    }
    let outcome = outcome?;
    child.dismiss();
    finish(guard, outcome, voice).await
}

/// Releases the lock and finds the exit code.
async fn finish(guard: Guard, outcome: Outcome, voice: &Voice) -> Result<u8, Failure> {
    let Outcome { ended, lost: seen } = outcome;
    let signal = match ended.how {
        How::Signal(number) => Some(number),
        How::Code(_) => None,
    };
    let name = guard.name().clone();
    let name = name.as_str();
    let in_time = ended.at < guard.deadline().as_nanos();
    let release = guard.release().await;
    let lost = match &release {
        Err(ReleaseError::Lost(late)) => Some(late.reason),
        _ => seen,
    };
    let is_lost = is_lost(ended, lost, in_time);
    if is_lost && seen.is_none() {
        let reason = lost.unwrap_or(LostReason::Deadline);
        let fate = if ended.cause == Cause::Itself { Fate::Ended } else { Fate::Killed };
        voice.event(&Event::Lost { name, reason, fate });
    }
    let code = if is_lost { exit::LOST } else { ended.how.code() };
    voice.event(&Event::Ended { name, code, signal });
    match release {
        Ok(()) => voice.event(&Event::Released { name }),
        Err(ReleaseError::Lost(_)) => {}
        Err(error) => voice.event(&Event::ReleaseFailed { name, why: &error.to_string() }),
    }
    Ok(code)
}

/// Whether the command may have run for a time without the lock, or was ended for its sake.
///
/// A lease that ran out only after all of the command was gone, while tenure was stopped, takes
/// nothing away from what the command did.
fn is_lost(ended: Ended, lost: Option<LostReason>, in_time: bool) -> bool {
    match (ended.cause, lost) {
        (Cause::Lost | Cause::Orphaned, _) => true,
        (Cause::Itself, None) => false,
        (Cause::Itself, Some(LostReason::Taken)) => true,
        (Cause::Itself, Some(_)) => !in_time,
    }
}
