//! What one decision sees of who lives.

use std::{cell::RefCell, collections::HashMap};

use tenure_core::proto::queue::Client;

/// Asks once whether a process lives, however many contenders are its own.
pub(crate) struct LivenessChecks<F> {
    look: F,
    seen: RefCell<HashMap<Client, bool>>,
}

impl<F: Fn(Client) -> bool> LivenessChecks<F> {
    pub(crate) fn new(look: F) -> Self {
        Self { look, seen: RefCell::default() }
    }

    pub(crate) fn alive(&self, client: Client) -> bool {
        *self.seen.borrow_mut().entry(client).or_insert_with(|| (self.look)(client))
    }
}
