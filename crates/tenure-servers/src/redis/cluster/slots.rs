//! Which node has a slot, and how slots move.

use super::{
    RedisCluster, RedisServer, Reply,
    node::{expect_ok, id, is_up, number},
};

impl RedisCluster {
    /// The number of the server that has a slot, as most that run have it.
    #[must_use]
    pub fn owner(&self, slot: u16) -> Option<usize> {
        self.owner_by(slot, self.running())
    }

    /// The same, as these have it.
    pub(super) fn owner_by<'a>(
        &self,
        slot: u16,
        asked: impl Iterator<Item = &'a RedisServer>,
    ) -> Option<usize> {
        let told: Vec<_> = asked.filter_map(|server| self.told_owner(server, slot)).collect();
        let count = |number: usize| told.iter().filter(|one| **one == number).count();
        (0..self.servers.len()).find(|number| 2 * count(*number) > told.len())
    }

    /// The slot of a key.
    ///
    /// # Panics
    /// When no server answers.
    #[must_use]
    pub fn slot(&self, key: &str) -> u16 {
        let told = self.running().next().map(|server| server.command(&["CLUSTER", "KEYSLOT", key]));
        number(told).unwrap_or_default()
    }

    /// Opens a slot on its way to another server: what its owner lacks is asked for there.
    pub fn open_slot(&self, slot: u16, to: usize) {
        let (Some(from), Some(to)) = (self.owner(slot), self.servers.get(to)) else { return };
        let Some(from) = self.servers.get(from) else { return };
        let slot = slot.to_string();
        expect_ok(to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from)]);
        expect_ok(from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to)]);
    }

    /// Moves all keys of an open slot, or only those that end so.
    pub fn move_keys(&self, slot: u16, to: usize, end: &str) {
        let (Some(from), Some(to)) = (self.owner(slot), self.servers.get(to)) else { return };
        let Some(from) = self.servers.get(from) else { return };
        move_keys_of(from, slot, to, end);
    }

    /// Ends the move of a slot: it is this server's, and all know it.
    pub fn close_slot(&self, slot: u16, to: usize) {
        let Some(owner) = self.servers.get(to).map(id) else { return };
        let slot_text = slot.to_string();
        let receiver = self.servers.get(to).into_iter();
        let tell = |server: &RedisServer| {
            // A replica does not take it.
            let _ = server.command(&["CLUSTER", "SETSLOT", &slot_text, "NODE", &owner]);
        };
        receiver.chain(self.running()).for_each(tell);
        self.until("all know where the slot is", || {
            let elsewhere = |server: &&RedisServer| self.told_owner(server, slot) != Some(to);
            // Who was busy may not have heard.
            self.running().filter(elsewhere).inspect(|server| tell(server)).count() == 0
        });
    }

    /// Moves a slot with all that is in it, whoever uses that meanwhile.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn move_slot(&self, slot: u16, to: usize) {
        let from = self.owner(slot).and_then(|from| self.servers.get(from));
        self.open_slot(slot, to);
        self.until("all keys of the slot are moved", || {
            self.move_keys(slot, to, "");
            from.is_some_and(|from| is_empty(from, slot))
        });
        self.close_slot(slot, to);
    }

    /// Gives a slot to another server by force, which raises its epoch: what is in it is lost.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn take_slot(&self, slot: u16, to: usize) {
        let from = self.owner(slot).and_then(|from| self.servers.get(from));
        let (Some(from), Some(receiver)) = (from, self.servers.get(to)) else { return };
        let slot_text = slot.to_string();
        expect_ok(receiver, &["CLUSTER", "SETSLOT", &slot_text, "IMPORTING", &id(from)]);
        expect_ok(receiver, &["CLUSTER", "SETSLOT", &slot_text, "NODE", &id(receiver)]);
        self.all_know(slot, to);
    }

    /// The same without raising an epoch: all forget who has the slot, and the other one says that it has it.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn reassign_slot(&self, slot: u16, to: usize) {
        let slot_text = slot.to_string();
        for server in self.running() {
            // Who has heard of it by another one meanwhile has nothing to forget.
            let _ = server.command(&["CLUSTER", "DELSLOTS", &slot_text]);
        }
        if let Some(receiver) = self.servers.get(to) {
            expect_ok(receiver, &["CLUSTER", "ADDSLOTS", &slot_text]);
        }
        self.all_know(slot, to);
    }

    fn all_know(&self, slot: u16, owner: usize) {
        self.until("all know where the slot is", || {
            self.running()
                .all(|server| self.told_owner(server, slot) == Some(owner) && is_up(server))
        });
    }

    /// Begins to move a slot, and takes it back when keys that end so have been moved.
    ///
    /// # Panics
    /// When that does not happen.
    pub fn move_slot_in_vain(&self, slot: u16, to: usize, end: &str) {
        let Some(from) = self.owner(slot) else { return };
        let (Some(owner), Some(other)) = (self.servers.get(from), self.servers.get(to)) else {
            return;
        };
        self.open_slot(slot, to);
        self.move_keys(slot, to, end);
        let stable = ["CLUSTER", "SETSLOT", &slot.to_string(), "STABLE"];
        // Until the owner stops asking there, nothing can be moved back. From then on it creates what
        // it lacks, so that what is known to be there follows at once.
        let keys = keys_of(other, slot);
        expect_ok(owner, &stable);
        for key in &keys {
            let _ = migrate(other, owner, key);
        }
        self.until("all keys of the slot are back", || {
            move_keys_of(other, slot, owner, "");
            is_empty(other, slot)
        });
        expect_ok(other, &stable);
    }

    /// The number of the server that has a slot, as this one has it.
    fn told_owner(&self, server: &RedisServer, slot: u16) -> Option<usize> {
        let told = server.command(&["CLUSTER", "SLOTS"]);
        let Reply::List(ranges) = told else { return None };
        let port = ranges.into_iter().find_map(|range| {
            let Reply::List(range) = range else { return None };
            let mut range = range.into_iter();
            let (from, to) = (number(range.next())?, number(range.next())?);
            let Some(Reply::List(primary)) = range.next() else { return None };
            (from..=to).contains(&slot).then(|| number(primary.into_iter().nth(1)))?
        })?;
        self.servers.iter().position(|server| server.address().port() == port)
    }
}

/// Moves keys of a slot that end so.
fn move_keys_of(from: &RedisServer, slot: u16, to: &RedisServer, end: &str) {
    for key in keys_of(from, slot).iter().filter(|key| key.ends_with(end)) {
        assert_eq!(migrate(from, to, key), Reply::Text("OK".to_owned()), "{key}");
    }
}

fn migrate(from: &RedisServer, to: &RedisServer, key: &str) -> Reply {
    let port = to.address().port().to_string();
    from.command(&["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS", key])
}

/// The keys of a slot that a server has, a thousand at most.
fn keys_of(server: &RedisServer, slot: u16) -> Vec<String> {
    let keys = server.command(&["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "1000"]);
    let Reply::List(keys) = keys else { return Vec::new() };
    keys.into_iter()
        .filter_map(|key| if let Reply::Text(key) = key { Some(key) } else { None })
        .collect()
}

fn is_empty(server: &RedisServer, slot: u16) -> bool {
    let keys = server.command(&["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "1"]);
    matches!(keys, Reply::List(keys) if keys.is_empty())
}
