//! A command from the grant of its lock to the release.

use std::{
    ffi::OsString,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use tenure::{
    LockName, LostReason, Tenure,
    clock::{Clock, SystemClock},
};

use super::{
    acquire::join_names,
    child::{GuardedCommand, LaunchOptions, NotStarted},
    detaching::{EndAction, EndOutcome},
    ending::{CommandEnd, EndCause, ProcessExit, TerminationPolicy},
    held::{AnyGuard, NotMarked, NotReleased},
    interrupt::FatalSignal,
    signals::{FINAL, Signals, TELLING},
    supervise::{SupervisionOutcome, Supervisor},
    terminal::Terminal,
};
use crate::{
    exit::{Failure, by_signal},
    explanation::Explanation,
    output::{CommandFate, Event, Reporter},
    settings::{LockKind, RunSettings},
};

/// How long a release is tried for which the store did not answer, if its lease lasts so long: a failover takes
/// half a minute where nobody chose another time.
const RELEASED: Duration = Duration::from_secs(45);

/// What is to be run under which locks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockedCommand<'a> {
    pub(crate) names: &'a [&'a LockName],
    pub(crate) command: &'a [OsString],
    pub(crate) tenure: &'a Tenure,
    pub(crate) plan: &'a RunSettings,
    pub(crate) voice: &'a Reporter,
    /// The variables of tenure that the command does not get.
    pub(crate) without: &'a [&'a str],
}

/// How it ended. Nothing of the command is left, and the lock was let go of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunOutcome {
    /// The exit code that tells of it.
    pub(crate) code: u8,
    /// Whether the command was ended for the sake of the lock alone.
    pub(crate) for_the_lock: bool,
    /// Whether the code says that the lock was lost.
    pub(crate) is_lost: bool,
    /// What tenure is to die of instead of giving the code.
    interrupt: Option<FatalSignal>,
    /// Whether the store did not release the lock, and nobody wants tenure to end.
    may_stay: bool,
}

impl RunOutcome {
    /// Stays for what the store did not release, until a signal comes: else whoever is next waits for the rest
    /// of the lease.
    pub(crate) async fn await_release(mut self, tenure: &Tenure, signals: &mut Signals) -> Self {
        if self.may_stay {
            tokio::select! {
                biased;
                signal = signals.next_ending() => {
                    self.interrupt = FatalSignal::from_typed_signal(signal as i32);
                }
                _ = tenure.shutdown(RELEASED) => {}
            }
        }
        self
    }

    /// The exit code that tenure ends with, or that tells of the signal it dies of, as the keyboard wants it to.
    pub(crate) async fn exit_code(&mut self, signals: &mut Signals) -> u8 {
        // Whoever counts on the lock has to learn that it was lost.
        if self.is_lost {
            return self.code;
        }
        if self.interrupt.is_none() {
            self.interrupt = FatalSignal::from_pending_signals(signals).await;
        }
        self.interrupt.map_or(self.code, FatalSignal::code)
    }

    /// Ends tenure as [`exit_code`](Self::exit_code) said, when nothing else is left to be done; else gives that code.
    pub(crate) fn end(self) -> u8 {
        if let Some(interrupt) = self.interrupt.filter(|_| !self.is_lost) {
            interrupt.die();
        }
        self.code
    }
}

