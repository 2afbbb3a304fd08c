//! Writes that count only when replicas have them.
//!
//! Behind all that is written at one moment the server is asked to wait for its replicas. What it answered
//! before is held back until then, and is in doubt when too few have it in time. So many calls cost one wait.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use crate::{call::command, protocol::Value};

/// How many replicas have to have what was written, and for how long they are waited for.
#[derive(Clone, Debug)]
pub(crate) struct Confirm {
    needed: Needed,
    within: Duration,
}

#[derive(Clone, Debug)]
pub(crate) enum Needed {
    Count(u32),
    /// As many as there are now.
    All(Arc<AtomicU32>),
}

impl Confirm {
    pub(crate) const fn new(needed: Needed, within: Duration) -> Self {
        Self { needed, within }
    }

    /// Writes the question, and says how many have to be in the answer.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> u32 {
        let needed = match &self.needed {
            Needed::Count(count) => *count,
            Needed::All(count) => count.load(Ordering::Relaxed),
        };
        // For ever is written as 0.
        let within = self.within.as_millis().max(1);
        command(&["WAIT", &needed.to_string(), &within.to_string()], out);
        needed
    }
}

/// Why it is not enough, if it is not.
pub(crate) fn lacks(needed: u32, told: &Value) -> Option<String> {
    match told {
        Value::Int(had) if *had >= i64::from(needed) => None,
        Value::Int(had) => Some(format!("{had} of {needed} replicas have it")),
        Value::Error(error) => Some(error.to_string()),
        _ => Some("the answer was no number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ServerError;

    #[test]
    fn only_a_number_that_is_great_enough_is_enough() {
        assert_eq!(lacks(2, &Value::Int(2)), None);
        assert_eq!(lacks(2, &Value::Int(3)), None);
        assert!(lacks(2, &Value::Int(1)).is_some());
        let error = Value::Error(Box::new(ServerError::new("UNBLOCKED it is a replica now")));
        for told in [error, Value::Nil, Value::Bytes(b"2".to_vec())] {
            assert!(lacks(0, &told).is_some(), "{told:?}");
        }
    }

    #[test]
    fn how_many_there_are_is_looked_at_each_time() {
        let all = Arc::new(AtomicU32::new(2));
        let confirm = Confirm::new(Needed::All(all.clone()), Duration::from_micros(1));
        let mut out = Vec::new();
        assert_eq!(confirm.write(&mut out), 2);
        assert_eq!(out, b"*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$1\r\n1\r\n");
        all.store(3, Ordering::Relaxed);
        assert_eq!(confirm.write(&mut out), 3);
    }
}
