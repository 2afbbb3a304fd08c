//! What this process remembers of its own acquisitions.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tenure_core::proto::{
    Backoff, Owner, Timestamp, Token,
    queue::{Ask, Kind, Label, Mode},
    quorum::attempt,
    rule::{Rule, kept},
};

use crate::members::looks::GateView;

/// For how much longer than its lease an acquisition is remembered: releases are repeated.
const AFTER: Duration = Duration::from_secs(30);
/// The pauses of one that waits.
const PAUSES: (Duration, Duration) = (Duration::from_millis(8), Duration::from_millis(200));

/// The acquisitions of one process, by their owners. One that is not remembered has made one
/// attempt, and holds nothing.
#[derive(Debug, Default)]
pub(crate) struct Acquisitions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    known: BTreeMap<Owner, Acquisition>,
    /// At how many those are swept out that ended long ago.
    sweep_at: usize,
}

#[derive(Debug)]
struct Acquisition {
    /// Which attempt is the last one: [`attempt`].
    attempt: u32,
    held: Option<GrantedHold>,
    /// The longest lease that was asked for.
    lease: Duration,
    /// An ask of this attempt was in doubt: a member may hold the name by it.
    in_doubt: bool,
    /// Until when an ask that was in doubt may still come to each member.
    late: BTreeMap<usize, Timestamp>,
    /// It was released, so its owner is not to be used again.
    ended: bool,
    /// It is to change hands, or did where no majority said so.
    leaving: bool,
    /// Which members have not said that they let go of it, when its release had no majority.
    unreleased: Vec<usize>,
    /// It was released and stays taken, so that no other attempt may follow while it does.
    kept: bool,
    pauses: Backoff,
    /// It waits for readers, and signed so that later ones wait for it.
    signed: bool,
    /// What it has seen of the gate, if it is a reader that waits.
    looks: Option<GateView>,
    forget_at: Timestamp,
}

/// What a hold was granted as.
#[derive(Clone, Debug)]
pub(crate) struct GrantedHold {
    pub(crate) token: Token,
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) label: Label,
    /// It belongs to no process. No member is asked to take it back: what is granted to an ask is a
    /// hold of the process that asks, and would end with that.
    pub(crate) detached: bool,
    /// Members that joined it with a greater token of their own.
    pub(crate) joined: Vec<(usize, Token)>,
}

/// What is known of an acquisition when it is asked for.
#[derive(Debug)]
pub(crate) struct AttemptHistory {
    pub(crate) attempt: Attempt,
    /// What it was granted as before.
    pub(crate) held: Option<GrantedHold>,
    /// The attempt before, which no release is of any more, its lease, and the members that may keep it.
    pub(crate) unreleased: Option<(Attempt, Duration, Vec<usize>)>,
}

/// What is to be released of an acquisition.
#[derive(Debug)]
pub(crate) struct PendingRelease {
    pub(crate) attempt: Attempt,
    /// The longest lease it has asked for, if that is known.
    pub(crate) lease: Option<Duration>,
    /// The members to which an ask may still come.
    pub(crate) late: Vec<usize>,
}

/// One attempt at an acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    of: Owner,
    number: u32,
}

impl Attempt {
    /// The owner by which members know it.
    pub(crate) fn owner(&self) -> Owner {
        let number = if kept(Rule::AttemptHasItsOwner) { self.number } else { 0 };
        attempt(&self.of, number)
    }

    /// The owner of the acquisition.
    pub(crate) fn of(&self) -> Owner {
        self.of
    }
}

impl Acquisitions {
    /// The attempt that an ask of `owner` belongs to, and what there is to know of it.
    pub(crate) fn begin_ask(&self, owner: &Owner) -> AttemptHistory {
        let mut state = self.lock();
        let of = *owner;
        let Some(known) = state.known.get_mut(owner) else {
            return AttemptHistory {
                attempt: Attempt { of, number: 0 },
                held: None,
                unreleased: None,
            };
        };
        let mut unreleased = None;
        if known.ended {
            let members = std::mem::take(&mut known.unreleased);
            let before = Attempt { of, number: known.attempt };
            unreleased = (!members.is_empty()).then_some((before, known.lease, members));
            (known.ended, known.in_doubt) = (false, false);
            known.late.clear();
            known.attempt += 1;
        }
        let attempt = Attempt { of, number: known.attempt };
        AttemptHistory { attempt, held: known.held.clone(), unreleased }
    }