impl LockedCommand<'_> {
    /// Runs the command and lets go of the lock when nothing of it is left.
    pub(crate) async fn run(
        self,
        mut held: AnyGuard,
        signals: &mut Signals,
        waited: Duration,
        at_end: EndAction,
    ) -> Result<RunOutcome, Failure> {
        let Self { command, tenure, plan, voice, without, .. } = self;
        let began = Instant::now();
        let hold_end = plan.max_hold.map(|longest| {
            let end = SystemClock.now().saturating_add(longest);
            // A hold that is shorter than a lease ends then, however late this comes after its grant.
            if longest < plan.ttl { end.min(held.deadline()) } else { end }
        });
        let name = &join_names(self.names.iter().copied());
        signals.listen(&TELLING).map_err(Failure::failed)?;
        for (name, token) in held.tokens() {
            voice.event(&Event::Acquired { name, token, waited });
        }
        let terminal = Terminal::open();
        let mut environment = self.tokens(&held);
        environment.push(("TENURE_NAME".to_owned(), name.clone()));
        if let (Some((slot, tries)), Some(slots)) = (held.slot(), &plan.slots) {
            let schedule = &slots.schedule();
            let is_marked = !held.has_open_slot();
            voice.event(&Event::SlotBegins { name, slot: &slot, schedule, tries, is_marked });
            environment.push(("TENURE_SLOT".to_owned(), slot.in_utc()));
        }
        environment.push(("TENURE_STORE_KIND".to_owned(), tenure.store().kind().to_owned()));
        let terms = TerminationPolicy {
            grace: plan.grace,
            margin: plan.margin,
            kill_when_lost: plan.kill_when_lost,
        };
        let launch = LaunchOptions {
            name,
            command: command.to_vec(),
            environment,
            without,
            failed: voice.codes().failed,
            json: voice.is_json(),
            foreground: terminal.as_ref().is_some_and(Terminal::is_ours),
            liveness: tenure.store().liveness(),
            terms,
            held: &held,
        };
        let mut child = match GuardedCommand::start(launch).await {
            Ok(child) => child,
            Err(NotStarted::Lost(loss)) => {
                let (ended, lost) = (CommandEnd::before_it_began(), Some(loss.reason));
                let outcome = SupervisionOutcome { ended, lost, told_to_end: false, sent: None };
                let outcome = (outcome, Ok(()));
                return release_locks(held, at_end, name, outcome, false, began, voice).await;
            }
            Err(NotStarted::System(error)) => {
                if plan.frees_on_failure {
                    held.cancel_hold_at_least();
                }
                let what = "the command's guardian cannot be started";
                return Err(Failure::Failed(Explanation::from_io_error(what, &error)));
            }
        };
        let terminal = terminal.as_ref();
        let supervision = Supervisor {
            held: &held,
            name,
            child: &mut child,
            signals,
            terminal,
            plan,
            voice,
            hold_end,
            told_to_end: false,
            sent: None,
        };
        let outcome = supervision.run().await;
        let had_terminal = match (terminal, child.group()) {
            (Some(terminal), Some(group)) => terminal.take_back_from(group),
            _ => false,
        };
        let mut outcome = match outcome {
            Ok(outcome) => outcome,
            Err(failure) => {
                if plan.frees_on_failure {
                    held.cancel_hold_at_least();
                }
                child.dismiss().await;
                return Err(failure);
            }
        };
        if plan.slots.is_some() {
            // The command may have got it as well, and have ended for it before it was seen here.
            outcome.told_to_end |= signals.pending().await.iter().any(|came| FINAL.contains(came));
        }
        let marked = mark_slot(&mut held, &outcome, voice).await;
        let failed = outcome.ended.how.code() != Some(0) || held.has_open_slot();
        if plan.frees_on_failure && failed {
            held.cancel_hold_at_least();
        }
        // Nothing of the command is left, so whoever is next need not wait for those who saw to that.
        let end = release_locks(held, at_end, name, (outcome, marked), had_terminal, began, voice);
        tokio::join!(end, child.dismiss()).0
    }

    /// The tokens for the command, in the order in which the names were given.
    fn tokens(&self, held: &AnyGuard) -> Vec<(String, String)> {
        let known = held.tokens();
        let token = |name: &&LockName| known.iter().find(|(known, _)| *known == name.as_str());
        let tokens: Vec<_> =
            self.names.iter().filter_map(token).map(|(_, token)| token.to_string()).collect();
        let mut environment = vec![("TENURE_TOKEN".to_owned(), tokens.join(","))];
        if self.plan.kind == LockKind::All {
            let numbered = tokens.into_iter().zip(1..);
            environment.extend(numbered.map(|(token, at)| (format!("TENURE_TOKEN_{at}"), token)));
        }
        environment
    }
}

