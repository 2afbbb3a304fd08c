//! The members, and what they really keep together.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use tenure_core::{
    Clock, LockName, MemoryStore, Owner, Saved, Store, Timestamp, Token,
    proto::{
        queue::{Contender, Mode, Snapshot},
        quorum::{majority, mark},
    },
};
use tenure_sim::{SimClock, check::StoreOracle};
use tenure_testkit::Random;

use super::{
    ledger::{Ledger, Noted},
    plan::Plan,
};

/// Stores in memory, each with a clock of its own.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) stores: Vec<Noted>,
    ledger: Ledger,
    clocks: Vec<SimClock>,
    /// By how much the time of day of each differs from the true one, in microseconds.
    skews: Mutex<Vec<i64>>,
    clock: SimClock,
    longest: Duration,
    calls_outlive_drop: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What members forgot with their memory. As long as it would have lasted they are kept out, so
    /// nobody else can use the gap.
    forgotten: Vec<Lease>,
    /// Who has been seen with which hold, and who has lost it since.
    had: BTreeSet<(Owner, usize)>,
    lost: BTreeSet<(Owner, usize)>,
    rejoined: u64,
    /// Which holds a majority had, and which of them it had no more.
    held: BTreeSet<(LockName, Owner, Token)>,
    gone: BTreeSet<(LockName, Owner, Token)>,
    wiped: Vec<Option<Timestamp>>,
    saved: Vec<Option<Saved>>,
}

/// What one member keeps of one hold, by true time.
#[derive(Clone, Debug)]
struct Lease {
    member: usize,
    name: LockName,
    owner: Owner,
    holder: Contender,
    ends: Timestamp,
}

impl Members {
    pub(super) fn new(plan: &Plan, clock: &SimClock, random: &mut Random) -> Self {
        let (rate, mut skews) = (plan.rate, Vec::new());
        let clocks: Vec<_> = (0..plan.members)
            .map(|_| {
                let own = clock.beside(1_000_000_000, *random.choose(&[-rate, 0, rate]));
                skews.push(skew(plan, random));
                own.set_wall_by(skews[skews.len() - 1]);
                own
            })
            .collect();
        let ledger = Ledger::default();
        let stores = clocks.iter().enumerate().map(|(member, own)| Noted {
            store: MemoryStore::with_clock(Arc::new(own.clone())),
            member,
            ledger: ledger.clone(),
        });
        let stores = stores.collect();
        let state = State {
            wiped: vec![None; plan.members],
            saved: vec![None; plan.members],
            ..State::default()
        };
        let (clock, longest, skews) = (clock.clone(), plan.longest(), Mutex::new(skews));
        Self {
            stores,
            ledger,
            clocks,
            skews,
            clock,
            longest,
            calls_outlive_drop: plan.calls_outlive_drop,
            state: Mutex::new(state),
        }
    }

    /// How many times a member that had lost a hold had it again.
    pub(super) fn rejoined(&self) -> u64 {
        self.lock().rejoined
    }

    /// Sets the time of day of a member anew.
    pub(super) fn set_wall(&self, member: usize, plan: &Plan, random: &mut Random) {
        let skew = skew(plan, random);
        let mut skews = self.skews.lock().unwrap();
        self.clocks[member].set_wall_by(skew - skews[member]);
        skews[member] = skew;
    }

    /// A member loses its memory, unless a majority would have lost it within the time that they
    /// are kept out for.
    pub(super) async fn wipe(&self, member: usize) -> bool {
        self.loses(member, MemoryStore::forget).await
    }

    /// A member restarts and forgets what came after it was last saved, unless too many lost memory
    /// lately.
    pub(super) async fn restart(&self, member: usize) -> bool {
        let Some(saved) = self.lock().saved[member].clone() else { return false };
        self.loses(member, |store| store.forget_since(&saved)).await
    }

    /// What a member would remember after a restart. Its mark is part of it: without one it would come
    /// back as if it were empty.
    pub(super) async fn save(&self, member: usize) {
        let (store, mark) = (&self.stores[member].store, LockName::new(mark::NAME).unwrap());
        if store.inspect(&mark).await.unwrap().holders.iter().any(|mark| mark.lingering) {
            self.lock().saved[member] = Some(store.save());
        }
    }

    async fn loses(&self, member: usize, lose: impl FnOnce(&MemoryStore)) -> bool {
        let now = self.clock.now();
        let lately = |at: &Option<Timestamp>| at.is_some_and(|at| now.since(at) < self.longest * 2);
        {
            let mut state = self.lock();
            let all = state.wiped.iter().enumerate();
            let others = all.filter(|(one, at)| *one != member && lately(at)).count();
            if others + 1 > self.stores.len() - majority(self.stores.len()) {
                return false;
            }
            state.wiped[member] = Some(now);
            state.forgotten.retain(|lease| lease.ends > now);
        }
        for name in self.names(member).await {
            let leases = self.leases(member, &name).await;
            self.lock().forgotten.extend(leases);
        }
        lose(&self.stores[member].store);
        true
    }

    /// An operator takes a name from its holders, and reaches some of the members. Whether it was
    /// held anywhere.
    pub(super) async fn evict(&self, name: &LockName, random: &mut Random) -> bool {
        let mut held = false;
        for store in &self.stores {
            if random.happens(700) {
                held |= !store.evict(name).await.unwrap().is_empty();
            }
        }
        held
    }

