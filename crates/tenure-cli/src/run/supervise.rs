//! Holding the lock while the command runs.

use std::time::Duration;

use nix::sys::signal::Signal;
use tenure::{
    LostReason,
    clock::{Clock, SystemClock, Timestamp},
    inspect::Identity,
};

use super::{
    child::GuardedCommand,
    ending::{CommandEnd, EndCause, ProcessExit},
    guardian::vigil::overdue,
    held::AnyGuard,
    interrupt::KEYS,
    protocol::{GuardianOrder, GuardianReport},
    signals::{FINAL, Signals},
    terminal::{Terminal, stop_here},
};
use crate::{
    exit::Failure,
    explanation::Explanation,
    output::{CommandFate, Event, Reporter},
    settings::RunSettings,
};

/// The longest time between two looks at the deadline.
const BEAT: Duration = Duration::from_secs(1);
/// The shortest one.
const SHORTEST_BEAT: Duration = Duration::from_millis(10);
/// How long to wait for a word of who broke the lock.
const WORD: Duration = Duration::from_millis(200);
/// How long a guardian that seems to be gone may take for a last word, and its standby for its work.
const PATIENCE: Duration = Duration::from_millis(100);

/// A command that runs under a lock, and all that concerns it.
#[derive(Debug)]
pub(crate) struct Supervisor<'a> {
    /// What it runs under, and the name of that.
    pub(crate) held: &'a AnyGuard,
    pub(crate) name: &'a str,
    pub(crate) child: &'a mut GuardedCommand,
    pub(crate) signals: &'a mut Signals,
    pub(crate) terminal: Option<&'a Terminal>,
    pub(crate) plan: &'a RunSettings,
    pub(crate) voice: &'a Reporter,
    /// When the hold has lasted its longest.
    pub(crate) hold_end: Option<Timestamp>,
    /// Whether tenure was told to end the command.
    pub(crate) told_to_end: bool,
    /// What was sent to tenure of that which can be typed.
    pub(crate) sent: Option<Signal>,
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SupervisionOutcome {
    pub(crate) ended: CommandEnd,
    /// Why the lock was lost, if it was seen to be.
    pub(crate) lost: Option<LostReason>,
    /// Whether tenure was told to end the command.
    pub(crate) told_to_end: bool,
    /// What was sent to tenure of that which can be typed.
    pub(crate) sent: Option<Signal>,
}

/// How long not to look at the deadline. While a renewal can still keep the command from its end, which begins after
/// `left`, it is less than that, so that the renewal is seen before, also where a grant has little left of its lease.
fn beat(left: Option<Duration>, ttl: Duration) -> Duration {
    let longest = BEAT.min(ttl / 20);
    left.map_or(longest, |left| longest.min((left / 4).max(SHORTEST_BEAT)))
}

/// The system gave no process for the command.
fn not_started(error: String) -> Failure {
    let error = std::io::Error::other(error);
    Failure::Failed(Explanation::from_io_error("the command's process cannot be started", &error))
}

/// Who broke a lock that was taken, if they said so: that may come a moment after the loss.
pub(crate) async fn who_broke(held: &AnyGuard) -> Option<Identity> {
    let until = SystemClock.now().saturating_add(WORD);
    loop {
        let by = held.broken_by();
        if by.is_some() || SystemClock.now() >= until {
            return by;
        }
        SystemClock.sleep_until(SystemClock.now().saturating_add(SHORTEST_BEAT)).await;
    }
}

