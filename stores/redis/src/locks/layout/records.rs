//! The records of locks that this client was granted alone: who lets one go can name all of it.
//!
//! They are hints. Without its record, or when it has changed since, a hold is released by a script.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tenure_core::{
    Owner, Token,
    proto::queue::{Ask, Mode},
};

use crate::locks::layout::wire::{self, OwnerText};

/// More are not worth their memory.
const MOST: usize = 4_096;

/// Records by their owners.
#[derive(Default)]
pub(crate) struct GrantedRecordCache(Mutex<RecordTable>);

#[derive(Default)]
struct RecordTable {
    records: HashMap<Owner, GrantedRecord>,
    /// Most holds of a process have the same one.
    label: Arc<str>,
}

/// What stands behind the owner in a record.
pub(crate) struct GrantedRecord {
    mark: &'static str,
    mode: Mode,
    time: u64,
    label: Arc<str>,
}

impl GrantedRecordCache {
    /// Keeps the record of what `ask` was granted.
    pub(crate) fn insert(&self, ask: &Ask, token: Token) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *kept.label != *ask.label {
            kept.label = (*ask.label).into();
        }
        // Those of holds that nobody released stay behind.
        if kept.records.len() >= MOST {
            kept.records.clear();
        }
        let (mark, mode, time) = (wire::mark(ask), ask.mode, token.time());
        let label = kept.label.clone();
        kept.records.insert(ask.owner, GrantedRecord { mark, mode, time, label });
    }

    /// The record of `owner`, if it is known. It is not kept any longer.
    pub(crate) fn take(&self, owner: &Owner) -> Option<GrantedRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).records.remove(owner)
    }
}

impl GrantedRecord {
    /// What stands in front of the label, as a script wrote it: owner, mark, time and permits.
    pub(crate) fn head(&self, owner: &OwnerText) -> Vec<u8> {
        let mut head = owner.to_vec();
        head.extend_from_slice(self.mark.as_bytes());
        head.extend_from_slice(self.time.to_string().as_bytes());
        head.extend_from_slice(wire::permits(self.mode).as_bytes());
        head
    }

    /// All of it, as it was written without scripts.
    pub(crate) fn without_scripts(&self, owner: &Owner) -> String {
        wire::record(owner, self.mark, self.time, self.mode, &self.label)
    }

    pub(crate) fn label(&self) -> &[u8] {
        self.label.as_bytes()
    }
}