    /// What members keep of a name under labels that begin so, hold by hold.
    pub(super) async fn parts(
        &self,
        name: &LockName,
        prefix: &str,
    ) -> BTreeMap<Owner, Vec<Contender>> {
        let mut parts: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for store in &self.stores {
            for holder in store.inspect(name).await.unwrap().holders {
                if holder.label.starts_with(prefix) {
                    let owner = self.ledger.owner(store.member, name, &holder);
                    parts.entry(owner).or_default().push(holder);
                }
            }
        }
        parts
    }

    /// Whether readers can get a majority beside the holder of `token`.
    pub(super) async fn let_readers_in(&self, name: &LockName, token: Token) -> bool {
        let parts = self.parts(name, "").await;
        let own = |owner: &Owner| {
            let told = self.ledger.told(name, *owner, majority(self.stores.len()));
            told.iter().any(|one| one.time() == token.time())
        };
        let of_token = parts.iter().filter(|(owner, _)| own(owner)).flat_map(|(_, parts)| parts);
        let alone = of_token.filter(|part| part.mode == Mode::Exclusive && !part.lingering).count();
        alone <= self.stores.len() - majority(self.stores.len())
    }

    /// A process was told that it holds `name` with `token`. Of a token that a majority had before and
    /// had no more, an ask that is repeated may win one again, as long as one member kept it.
    pub(super) fn won(&self, name: &LockName, token: Token) {
        self.lock().gone.retain(|(of, _, gone)| (of, gone.time()) != (name, token.time()));
    }

    async fn names(&self, member: usize) -> Vec<LockName> {
        let listing = self.stores[member].list("", 100).await.unwrap();
        let names = listing.names.into_iter().map(|(name, _)| name);
        names.filter(|name| ![mark::NAME, mark::NOTE].contains(&name.as_str())).collect()
    }

    async fn leases(&self, member: usize, name: &LockName) -> Vec<Lease> {
        let seen = self.stores[member].inspect(name).await.unwrap();
        let own = &self.clocks[member];
        let lease = |holder: Contender| {
            let ends = own.true_at(own.now().saturating_add(holder.left.unwrap()));
            let owner = self.ledger.owner(member, name, &holder);
            Lease { member, name: name.clone(), owner, holder, ends }
        };
        seen.holders.into_iter().filter(|holder| !holder.lingering).map(lease).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// A difference that no other member has, up to a millisecond: two that grant at the same moment do
/// not give the same token to two readers.
fn skew(plan: &Plan, random: &mut Random) -> i64 {
    i64::try_from(random.below(plan.skew.unsigned_abs() + 1)).unwrap() - plan.skew / 2
}

impl State {
    /// Who has a hold that a majority has, and whether it had lost it before.
    fn notice(&mut self, owner: Owner, has: &BTreeSet<usize>, members: usize) {
        for member in 0..members {
            let key = (owner, member);
            if has.contains(&member) {
                self.rejoined += u64::from(self.lost.remove(&key));
                self.had.insert(key);
            } else if self.had.remove(&key) {
                self.lost.insert(key);
            }
        }
    }
}

#[async_trait]
impl StoreOracle for Members {
    /// A token that is raised for one reader may be what a member gave to another.
    fn tells_readers_apart(&self) -> bool {
        false
    }

    /// The holds that a majority has: each ends when the majority that has it longest has it no
    /// more.
    async fn kept(&self, name: &LockName) -> Snapshot {
        let (members, needed) = (self.stores.len(), majority(self.stores.len()));
        let now = self.clock.now();
        let mut holds: BTreeMap<Owner, Vec<Lease>> = BTreeMap::new();
        for member in 0..members {
            for lease in self.leases(member, name).await {
                holds.entry(lease.owner).or_default().push(lease);
            }
        }
        let mut state = self.lock();
        for (owner, leases) in &holds {
            let has: BTreeSet<_> = leases.iter().map(|lease| lease.member).collect();
            if has.len() >= needed {
                state.notice(*owner, &has, members);
            }
        }
        for lease in state.forgotten.iter().filter(|one| one.name == *name && one.ends > now) {
            holds.entry(lease.owner).or_default().push(lease.clone());
        }
        let (mut seen, mut held) = (Snapshot::default(), BTreeSet::new());
        for (owner, leases) in holds {
            let mut ends: BTreeMap<usize, Timestamp> = BTreeMap::new();
            for lease in &leases {
                let end = ends.entry(lease.member).or_default();
                *end = lease.ends.max(*end);
            }
            let mut ends: Vec<_> = ends.into_values().collect();
            ends.sort_unstable_by(|one, other| other.cmp(one));
            let Some(end) = ends.get(needed - 1) else { continue };
            let mut told = self.ledger.told(name, owner, needed);
            // What a late copy of an ask brings back is not the hold that it was.
            told.retain(|token| {
                !self.calls_outlive_drop || !state.gone.contains(&(name.clone(), owner, *token))
            });
            held.extend(told.iter().map(|token| (name.clone(), owner, *token)));
            seen.holders.extend(told.iter().map(|token| {
                let mut holder = leases[0].holder.clone();
                (holder.token, holder.left) = (Some(*token), Some(end.since(now)));
                holder
            }));
        }
        let before = std::mem::take(&mut state.held);
        let (of_name, others) = before.into_iter().partition(|(of, ..)| of == name);
        let of_name: BTreeSet<_> = of_name;
        state.gone.extend(of_name.difference(&held).cloned());
        state.held = others;
        state.held.extend(held);
        seen
    }
}