impl Supervisor<'_> {
    /// Returns when nothing of the command's group is left.
    pub(crate) async fn run(mut self) -> Result<SupervisionOutcome, Failure> {
        let clock = SystemClock;
        let mut loss = self.held.lost();
        let mut request = self.held.release_requested();
        let (mut requested, mut requested_by) = (false, None);
        let (mut risk, mut at_risk) = (self.held.at_risk(), false);
        let (mut lost, mut by) = (None, None);
        let mut deadline = self.held.deadline();
        loop {
            if self.held.deadline() != deadline && lost.is_none() {
                deadline = self.held.deadline();
                self.tell(&GuardianOrder::Renewed(deadline.as_nanos())).await?;
            }
            let end_begins = deadline.saturating_sub(self.plan.grace.max(self.plan.margin));
            let overdue = overdue(deadline, self.plan.margin);
            if self.plan.kill_when_lost {
                if clock.now() >= overdue {
                    let ended = self.end_overdue().await;
                    return Ok(self.outcome(ended, lost));
                }
                if clock.now() >= end_begins {
                    self.notice_end(&mut lost, deadline);
                }
            }
            let look = |left| clock.now().saturating_add(beat(left, self.plan.ttl));
            let look = if !self.plan.kill_when_lost {
                look(None)
            } else if lost.is_none() {
                look(Some(end_begins.since(clock.now()))).min(end_begins)
            } else {
                look(None).min(overdue)
            };
            tokio::select! {
                report = self.child.report() => match report {
                    Some(GuardianReport::Started(_)) => self.voice.record_start(),
                    Some(GuardianReport::Stopped(number)) => self.handle_stop(number).await?,
                    Some(GuardianReport::NotStarted(error)) => return Err(not_started(error)),
                    Some(GuardianReport::Ended(ended)) => {
                        // The guardian was the first to see that it was time.
                        if ended.cause == EndCause::Lost {
                            self.notice_end(&mut lost, deadline);
                        }
                        if lost == Some(LostReason::Taken) && by.is_none() {
                            self.say_who_broke_it().await;
                        }
                        return Ok(self.outcome(ended, lost));
                    }
                    None if self.plan.kill_when_lost && clock.now() >= end_begins => {
                        // One that stood still was killed by the kernel, for the lock's sake.
                        self.notice_end(&mut lost, deadline);
                        let ended = self.end_overdue().await;
                        return Ok(self.outcome(ended, lost));
                    }
                    None => return Err(self.replace_guardian().await),
                },
                signal = self.signals.next() => self.pass_on(signal).await?,
                loss = &mut loss, if lost.is_none() => {
                    lost = Some(loss.reason);
                    by = loss.broken_by().cloned();
                    // First what has to be done: nobody may read what is said.
                    if loss.reason == LostReason::Taken {
                        self.tell(&GuardianOrder::Taken).await?;
                    }
                    self.say_lost_to(loss.lock.name.as_str(), lost, by.as_ref());
                }
                () = &mut risk, if lost.is_none() => {
                    at_risk = !at_risk;
                    risk = if at_risk { self.held.recovered() } else { self.held.at_risk() };
                    self.say_risk(at_risk);
                }
                () = &mut request, if !requested => {
                    requested = true;
                    requested_by = self.held.release_requested_by();
                    self.handle_request(requested_by.as_ref()).await?;
                }
                () = clock.sleep_until(look) => {}
            }
            // Another one, which may be more urgent.
            if requested && lost.is_none() {
                let by = self.held.release_requested_by();
                if by.is_some() && by != requested_by {
                    requested_by = by;
                    self.handle_request(requested_by.as_ref()).await?;
                }
            }
        }
    }

    /// Somebody asks for the release of the lock.
    async fn handle_request(&mut self, by: Option<&Identity>) -> Result<(), Failure> {
        let obeys = self.plan.obeys_requests;
        if obeys {
            self.told_to_end |= self.plan.slots.is_some();
            self.tell(&GuardianOrder::Signal(Signal::SIGTERM as i32)).await?;
        }
        let request = Event::ReleaseRequested { name: self.name, by, obeys: Some(obeys) };
        self.voice.event(&request);
        Ok(())
    }

    fn outcome(&self, ended: CommandEnd, lost: Option<LostReason>) -> SupervisionOutcome {
        SupervisionOutcome { ended, lost, told_to_end: self.told_to_end, sent: self.sent }
    }

    /// Passes a signal on to the command.
    async fn pass_on(&mut self, signal: Signal) -> Result<(), Failure> {
        self.told_to_end |= FINAL.contains(&signal);
        if KEYS.contains(&signal) {
            self.sent = Some(signal);
        }
        if signal == Signal::SIGCONT {
            return self.handle_continue().await;
        }
        self.tell(&GuardianOrder::Signal(signal as i32)).await
    }

    /// The command was stopped. On a terminal tenure stops too, so that the shell sees it; without
    /// one there is nobody to continue it, and it goes on holding the lock.
    async fn handle_stop(&mut self, number: i32) -> Result<(), Failure> {
        let (Some(terminal), Some(group)) = (self.terminal, self.child.group()) else {
            return Ok(());
        };
        let had_terminal = terminal.take_back_from(group);
        self.voice.event(&Event::Stopped { name: self.name, left: self.held.remaining() });
        stop_here(had_terminal && number == Signal::SIGTSTP as i32);
        self.handle_continue().await
    }

    /// tenure was continued, and so is the command: with the terminal if the shell gave it back.
    async fn handle_continue(&mut self) -> Result<(), Failure> {
        if let (Some(terminal), Some(group)) = (self.terminal, self.child.group())
            && terminal.is_ours()
        {
            terminal.set_foreground_group(group);
        }
        self.tell(&GuardianOrder::Signal(Signal::SIGCONT as i32)).await
    }

    async fn tell(&mut self, order: &GuardianOrder) -> Result<(), Failure> {
        match self.child.tell(order) {
            Ok(()) => Ok(()),
            // One that has done its work and left does not listen either. Its report comes next.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(_) => Err(self.replace_guardian().await),
        }
    }

    /// Says once that the command is being ended.
    fn notice_end(&self, lost: &mut Option<LostReason>, deadline: Timestamp) {
        if lost.is_none() {
            *lost = Some(self.why_ending(deadline));
            self.say_lost(*lost);
        }
    }

    /// Why the command is being ended although the lock is not lost yet.
    fn why_ending(&self, deadline: Timestamp) -> LostReason {
        let close = deadline.saturating_add(self.plan.margin);
        if self.hold_end.is_some_and(|end| end <= close) {
            LostReason::MaxHold
        } else {
            LostReason::Deadline
        }
    }

    /// What the store said of it, where it was not renewed.
    fn last_renewal_error(&self, reason: LostReason) -> Option<String> {
        (reason == LostReason::Deadline).then(|| self.held.last_renewal_error()).flatten()
    }

    /// Says that the lock is at risk, or no longer. A lock that is lost is more than at risk.
    fn say_risk(&self, at_risk: bool) {
        let (name, left) = (self.name, self.held.remaining());
        match at_risk {
            true if left.is_zero() => {}
            true => self.voice.event(&Event::AtRisk { name, left }),
            false => self.voice.event(&Event::Recovered { name }),
        }
    }

    fn say_lost(&self, reason: Option<LostReason>) {
        self.say_lost_to(self.name, reason, None);
    }

    /// The same, where it is known which of several locks was lost, and to whom.
    fn say_lost_to(&self, name: &str, reason: Option<LostReason>, by: Option<&Identity>) {
        if let Some(reason) = reason {
            let fate =
                if self.plan.kill_when_lost { CommandFate::Killed } else { CommandFate::RunsOn };
            let failure = self.last_renewal_error(reason);
            self.voice.event(&Event::Lost { name, reason, by, failure: failure.as_deref(), fate });
        }
    }

    /// Says who took the lock, which may come a moment after the loss.
    async fn say_who_broke_it(&self) {
        if let Some(by) = who_broke(self.held).await {
            self.voice.event(&Event::Broken { name: self.name, by: &by });
        }
    }

    /// The group has to be gone now, by the guardian or without it.
    async fn end_overdue(&mut self) -> CommandEnd {
        // Half of the margin is left: a quarter of that for the guardian, and one for its
        // standby.
        let patience = PATIENCE.min(self.plan.margin / 8);
        if let Some(ended) = self.wait_for_end(patience).await {
            return ended;
        }
        self.child.take_over(patience).await;
        let at = SystemClock.now().as_nanos();
        CommandEnd { how: ProcessExit::Signal(Signal::SIGKILL as i32), cause: EndCause::Lost, at }
    }

    /// The guardian is dead, or deaf.
    async fn replace_guardian(&mut self) -> Failure {
        self.child.take_over(PATIENCE.min(self.plan.margin / 2)).await;
        Failure::failed((
            "the command was killed, as its guardian was killed or frozen",
            "leave the process lock-guardian alone, and choose a longer ttl on a busy machine",
        ))
    }

    async fn wait_for_end(&mut self, patience: Duration) -> Option<CommandEnd> {
        let word = async {
            loop {
                match self.child.report().await? {
                    GuardianReport::Ended(ended) => return Some(ended),
                    GuardianReport::Started(_)
                    | GuardianReport::NotStarted(_)
                    | GuardianReport::Stopped(_) => {}
                }
            }
        };
        tokio::time::timeout(patience, word).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On ZooKeeper half of a lease can be over when it is granted, and the renewal comes a second later.
    #[test]
    fn the_deadline_is_looked_at_before_the_end_begins() {
        let ttl = Duration::from_secs(30);
        assert_eq!(beat(Some(Duration::from_secs(20)), ttl), BEAT);
        for left in [2_000, 1_500, 200, 40].map(Duration::from_millis) {
            assert!(beat(Some(left), ttl) <= left / 4, "{left:?}");
        }
        assert_eq!(beat(Some(Duration::ZERO), ttl), SHORTEST_BEAT);
    }

    /// It may run on for hours after a loss, with `--on-lost warn`.
    #[test]
    fn a_command_that_no_renewal_keeps_from_its_end_is_seldom_looked_at() {
        assert_eq!(beat(None, Duration::from_secs(30)), BEAT);
    }
}
