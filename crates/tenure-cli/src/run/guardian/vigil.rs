//! When the guardian ends a command: decisions only.

use std::time::Duration;

use tenure::clock::Timestamp;

use crate::run::ending::{EndCause, ProcessExit, TerminationPolicy};

/// How long a guardian may stand still in the work of ending a command that has no deadline.
const UNWATCHED: Duration = Duration::from_secs(1);

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardianAction {
    /// Nothing until then.
    Wait(Timestamp),
    /// Send SIGTERM to the group.
    Terminate,
    /// Send SIGKILL to the group.
    Kill,
}

/// The guardian's watch over one command.
#[derive(Debug)]
pub(crate) struct GuardianState {
    terms: TerminationPolicy,
    deadline: Timestamp,
    cause: EndCause,
    told: bool,
    killed: bool,
    kill_now: bool,
    taken: bool,
    orphaned: bool,
    /// When and how the command itself ended. Others of its family may still live.
    main_ended: Option<(Timestamp, ProcessExit)>,
}

impl GuardianState {
    pub(crate) fn new(terms: TerminationPolicy, deadline: Timestamp) -> Self {
        Self {
            terms,
            deadline,
            cause: EndCause::Itself,
            told: false,
            killed: false,
            kill_now: false,
            taken: false,
            orphaned: false,
            main_ended: None,
        }
    }

    pub(crate) fn cause(&self) -> EndCause {
        self.cause
    }

    /// The lock was renewed. A command that was told to end for its sake is not reprieved: it may
    /// be half way through its clean-up.
    pub(crate) fn renewed(&mut self, deadline: Timestamp) {
        if self.cause == EndCause::Itself {
            self.deadline = self.deadline.max(deadline);
        }
    }

    /// The lock belongs to somebody else already.
    pub(crate) fn record_eviction(&mut self) {
        self.taken = true;
        if self.terms.kill_when_lost {
            self.blame(EndCause::Lost);
            self.kill_now = true;
        }
    }

    /// tenure is gone, so nobody renews the lock and nobody waits for the command.
    pub(crate) fn record_orphaned(&mut self) {
        self.blame(EndCause::Orphaned);
        self.orphaned = true;
        self.kill_now = true;
    }

    /// The command itself ended; what it left running has to go before the lock does.
    pub(crate) fn record_exit(&mut self, now: Timestamp, how: ProcessExit) {
        self.main_ended.get_or_insert((now, how));
    }

    /// How the command itself ended, if it did.
    pub(crate) fn how(&self) -> Option<ProcessExit> {
        self.main_ended.map(|(_, how)| how)
    }

    /// Whether SIGKILL was sent. Who turns up in the family later gets it too.
    pub(crate) fn is_killing(&self) -> bool {
        self.killed
    }

    /// Whether tenure is gone.
    pub(crate) fn is_orphaned(&self) -> bool {
        self.orphaned
    }

    /// Whether a command that was not started yet may be: only while the lock is held, also where
    /// one that runs would run on without it, and not if it had to be ended at once.
    pub(crate) fn may_start(&self, now: Timestamp) -> bool {
        let spare = if self.terms.kill_when_lost {
            self.terms.grace.max(self.terms.margin)
        } else {
            Duration::ZERO
        };
        !self.taken && !self.orphaned && now < self.deadline.saturating_sub(spare)
    }

    /// By when this process must act again, seen at `now`: if it has not, it is stopped, and others
    /// must act. After the kill too, as children of the killed turn up later.
    pub(crate) fn last_moment(&self, now: Timestamp) -> Timestamp {
        if !self.terms.kill_when_lost {
            // The command may run on, unless it was killed since nobody waits for it.
            let ending = self.killed && self.orphaned;
            return if ending { now.saturating_add(UNWATCHED) } else { Timestamp::NEVER };
        }
        let last = overdue(self.deadline, self.terms.margin);
        if self.killed {
            // One that is still at work is the more needed the longer that takes.
            return last.max(now.saturating_add(self.terms.margin / 4));
        }
        last
    }

