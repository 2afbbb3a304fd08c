//! Letting go: what was made is deleted, and that is tried on until the session ends.

use std::{sync::Arc, time::Duration};

use tenure_core::{Clock, Fault, LockName, Owner, SystemClock, Timestamp, proto::queue::Released};

use crate::{
    client::Error,
    contenders::{entries::Acquisition, layout::LockPath, node::NodePrefix},
    session::Session,
    store::Shared,
};

/// How soon it is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// How often nodes are looked for of which no answer told.
const LOOKS: u32 = 2;

impl Shared {
    /// Gives up whatever an owner has.
    pub(crate) async fn release(&self, name: &LockName, owner: &Owner) -> Result<Released, Fault> {
        let session =
            self.entries.with(owner, |entry| (entry.name == *name).then_some(entry.session));
        let Some(Some(number)) = session else { return Ok(Released::NotHeld) };
        // Its nodes went with its session.
        if self.sessions.current_session().is_none_or(|there| there.number() != number) {
            self.entries.remove(owner);
            return Ok(Released::NotHeld);
        }
        let over = self
            .entries
            .with(owner, |entry| entry.token.is_some() && entry.until <= SystemClock.now());
        // Before it is known whether there is a connection: it may go at any moment.
        self.mark_leaving(owner);
        let session = self.sessions.get().await?;
        let released = self.delete_nodes_if(&session, owner, |_| true).await?;
        Ok(if over == Some(true) { Released::NotHeld } else { released })
    }

    /// The same of what this very call found or made.
    pub(crate) async fn delete_owner_nodes(
        &self,
        session: &Arc<Session>,
        owner: &Owner,
    ) -> Result<(), Fault> {
        self.delete_nodes_if(session, owner, |_| true).await.map(|_| ())
    }

    /// From now on it is only to be gone, whatever becomes of this call.
    fn mark_leaving(&self, owner: &Owner) {
        let again = SystemClock.now().saturating_add(AGAIN);
        self.entries.change(owner, |entry| {
            entry.leaving = true;
            entry.until = again;
        });
    }

    /// Deletes what an owner has, `if_it` is still so. What is looked at and marked is so in one step, as asks and the
    /// cleaning go on side by side.
    async fn delete_nodes_if(
        &self,
        session: &Arc<Session>,
        owner: &Owner,
        if_it: impl FnOnce(&Acquisition) -> bool + Send,
    ) -> Result<Released, Fault> {
        let again = SystemClock.now().saturating_add(AGAIN);
        let seen = self.entries.change(owner, |entry| {
            let same = entry.session == session.number();
            let goes = if_it(entry);
            if goes {
                entry.leaving = true;
                entry.until = again;
            }
            goes.then(|| (same, entry.in_doubt, entry.sent, entry.paths()))
        });
        let Some((same, in_doubt, sent, mut paths)) = seen.flatten() else {
            return Ok(Released::NotHeld);
        };
        let is_same = |entry: &Acquisition| entry.leaving && entry.sent == sent;
        if !same {
            self.entries.remove_if(owner, is_same);
            return Ok(Released::NotHeld);
        }
        if in_doubt {
            paths = self.paths_of(session, owner).await?;
            // Others may have been through with it meanwhile, and what is seen is of an ask after that.
            if self.entries.with(owner, |entry| entry.leaving) != Some(true) {
                return Ok(Released::NotHeld);
            }
        }
        let mut released = Released::NotHeld;
        // Permits first: who waits for the inner mutex comes to look for them.
        for path in paths.iter().rev() {
            match session.write(session.client().delete(path, None)).await? {
                Ok(()) => released = Released::Released,
                Err(Error::NoNode) => {}
                Err(error) => return Err(session.fault(error, true)),
            }
        }
        // What was about to be sent may come after the first look. The watch of a node saw it go, so nothing has to be
        // taken back at the server.
        let looked = self.entries.change(owner, |entry| {
            entry.looked += u32::from(entry.leaving);
            entry.looked
        });
        if !in_doubt || looked >= Some(LOOKS) {
            self.entries.remove_if(owner, is_same);
        }
        Ok(released)
    }

    /// All nodes of an owner, also those of which no answer told.
    async fn paths_of(&self, session: &Session, owner: &Owner) -> Result<Vec<String>, Fault> {
        session.sync().await?;
        let Some((name, base)) = self.entries.with(owner, |entry| (entry.name.clone(), entry.base))
        else {
            return Ok(Vec::new());
        };
        let place = LockPath::new(&self.options.base, &name);
        let mut dirs = vec![place.queue(base)];
        if base == NodePrefix::Lease {
            dirs.push(place.leases());
        }
        let mut paths = Vec::new();
        for dir in dirs {
            let queue = self.list_line(session, &dir).await?;
            paths.extend(queue.of_owner(owner).map(|node| format!("{dir}/{}", node.name())));
        }
        Ok(paths)
    }

    /// Takes away what ended: places that nobody asked for, leases that nobody renewed, and what could not be
    /// released before. Runs for as long as somebody uses the store.
    pub(crate) async fn clean_up(shared: std::sync::Weak<Self>) {
        loop {
            let Some(this) = shared.upgrade() else { return };
            let now = SystemClock.now();
            let (ended, next) = this.entries.expired_owners(now);
            for owner in ended {
                this.remove_expired(&owner, now).await;
            }
            let entries = this.entries.clone();
            drop(this);
            let next = next.map_or(LOOK, |next| next.since(now)).min(LOOK);
            tokio::select! {
                () = entries.wait_for_earlier() => {}
                () = tokio::time::sleep(next) => {}
            }
        }
    }

    async fn remove_expired(&self, owner: &Owner, now: Timestamp) {
        let ended = move |entry: &Acquisition| entry.until <= now;
        match self.sessions.current_session() {
            Some(session) if session.is_connected() => {
                let _ = self.delete_nodes_if(&session, owner, ended).await;
            }
            // Disconnected: its session may still be there.
            Some(session) => {
                let (number, again) = (session.number(), SystemClock.now().saturating_add(AGAIN));
                self.entries.change(owner, |entry| {
                    if ended(entry) && entry.session == number {
                        entry.leaving = true;
                        entry.until = again;
                    }
                });
                self.entries.remove_if(owner, |entry| ended(entry) && entry.session != number);
            }
            None => self.entries.remove_if(owner, ended),
        }
    }
}

/// How often it is looked whether anything ended, at least.
const LOOK: Duration = Duration::from_secs(1);
