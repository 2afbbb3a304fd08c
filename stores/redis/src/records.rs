//! The records of locks that this client was granted alone: who lets one go can name all of it.
//!
//! They are hints. Without its record, or when it has changed since, a hold is released by a script.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tenure_core::{Owner, Token, proto::queue::Ask};

use crate::wire;

/// More are not worth their memory.
const MOST: usize = 4_096;

/// Records by their owners.
#[derive(Default)]
pub(crate) struct Records(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    records: HashMap<Owner, Record>,
    /// Most holds of a process have the same one.
    label: Arc<str>,
}

/// What stands behind the owner in a record.
pub(crate) struct Record {
    mark: &'static str,
    time: u64,
    label: Arc<str>,
}

impl Records {
    /// Keeps the record of what `ask` was granted.
    pub(crate) fn insert(&self, ask: &Ask, token: Token) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *kept.label != *ask.label {
            kept.label = ask.label.as_str().into();
        }
        // Those of holds that nobody released stay behind.
        if kept.records.len() >= MOST {
            kept.records.clear();
        }
        let (mark, time, label) = (wire::mark(ask), token.time(), kept.label.clone());
        kept.records.insert(ask.owner, Record { mark, time, label });
    }

    /// The record of `owner`, if it is known. It is not kept any longer.
    pub(crate) fn take(&self, owner: &Owner) -> Option<Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).records.remove(owner)
    }
}

impl Record {
    /// The record as a script wrote it.
    pub(crate) fn parts<'a>(&'a self, owner: &'a [u8], time: &'a mut String) -> [&'a [u8]; 5] {
        *time = self.time.to_string();
        [owner, self.mark.as_bytes(), time.as_bytes(), b" ", self.label.as_bytes()]
    }
}