    /// What to do at `now`. Each of the two signals is asked for once.
    pub(crate) fn next(&mut self, now: Timestamp) -> GuardianAction {
        if self.killed {
            return GuardianAction::Wait(Timestamp::NEVER);
        }
        let lease_end = if self.terms.kill_when_lost { self.deadline } else { Timestamp::NEVER };
        let last_moment = lease_end.saturating_sub(self.terms.margin);
        let left_over = self.main_ended.map(|(ended, _)| ended.saturating_add(self.terms.grace));
        let kill_at = left_over.map_or(last_moment, |end| end.min(last_moment));
        let tell_at = lease_end.saturating_sub(self.terms.grace).min(kill_at);
        if now >= tell_at {
            self.blame(EndCause::Lost);
        }
        if self.kill_now || now >= kill_at {
            self.killed = true;
            return GuardianAction::Kill;
        }
        if !self.told && (left_over.is_some() || now >= tell_at) {
            self.told = true;
            return GuardianAction::Terminate;
        }
        GuardianAction::Wait(if self.told { kill_at } else { tell_at })
    }

    /// The first cause stays: a command that ended in time was not ended by what came later.
    fn blame(&mut self, cause: EndCause) {
        if self.cause == EndCause::Itself && self.main_ended.is_none() {
            self.cause = cause;
        }
    }
}