    /// These members may still hold what was to be released. The next release is of this attempt too,
    /// unless somebody asks again before it: `false` if somebody has.
    pub(crate) fn record_unreleased(&self, attempt: Attempt, members: &[usize]) -> bool {
        let mut state = self.lock();
        let Some(known) = state.known.get_mut(&attempt.of) else { return true };
        let is_last = known.attempt == attempt.number;
        if is_last {
            known.unreleased = members.to_vec();
        }
        is_last
    }

    /// The attempt was granted.
    pub(crate) fn record_grant(
        &self,
        attempt: Attempt,
        held: GrantedHold,
        now: Timestamp,
        ttl: Duration,
    ) {
        self.update(attempt.of, now, ttl, |known| {
            known.attempt = attempt.number;
            let before = known.held.take().filter(|before| before.token == held.token);
            let joined = before.map(|before| before.joined).unwrap_or_default();
            known.held = Some(GrantedHold { joined, ..held });
            (known.ended, known.kept, known.leaving) = (false, false, false);
        });
    }

    /// The attempt is taken back: the next ask of this acquisition is another one.
    pub(crate) fn record_taken_back(&self, attempt: Attempt, now: Timestamp, ttl: Duration) {
        self.update(attempt.of, now, ttl, |known| {
            if !known.kept && known.attempt <= attempt.number {
                known.attempt = attempt.number + 1;
                known.in_doubt = false;
                known.late.clear();
            }
        });
    }

    /// An ask of this attempt was in doubt. The next ask belongs to the same attempt.
    pub(crate) fn record_in_doubt(&self, attempt: Attempt, now: Timestamp, ttl: Duration) {
        self.update(attempt.of, now, ttl, |known| {
            known.in_doubt |= known.attempt == attempt.number;
        });
    }

    /// These members did not answer an ask of this attempt, which may come to them as long as its lease
    /// lasts: also after the release of a hold that the others granted.
    pub(crate) fn record_unanswered(
        &self,
        attempt: Attempt,
        members: impl IntoIterator<Item = usize>,
        until: Timestamp,
    ) {
        let mut state = self.lock();
        let known = state.known.get_mut(&attempt.of).filter(|one| one.attempt == attempt.number);
        if let Some(known) = known {
            known.late.extend(members.into_iter().map(|member| (member, until)));
        }
    }

    /// Whether an earlier ask of this attempt was in doubt.
    pub(crate) fn is_in_doubt(&self, attempt: Attempt) -> bool {
        let state = self.lock();
        let known = state.known.get(&attempt.of);
        known.is_some_and(|known| known.attempt == attempt.number && known.in_doubt)
    }

    /// How long one that was refused is to wait before it asks again. Only who waits is remembered.
    pub(crate) fn retry_pause(
        &self,
        owner: &Owner,
        now: Timestamp,
        random: u64,
        waits: bool,
    ) -> Duration {
        if !waits {
            return Backoff::new(PAUSES.0, PAUSES.1).next(random);
        }
        let mut pause = PAUSES.0;
        self.update(*owner, now, Duration::ZERO, |known| pause = known.pauses.next(random));
        pause
    }

    /// The gate is signed for this writer, if it is known to wait.
    pub(crate) fn record_signature(&self, owner: &Owner) {
        if let Some(known) = self.lock().known.get_mut(owner) {
            known.signed = true;
        }
    }

    /// Whether the gate is signed for this writer.
    pub(crate) fn has_signed(&self, owner: &Owner) -> bool {
        self.lock().known.get(owner).is_some_and(|known| known.signed)
    }

    /// What this writer signed is struck out; whether it had signed.
    pub(crate) fn remove_signature(&self, owner: &Owner) -> bool {
        let mut state = self.lock();
        state.known.get_mut(owner).is_some_and(|known| std::mem::take(&mut known.signed))
    }

    /// What this reader has seen of the gate, if it is known to wait.
    pub(crate) fn gate_view(&self, owner: &Owner) -> Option<GateView> {
        self.lock().known.get(owner)?.looks.clone()
    }

    /// The reader has seen this, and waits.
    pub(crate) fn set_gate_view(&self, owner: &Owner, looks: GateView) {
        if let Some(known) = self.lock().known.get_mut(owner) {
            known.looks = Some(looks);
        }
    }