/// Lets go of the locks and finds the exit code.
async fn release_locks(
    held: AnyGuard,
    at_end: EndAction,
    name: &str,
    (outcome, marked): (SupervisionOutcome, Result<(), NotMarked>),
    had_terminal: bool,
    began: Instant,
    voice: &Reporter,
) -> Result<RunOutcome, Failure> {
    let ran_for = began.elapsed();
    let SupervisionOutcome { ended, lost: seen, told_to_end, sent } = outcome;
    let signal = match ended.how {
        ProcessExit::Signal(number) => Some(number),
        ProcessExit::Code(_) | ProcessExit::NotStarted => None,
    };
    let ran = ended.how != ProcessExit::NotStarted;
    if let Some(code) = ended.how.code() {
        held.set_exit_code(code);
    }
    let in_time = ended.at < held.deadline().as_nanos();
    let (failure, by) = (held.last_renewal_error(), held.broken_by());
    let released: Vec<_> = held.tokens().into_iter().map(|(name, _)| name.to_owned()).collect();
    let detaches = matches!(at_end, EndAction::Detach(..));
    let was_lost = seen.is_some() || ended.cause != EndCause::Itself;
    let stays_open = told_to_end && ended.how.code() == Some(0) && held.has_open_slot();
    let parted = at_end.release_or_detach(held, was_lost).await;
    let unmarked = marked.as_ref().err().and_then(|not| not.lost);
    let late = parted.as_ref().err().and_then(|not| not.lost);
    let lost = unmarked.or(late).or(seen);
    // Without the lock there is nothing that could stay held, and no slot that could be marked.
    let needs_lock = detaches || unmarked.is_some();
    let is_lost = is_lost(ended, lost, in_time) || (needs_lock && lost.is_some());
    // What was said of one that was not started yet held for one that runs.
    if is_lost && (seen.is_none() || !ran) {
        let reason = lost.unwrap_or(LostReason::Deadline);
        let fate = match ended.cause {
            _ if !ran => CommandFate::NotStarted,
            EndCause::Itself => CommandFate::Ended,
            EndCause::Lost | EndCause::Orphaned => CommandFate::Killed,
        };
        let failure = failure.as_deref().filter(|_| reason == LostReason::Deadline);
        let by = by.as_ref();
        voice.event(&Event::Lost { name, reason, by, failure, fate });
    }
    let codes = voice.codes();
    let code = match ended.how.code() {
        _ if is_lost => codes.lost,
        // Its success is not recorded.
        _ if marked.is_err() => codes.failed,
        _ if stays_open => by_signal(Signal::SIGTERM as i32),
        code => code.unwrap_or(codes.lost),
    };
    if ran {
        voice.event(&Event::Ended { name, code, signal, ran: ran_for });
    }
    let is_away = parted.as_ref().is_err_and(|not| !not.why.is_empty());
    match parted {
        Ok(EndOutcome::Released) => {
            let held = Some(began.elapsed());
            released.iter().for_each(|name| voice.event(&Event::Released { name, held }));
        }
        Ok(EndOutcome::Detached(stays)) => voice.event(&stays.event()),
        Err(NotReleased { why, .. }) if why.is_empty() => {}
        Err(NotReleased { why, .. }) if detaches && !is_lost => {
            return Err(Failure::Failed(Explanation::of_line(&why)));
        }
        Err(NotReleased { why, .. }) => {
            voice.event(&Event::ReleaseFailed { name, why: &why, is_lost })
        }
    }
    if let Err(NotMarked { why, .. }) = marked {
        let failure = if is_lost { Failure::Lost(why) } else { Failure::Failed(why) };
        return Err(failure);
    }
    let for_the_lock = ended.cause != EndCause::Itself && !told_to_end;
    let interrupt = FatalSignal::from_command_exit(ended.how, had_terminal, sent);
    let may_stay = is_away && !told_to_end && interrupt.is_none();
    Ok(RunOutcome { code, for_the_lock, is_lost, interrupt, may_stay })
}

/// Marks the slot of a command that succeeded as finished. One that was told to end has hardly done its work: its slot
/// stays open, and so does that of a lock which was lost.
async fn mark_slot(
    held: &mut AnyGuard,
    outcome: &SupervisionOutcome,
    voice: &Reporter,
) -> Result<(), NotMarked> {
    let Some((slot, _)) = held.slot() else { return Ok(()) };
    let succeeded = outcome.ended.how.code() == Some(0);
    if !succeeded || outcome.ended.cause != EndCause::Itself || !held.has_open_slot() {
        return Ok(());
    }
    if outcome.told_to_end {
        voice.event(&Event::SlotStaysOpen { name: &held.name(), slot: &slot });
        return Ok(());
    }
    if outcome.lost.is_some() {
        let lost = outcome.lost;
        let slot = slot.in_utc();
        let why =
            format!("the slot {slot} stays open, as its lock was lost before the command ended");
        return Err(NotMarked { lost, why: (why, "another host may run it again").into() });
    }
    held.mark_slot().await?;
    voice.event(&Event::SlotFinished { name: &held.name(), slot: &slot });
    Ok(())
}

/// Whether the command may have run for a time without the lock, or was ended for its sake.
///
/// A lease that ran out only after all of the command was gone, while tenure was stopped, takes
/// nothing away from what the command did.
fn is_lost(ended: CommandEnd, lost: Option<LostReason>, in_time: bool) -> bool {
    match (ended.cause, lost) {
        (EndCause::Lost | EndCause::Orphaned, _) => true,
        (EndCause::Itself, None) => false,
        (EndCause::Itself, Some(LostReason::Taken)) => true,
        (EndCause::Itself, Some(_)) => !in_time,
    }
}