/// When a guardian that has not killed the command before `deadline` is no use.
pub(crate) fn overdue(deadline: Timestamp, margin: Duration) -> Timestamp {
    deadline.saturating_sub(margin / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(5);
    const MARGIN: Duration = Duration::from_millis(250);

    fn at(millis: u64) -> Timestamp {
        Timestamp::ZERO.saturating_add(Duration::from_millis(millis))
    }

    fn vigil(kill_when_lost: bool) -> GuardianState {
        GuardianState::new(
            TerminationPolicy { grace: GRACE, margin: MARGIN, kill_when_lost },
            at(30_000),
        )
    }

    #[test]
    fn the_group_is_told_a_grace_before_the_deadline_and_killed_before_it() {
        let mut vigil = vigil(true);
        assert_eq!(vigil.next(at(0)), GuardianAction::Wait(at(25_000)));
        assert_eq!(vigil.next(at(25_000)), GuardianAction::Terminate);
        assert_eq!(vigil.next(at(25_001)), GuardianAction::Wait(at(29_750)));
        assert_eq!(vigil.next(at(29_750)), GuardianAction::Kill);
        assert_eq!(vigil.next(at(29_751)), GuardianAction::Wait(Timestamp::NEVER));
        assert_eq!(vigil.cause(), EndCause::Lost);
    }

    #[test]
    fn a_command_is_started_only_while_the_lock_is_held() {
        let mut one = vigil(true);
        assert!(one.may_start(at(24_999)));
        assert!(!one.may_start(at(25_000)), "it would be told to end at once");
        one.renewed(at(40_000));
        assert!(one.may_start(at(25_000)));
        one.record_eviction();
        assert!(!one.may_start(at(0)));
        let mut one = vigil(false);
        assert!(one.may_start(at(29_999)));
        assert!(!one.may_start(at(30_000)), "a warning is for one that runs");
        one.record_eviction();
        assert!(!one.may_start(at(0)));
        let mut one = vigil(false);
        one.record_orphaned();
        assert!(!one.may_start(at(0)));
    }

    #[test]
    fn the_last_moment_lies_between_the_kill_and_the_deadline_and_moves_with_it() {
        let mut one = vigil(true);
        assert_eq!(one.last_moment(at(0)), at(29_875));
        one.renewed(at(40_000));
        assert_eq!(one.last_moment(at(0)), at(39_875));
        assert_eq!(one.last_moment(at(50_000)), at(39_875), "nothing was killed yet");
        assert_eq!(vigil(false).last_moment(at(0)), Timestamp::NEVER, "the command may run on");
    }

    #[test]
    fn the_last_moment_stays_after_the_kill_and_moves_on_only_while_the_guardian_works() {
        let mut one = vigil(true);
        assert_eq!(one.next(at(29_750)), GuardianAction::Kill);
        assert_eq!(one.last_moment(at(29_750)), at(29_875), "others of the family may turn up");
        assert_eq!(
            one.last_moment(at(29_870)),
            at(29_870).saturating_add(MARGIN / 4),
            "it works still"
        );

        let mut one = vigil(true);
        one.record_orphaned();
        assert_eq!(one.next(at(1)), GuardianAction::Kill);
        assert_eq!(one.last_moment(at(1)), at(29_875));

        let mut one = vigil(false);
        one.record_orphaned();
        assert_eq!(one.last_moment(at(1)), Timestamp::NEVER, "it has not killed yet");
        assert_eq!(one.next(at(1)), GuardianAction::Kill);
        assert_eq!(one.last_moment(at(1)), at(1_001));
    }

    #[test]
    fn a_guardian_that_wakes_up_late_kills_at_once() {
        assert_eq!(vigil(true).next(at(31_000)), GuardianAction::Kill);
    }

    #[test]
    fn a_renewal_moves_both_moments() {
        let mut vigil = vigil(true);
        vigil.renewed(at(40_000));
        assert_eq!(vigil.next(at(25_000)), GuardianAction::Wait(at(35_000)));
        vigil.renewed(at(20_000));
        assert_eq!(
            vigil.next(at(25_000)),
            GuardianAction::Wait(at(35_000)),
            "an older one moves nothing"
        );
    }

    #[test]
    fn a_command_that_was_told_to_end_is_not_reprieved() {
        let mut vigil = vigil(true);
        assert_eq!(vigil.next(at(25_000)), GuardianAction::Terminate);
        vigil.renewed(at(60_000));
        assert_eq!(vigil.next(at(29_750)), GuardianAction::Kill);
        assert_eq!(vigil.cause(), EndCause::Lost);
    }

    #[test]
    fn a_lock_that_somebody_else_has_ends_the_command_at_once() {
        let mut vigil = vigil(true);
        vigil.record_eviction();
        assert_eq!(vigil.next(at(1)), GuardianAction::Kill);
        assert_eq!(vigil.cause(), EndCause::Lost);
    }

    #[test]
    fn with_a_warning_alone_a_lost_lock_ends_nothing() {
        let mut vigil = vigil(false);
        vigil.record_eviction();
        assert!(
            matches!(vigil.next(at(99_000)), GuardianAction::Wait(until) if until > at(u64::MAX / 2_000_000))
        );
    }

    #[test]
    fn the_death_of_tenure_ends_the_command_at_once_even_with_a_warning_alone() {
        for kill_when_lost in [true, false] {
            let mut vigil = vigil(kill_when_lost);
            vigil.record_orphaned();
            assert_eq!(vigil.next(at(1)), GuardianAction::Kill);
            assert_eq!(vigil.cause(), EndCause::Orphaned);
        }
    }

    #[test]
    fn what_the_command_leaves_running_gets_the_grace_but_never_more_than_the_lease() {
        let mut one = vigil(true);
        one.record_exit(at(1_000), ProcessExit::Code(0));
        assert_eq!(one.next(at(1_000)), GuardianAction::Terminate);
        assert_eq!(one.next(at(1_000)), GuardianAction::Wait(at(6_000)));
        assert_eq!(one.next(at(6_000)), GuardianAction::Kill);
        assert_eq!(one.cause(), EndCause::Itself, "the command ended before");

        let mut one = vigil(true);
        one.record_exit(at(28_000), ProcessExit::Code(0));
        one.next(at(28_000));
        assert_eq!(one.next(at(28_000)), GuardianAction::Wait(at(29_750)));
    }
}
