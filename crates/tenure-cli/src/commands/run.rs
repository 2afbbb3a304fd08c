//! `tenure run`: a command under a lock.

use std::time::{Duration, Instant};

use tenure::{Clock, LockName, SystemClock, Tenure, config::Config, proto::LostReason};

use crate::{
    args,
    exit::{self, Failure},
    output::{Event, Fate, Voice},
    run::{
        acquire::{acquire, together},
        child::{Child, Launch},
        guardian::vigil::{Cause, Terms},
        held::{Held, NotReleased},
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
    let names: Vec<&LockName> = args.names().collect();
    let held = tokio::select! {
        held = acquire(&tenure, &names, &plan, voice) => held,
        signal = signals.next() => Err(Failure::Interrupted { signal: signal as i32 }),
    };
    let done = match held {
        Ok(held) => {
            let waited = asked.elapsed();
            under_lock(held, &args, &tenure, &plan, signals, voice, waited).await
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
    held: Held,
    args: &args::Run,
    tenure: &Tenure,
    plan: &Plan,
    mut signals: Signals,
    voice: &Voice,
    waited: Duration,
) -> Result<u8, Failure> {
    let began = SystemClock.now();
    let name = &together(args.names());
    for (name, token) in held.tokens() {
        voice.event(&Event::Acquired { name, token, waited });
    }
    signals.listen(&TELLING).map_err(Failure::failed)?;
    let terminal = Terminal::open();
    let mut environment = tokens(args, &held);
    environment.push(("TENURE_NAME".to_owned(), name.clone()));
    environment.push(("TENURE_STORE_KIND".to_owned(), tenure.store().kind().to_owned()));
    let terms =
        Terms { grace: plan.grace, margin: plan.margin, kill_when_lost: plan.kill_when_lost };
    let launch = Launch {
        name,
        command: args.command.clone(),
        environment,
        foreground: terminal.as_ref().is_some_and(Terminal::is_ours),
        liveness: tenure.store().liveness(),
        terms,
        deadline: held.deadline(),
    };
    let mut child = Child::start(launch).await.map_err(|error| {
        Failure::Failed(format!("cannot start the guardian of the command: {error}"))
    })?;
    let terminal = terminal.as_ref();
    let supervision = Supervision {
        held: &held,
        name,
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
    finish(held, name, outcome, voice).await
}

/// The tokens for the command, in the order in which the names were given.
fn tokens(args: &args::Run, held: &Held) -> Vec<(String, String)> {
    let known = held.tokens();
    let token = |name: &LockName| known.iter().find(|(known, _)| *known == name.as_str());
    let tokens: Vec<_> =
        args.names().filter_map(token).map(|(_, token)| token.to_string()).collect();
    let mut environment = vec![("TENURE_TOKEN".to_owned(), tokens.join(","))];
    if !args.all.is_empty() {
        let numbered = tokens.into_iter().zip(1..);
        environment.extend(numbered.map(|(token, at)| (format!("TENURE_TOKEN_{at}"), token)));
    }
    environment
}

/// Releases the locks and finds the exit code.
async fn finish(held: Held, name: &str, outcome: Outcome, voice: &Voice) -> Result<u8, Failure> {
    let Outcome { ended, lost: seen } = outcome;
    let signal = match ended.how {
        How::Signal(number) => Some(number),
        How::Code(_) => None,
    };
    let in_time = ended.at < held.deadline().as_nanos();
    let released: Vec<_> = held.tokens().into_iter().map(|(name, _)| name.to_owned()).collect();
    let release = held.release().await;
    let late = release.as_ref().err().and_then(|not| not.lost);
    let lost = late.or(seen);
    let is_lost = is_lost(ended, lost, in_time);
    if is_lost && seen.is_none() {
        let reason = lost.unwrap_or(LostReason::Deadline);
        let fate = if ended.cause == Cause::Itself { Fate::Ended } else { Fate::Killed };
        voice.event(&Event::Lost { name, reason, fate });
    }
    let code = if is_lost { exit::LOST } else { ended.how.code() };
    voice.event(&Event::Ended { name, code, signal });
    match release {
        Ok(()) => released.iter().for_each(|name| voice.event(&Event::Released { name })),
        Err(NotReleased { why, .. }) if why.is_empty() => {}
        Err(NotReleased { why, .. }) => voice.event(&Event::ReleaseFailed { name, why: &why }),
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
