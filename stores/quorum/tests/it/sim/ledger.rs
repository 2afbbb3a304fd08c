//! A member that writes down whose each token is, which no look at it would tell.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use async_trait::async_trait;
use tenure_core::{
    Evictions, Fault, HoldId, Incarnation, LockName, MemoryStore, Owner, Store, Token, Wakeups,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, Raised, Released, Snapshot, TakeOver, TakenOver, Together,
        },
    },
    store::{Capabilities, Diagnostic, Listing, Renewal},
};

/// Whose the holds of all members are, by what is shown of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// What each owner called itself: the tasks of a process ask as one.
    labels: BTreeMap<(LockName, Owner), BTreeSet<String>>,
    /// Which members ever had which token for whom, and as the how manieth. Two readers may have the
    /// same one.
    had: BTreeMap<(LockName, Token), BTreeMap<Owner, BTreeMap<usize, u64>>>,
    count: u64,
}

impl Ledger {
    /// Whose a hold is that this member shows: of two attempts of one acquisition the later one, since
    /// the earlier one was given up.
    pub(super) fn owner(&self, member: usize, name: &LockName, seen: &Contender) -> Owner {
        let state = self.lock();
        let called = |owner: &Owner| {
            let labels = state.labels.get(&(name.clone(), *owner));
            labels.is_some_and(|labels| labels.contains(&seen.whole_label()))
        };
        let owners = state.had[&(name.clone(), seen.token.unwrap())].iter();
        let had = owners.filter(|(owner, _)| called(owner));
        let here = had.filter_map(|(owner, had)| Some((had.get(&member)?, owner)));
        *here.max().unwrap().1
    }

    /// The tokens that so many members had for an owner: one of them is what its holder was told.
    pub(super) fn told(&self, name: &LockName, owner: Owner, members: usize) -> Vec<Token> {
        let state = self.lock();
        let of_name = state.had.iter().filter(|((of, _), _)| of == name);
        of_name
            .filter(|(_, owners)| owners.get(&owner).is_some_and(|had| had.len() >= members))
            .map(|((_, token), _)| *token)
            .collect()
    }

    fn asks(&self, name: &LockName, ask: &Ask) {
        let labels = &mut self.lock().labels;
        labels.entry((name.clone(), ask.owner)).or_default().insert(ask.label.to_string());
    }

    fn has(&self, name: &LockName, token: Token, owner: Owner, member: usize) {
        let mut state = self.lock();
        state.count += 1;
        let count = state.count;
        let of_token = state.had.entry((name.clone(), token)).or_default();
        of_token.entry(owner).or_default().insert(member, count);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Noted {
    pub(super) store: MemoryStore,
    pub(super) member: usize,
    pub(super) ledger: Ledger,
}

#[async_trait]
impl Store for Noted {
    fn kind(&self) -> &'static str {
        self.store.kind()
    }

    fn location(&self) -> String {
        self.store.location()
    }

    fn capabilities(&self) -> &Capabilities {
        self.store.capabilities()
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.store.wakeups(name, owner)
    }

    fn evictions(&self) -> Evictions {
        self.store.evictions()
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        self.ledger.asks(name, ask);
        let answer = self.store.acquire(name, ask).await?;
        if let Answer::Granted { token, .. } = answer {
            self.ledger.has(name, token, ask.owner, self.member);
        }
        Ok(answer)
    }

    async fn acquire_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        // A quorum asks for one name at a time.
        self.store.acquire_together(asks).await
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        self.store.renew(holds).await
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        self.store.release(name, owner, keep).await
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.store.turn(name, owner, ask).await
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        self.ledger.asks(name, &over.as_ask());
        let answer = self.store.take_over(name, over).await?;
        if let TakenOver::Granted(grant) = answer {
            self.ledger.has(name, grant.token, over.owner, self.member);
        }
        Ok(answer)
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        let raised = self.store.raise(name, owner, token).await?;
        if raised == Raised::Raised {
            self.ledger.has(name, token, *owner, self.member);
        }
        Ok(raised)
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        self.store.inspect(name).await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        self.store.list(prefix, limit).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        self.store.evict(name).await
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        self.store.evict_hold(name, hold).await
    }

    async fn server(&self) -> Result<Option<String>, Fault> {
        self.store.server().await
    }

    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        self.store.health().await
    }

    async fn hint_holders(&self, name: &LockName) -> Result<(), Fault> {
        self.store.hint_holders(name).await
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        self.store.incarnation().await
    }

    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        None
    }
}