    /// The hold was renewed, or is to be: the attempt that it is, and what it was granted as.
    pub(crate) fn begin_renewal(
        &self,
        owner: &Owner,
        now: Timestamp,
        ttl: Duration,
    ) -> (Attempt, Option<GrantedHold>) {
        let mut state = self.lock();
        let Some(known) = state.known.get_mut(owner) else {
            return (Attempt { of: *owner, number: 0 }, None);
        };
        known.forget_at = known.forget_at.max(now.saturating_add(ttl).saturating_add(AFTER));
        (Attempt { of: *owner, number: known.attempt }, known.held.clone())
    }

    /// The hold is to change hands: which attempt it is. From now on it counts as held no more, so that
    /// no member is left with it that it comes back to meanwhile.
    pub(crate) fn begin_take_over(&self, owner: &Owner) -> Attempt {
        let mut state = self.lock();
        let known = state.known.get_mut(owner);
        let number = known.map_or(0, |known| {
            known.leaving = true;
            known.attempt
        });
        Attempt { of: *owner, number }
    }

    /// It certainly did not change hands.
    pub(crate) fn undo_take_over(&self, owner: &Owner) {
        if let Some(known) = self.lock().known.get_mut(owner) {
            known.leaving = false;
        }
    }

    /// The acquisition is given up: what to release. Its owner is not used again while releases may
    /// still arrive.
    pub(crate) fn begin_release(
        &self,
        owner: &Owner,
        keep: Duration,
        now: Timestamp,
    ) -> PendingRelease {
        let (mut attempt, mut lease, mut late) = (0, Duration::ZERO, Vec::new());
        self.update(*owner, now, Duration::ZERO, |known| {
            known.held = None;
            // However long the lease was that it had.
            known.forget_at = now.saturating_add(keep).saturating_add(AFTER);
            (known.ended, known.kept) = (keep.is_zero(), known.kept || !keep.is_zero());
            known.leaving = false;
            (attempt, lease) = (known.attempt, known.lease);
            known.unreleased.clear();
            known.late.retain(|_, until| *until > now);
            late = known.late.keys().copied().collect();
        });
        let lease = Some(lease).filter(|lease| !lease.is_zero());
        PendingRelease { attempt: Attempt { of: *owner, number: attempt }, lease, late }
    }

    /// A member joined this attempt late. If its own token is greater than that of the hold, it
    /// stays what it is there.
    pub(crate) fn record_join(&self, attempt: Attempt, member: usize, own: Token, token: Token) {
        if own <= token {
            return;
        }
        let mut state = self.lock();
        let known = state.known.get_mut(&attempt.of).filter(|one| one.attempt == attempt.number);
        if let Some(held) = known.and_then(|known| known.held.as_mut()) {
            held.joined.retain(|(other, _)| *other != member);
            held.joined.push((member, own));
        }
    }

    /// Whether this very attempt is a hold that was not given up.
    pub(crate) fn is_held(&self, attempt: Attempt) -> bool {
        self.held(attempt).is_some()
    }

    /// What this very attempt holds, if it was not given up.
    pub(crate) fn held(&self, attempt: Attempt) -> Option<GrantedHold> {
        let state = self.lock();
        let known = state.known.get(&attempt.of);
        known.filter(|known| known.attempt == attempt.number && !known.leaving)?.held.clone()
    }

    fn update(
        &self,
        owner: Owner,
        now: Timestamp,
        ttl: Duration,
        change: impl FnOnce(&mut Acquisition),
    ) {
        let mut state = self.lock();
        if !state.known.contains_key(&owner) && state.known.len() >= state.sweep_at.max(1_024) {
            state.known.retain(|_, known| known.forget_at > now);
            state.sweep_at = state.known.len() * 2;
        }
        let known = state.known.entry(owner).or_insert_with(|| Acquisition {
            attempt: 0,
            held: None,
            lease: Duration::ZERO,
            in_doubt: false,
            late: BTreeMap::new(),
            ended: false,
            leaving: false,
            unreleased: Vec::new(),
            kept: false,
            pauses: Backoff::new(PAUSES.0, PAUSES.1),
            signed: false,
            looks: None,
            forget_at: now,
        });
        known.forget_at = known.forget_at.max(now.saturating_add(ttl).saturating_add(AFTER));
        known.lease = known.lease.max(ttl);
        change(known);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GrantedHold {
    /// What was granted to `ask`.
    pub(crate) fn of(ask: &Ask, token: Token) -> Self {
        let (kind, mode, label) = (ask.kind, ask.mode, ask.label.clone());
        Self { token, kind, mode, label, detached: false, joined: Vec::new() }
    }
}
