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
    /// A release affects only the lease of its owner.
    OwnerCheckedOnRelease,
    /// A renewal extends only the lease of its owner.
    OwnerCheckedOnRenewal,
    /// A hold is taken over only from its owner.
    OwnerCheckedOnTakeOver,
    /// After a take-over, the old owner holds nothing.
    TakeOverEndsTheOld,
    /// A hold that is taken over gets a greater token.
    TakeOverRaisesToken,
    /// A process does not take back a hold that it detached.
    DetachedIsLeftAlone,
    /// A renewal never brings back a lease that has ended.
    RenewalNeverCreates,
    /// A deadline counts from the sending of the request, not from its answer.
    DeadlineCountsFromSending,
    /// An answer that arrives after its deadline is no grant.
    LateGrantRefused,
    /// A deadline allows for clocks that run at different rates.
    DriftAllowedFor,
    /// A holder stops at its deadline, whatever answers it has received.
    HolderStopsAtDeadline,
    /// A holder learns of the loss of its hold as soon as it is lost.
    LossIsTold,
    /// A lost lease stays lost, whatever answer arrives late.
    LostIsFinal,
    /// Each acquisition has its own owner.
    FreshOwnerEachTime,
    /// An acquisition whose answer never came is taken back.
    DoubtfulGrantTakenBack,
    /// An acquisition that is dropped midway is taken back.
    DroppedAcquireTakenBack,
    /// Renewals end with the guard.
    RenewalEndsWithGuard,
    /// A renewal that failed is tried again before the deadline.
    FailedRenewalTriedAgain,
    /// Tokens rise even after the store has lost its memory.
    TokensOutliveMemory,
    /// A resource refuses a token smaller than one it has seen.
    ResourceComparesTokens,
    /// No answer means unknown, not refused.
    SilenceIsDoubt,
    /// A waiter asks again on its own when no wake-up arrives.
    WaiterLooksAgain,
    /// A contender that does not claim its grant is passed over.
    AbsentWaiterPassedOver,
    /// Repeating an acquire never extends the lease.
    RepeatNeverExtends,
    /// The permits of a dead holder come back when its lease ends.
    PermitsOfTheDeadComeBack,
    /// No more permits are taken than there are.
    PermitsCounted,
    /// No reader enters while there is a writer.
    NoReaderBesideWriter,
    /// The first waiter is not overtaken by those behind it, even if they would fit.
    FirstInLineNotOvertaken,
    /// An exclusive contender waits until the name has no holder.
    ExclusiveEntersAlone,
    /// The queue position of a dead waiter ends.
    PlaceOfTheDeadEnds,
    /// A lease that became shared is not handed to a task that wants it exclusively.
    SharedLeaseNotHandedOver,
    /// Every hand-over inside a process has its own token.
    PassRaisesToken,
    /// A run of hand-overs inside one process is bounded while other processes wait.
    TurnIsBounded,
    /// A hand-over that a task does not take goes to the next task.
    UntakenGoesOn,
    /// The token of a quorum is written to a majority before it is answered.
    TokenOfQuorumIsWritten,
    /// A quorum's holder counts on the shortest lease of a majority.
    LeaseOfQuorumIsTheLeast,
    /// Members that were won without a majority are released.
    PartialWinGivenBack,
    /// A member that lost its memory is not counted until the longest lease has passed.
    WipedMemberKeptOut,
    /// A member that restarted with a part of its memory is not counted until the longest lease has
    /// passed.
    RestartedMemberKeptOut,
    /// The mark of a member with a new memory counts only after the longest lease.
    NewMarkCountsLater,
    /// Each attempt at a majority has its own owner.
    AttemptHasItsOwner,
    /// A member that never answered is released again until one ttl has passed.
    SilentMemberReleasedAgain,
    /// A grant by a member after the hold has ended is released.
    LateGrantGivenBack,
    /// A renewal never makes a new majority.
    RenewalMakesNoMajority,
    /// A writer lets readers in only when a majority does.
    DowngradeByMajority,
    /// A quorum's hold is taken over only if a majority handed it over.
    TakeOverByMajority,
    /// Programs that take several locks all take them in the same order.
    EverybodySortsAlike,
    /// If several locks were not all acquired, each of them is released.
    AllOrNothing,
    /// A store grants several names in one step together or not at all.
    JointGrantIsAllOrNone,
    /// A scope never enters another scope's hold, unless it is nested in that scope.
    ScopeIsItsOwn,
    /// A nested scope enters the holds of the scopes around it.
    NestedScopeEnters,
    /// A lost hold is not entered again.
    LostHoldNotEntered,
    /// Of several futures of a scope that ask at the same time, one asks the store.
    ScopeAsksOnce,
    /// Only the last release of a reentrant hold releases it.
    LastReleaseLetsGo,
    /// A scope forgets a hold that it released.
    ScopeForgets,
    /// An arrival counts once, whichever process repeats it.
    ArrivalCountsOnce,
    /// An arrival that was not yet released does not count.
    HalfAnArrivalIsNone,
    /// An arrival is reported only after the store shows it.
    ArrivalIsSeen,
    /// A latch lets no waiter through before all have arrived.
    LatchOpensAtZero,
    /// A name that is released with a time to keep stays taken for that time.
    KeptNameStaysTaken,
    /// An owner that released a name to be kept is not granted it again.
    KeptOwnerIsThereOnce,
    /// The store grants each term of an election: no term is handed over inside a process.
    TermNotHandedOver,
    /// A name that only stays taken after a resignation has no leader.
    ResignedLeadsNoMore,
    /// Another term is news, even if no resignation was seen.
    NextTermIsNews,
    /// An observer receives each news once.
    NewsToldOnce,
    /// A watcher of a name asks again, however little changes.
    WatcherLooksAgain,
    /// A call that inspects a name retries after a transient fault.
    PassingFaultsRiddenOut,
    /// A slot that is finished is not run again.
    FinishedSlotNotRepeated,
    /// A slot that has ended is not run.
    SlotEnds,
    /// Each run of a slot counts as a try.
    TriesCounted,
    /// A name has one schedule.
    OneScheduleForAName,
    /// Only the holder of a name writes the record of its slots.
    OnlyHolderWritesSlots,
    /// A late copy of an earlier write does not replace the record of the slots.
    LateCopyOfSlotsRefused,
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
