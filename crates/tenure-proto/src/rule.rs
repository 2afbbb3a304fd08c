//! The rules that keep a lock safe. A test can break each of them, to check that the break is noticed.
//!
//! Code that enforces a rule calls [`kept`]. Without the feature `broken-rules`, `kept` is a constant `true` and costs
//! nothing.

macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// One rule of a safe lock.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule { $($(#[doc = $doc])+ $name,)+ }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The rules that only a quorum has to keep.
            pub const OF_QUORUMS: &'static [Self] = &[
                Self::TokenOfQuorumIsWritten,
                Self::LeaseOfQuorumIsTheLeast,
                Self::PartialWinGivenBack,
                Self::WipedMemberKeptOut,
                Self::RestartedMemberKeptOut,
                Self::NewMarkCountsLater,
                Self::AttemptHasItsOwner,
                Self::SilentMemberReleasedAgain,
                Self::LateGrantGivenBack,
                Self::RenewalMakesNoMajority,
                Self::DowngradeByMajority,
                Self::TakeOverByMajority,
            ];

            /// Returns the rule in one sentence.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+),)+ }
            }
        }
    };
}

rules! {
    /// A release touches only the lease of its own owner.
    OwnerCheckedOnRelease,
    /// A renewal extends only the lease of its own owner.
    OwnerCheckedOnRenewal,
    /// A hold is taken over from its own owner alone.
    OwnerCheckedOnTakeOver,
    /// Whoever was taken over from holds nothing more.
    TakeOverEndsTheOld,
    /// A hold that changes hands gets a greater token.
    TakeOverRaisesToken,
    /// What was detached is not taken back by the process that detached it.
    DetachedIsLeftAlone,
    /// A renewal never brings back a lease that has ended.
    RenewalNeverCreates,
    /// A deadline counts from the sending of the request, not from its answer.
    DeadlineCountsFromSending,
    /// An answer that comes after its own deadline is no grant.
    LateGrantRefused,
    /// A deadline leaves room for clocks that run at different rates.
    DriftAllowedFor,
    /// A holder stops at its own deadline, whatever it has or has not heard.
    HolderStopsAtDeadline,
    /// A holder is told of the loss of its hold as soon as it is lost.
    LossIsTold,
    /// A lost lease stays lost, whatever answer comes late.
    LostIsFinal,
    /// Each acquisition has an owner of its own.
    FreshOwnerEachTime,
    /// An acquisition whose answer never came is taken back.
    DoubtfulGrantTakenBack,
    /// An acquisition dropped midway is taken back.
    DroppedAcquireTakenBack,
    /// Renewals end with the guard.
    RenewalEndsWithGuard,
    /// A renewal that failed is tried again before the deadline.
    FailedRenewalTriedAgain,
    /// Tokens rise also when the store has lost its memory.
    TokensOutliveMemory,
    /// A resource refuses a token smaller than one it has seen.
    ResourceComparesTokens,
    /// No answer means unknown, not refused.
    SilenceIsDoubt,
    /// A waiter looks again by itself when no wake-up comes.
    WaiterLooksAgain,
    /// A contender that does not claim its grant is passed over.
    AbsentWaiterPassedOver,
    /// Repeating an acquire never extends the lease.
    RepeatNeverExtends,
    /// The permits of a dead holder come back when its lease ends.
    PermitsOfTheDeadComeBack,
    /// No more permits are out than there are.
    PermitsCounted,
    /// No reader enters beside a writer.
    NoReaderBesideWriter,
    /// Who waits first in line is not overtaken by those behind it, although they would fit.
    FirstInLineNotOvertaken,
    /// Whoever wants a name alone waits until nobody has it.
    ExclusiveEntersAlone,
    /// The place of a dead waiter ends.
    PlaceOfTheDeadEnds,
    /// A lease that became a shared one is not handed to a task that wants it alone.
    SharedLeaseNotHandedOver,
    /// Every local pass has a token of its own.
    PassRaisesToken,
    /// A turn inside one process is bounded while others wait.
    TurnIsBounded,
    /// What a task is handed and does not take goes on to the next.
    UntakenGoesOn,
    /// The token of a quorum is written to a majority before it is answered.
    TokenOfQuorumIsWritten,
    /// What a quorum's holder counts on is the least lease of a majority.
    LeaseOfQuorumIsTheLeast,
    /// What was won of a quorum without a majority is given back.
    PartialWinGivenBack,
    /// A member that lost its memory is not counted until the longest lease has passed.
    WipedMemberKeptOut,
    /// A member that restarted with a part of its memory is not counted until the longest lease has
    /// passed.
    RestartedMemberKeptOut,
    /// The mark of a member whose memory is new counts only after the longest lease.
    NewMarkCountsLater,
    /// Each attempt at a majority has an owner of its own.
    AttemptHasItsOwner,
    /// A member that never answered is released again until one ttl has passed.
    SilentMemberReleasedAgain,
    /// What a member grants after the hold has ended is given back.
    LateGrantGivenBack,
    /// A renewal never makes a majority that was not there.
    RenewalMakesNoMajority,
    /// A writer lets readers in only when a majority does.
    DowngradeByMajority,
    /// A quorum's hold changes hands only where a majority gave it over.
    TakeOverByMajority,
    /// Whoever takes several locks takes them in the order in which everybody does.
    EverybodySortsAlike,
    /// Of several locks that were not all acquired, none stays held.
    AllOrNothing,
    /// Of several names that a store is asked for in one step, all are granted or none.
    JointGrantIsAllOrNone,
    /// A scope never enters what another one holds, unless it is nested in that.
    ScopeIsItsOwn,
    /// A nested scope enters what is held around it.
    NestedScopeEnters,
    /// A hold that was lost is not entered again.
    LostHoldNotEntered,
    /// Of several futures of a scope that ask at a time, one asks the store.
    ScopeAsksOnce,
    /// Only the last release of a reentrant hold lets it go.
    LastReleaseLetsGo,
    /// A scope forgets what it let go.
    ScopeForgets,
    /// An arrival counts once, whoever repeats it.
    ArrivalCountsOnce,
    /// An arrival that was not let go yet does not count.
    HalfAnArrivalIsNone,
    /// Nobody is told that it arrived before the store shows it.
    ArrivalIsSeen,
    /// A latch lets nobody through before all have arrived.
    LatchOpensAtZero,
    /// A name that is let go with a time to keep stays taken for that time.
    KeptNameStaysTaken,
    /// An owner that let a name go to be kept is granted it no second time.
    KeptOwnerIsThereOnce,
    /// Each term of an election is one of the store's: none is passed on inside a process.
    TermNotHandedOver,
    /// A name that is only kept taken after a resignation is led by nobody.
    ResignedLeadsNoMore,
    /// Another term is news, also when nobody was seen to resign.
    NextTermIsNews,
    /// What an observer was told is no news again.
    NewsToldOnce,
    /// Whoever only watches a name looks again, however little changes.
    WatcherLooksAgain,
    /// A fault that passes is ridden out by who looks at a name.
    PassingFaultsRiddenOut,
}

#[cfg(feature = "broken-rules")]
mod switch {
    use std::cell::Cell;

    use super::Rule;

    thread_local! {
        static BROKEN: Cell<Option<Rule>> = const { Cell::new(None) };
    }

    /// Keeps a rule broken on this thread until it is dropped.
    #[derive(Debug)]
    #[must_use = "the rule is kept again as soon as this is dropped"]
    pub struct Broken(());

    impl Drop for Broken {
        fn drop(&mut self) {
            BROKEN.set(None);
        }
    }

    /// Breaks `rule` on this thread, for tests that must notice it.
    pub fn break_rule(rule: Rule) -> Broken {
        BROKEN.set(Some(rule));
        Broken(())
    }

    /// Returns whether `rule` is in force on this thread.
    #[must_use]
    pub fn kept(rule: Rule) -> bool {
        BROKEN.get() != Some(rule)
    }
}

#[cfg(feature = "broken-rules")]
pub use switch::{Broken, break_rule, kept};

/// Returns whether `rule` is in force.
#[cfg(not(feature = "broken-rules"))]
#[must_use]
#[inline(always)]
pub const fn kept(_rule: Rule) -> bool {
    true
}
