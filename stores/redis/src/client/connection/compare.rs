//! Deleting a key only while it has a certain value: which command of the server does that, if any.
//!
//! Such a command costs the server a third of a script. Its answer is a bare number: should it belong
//! to another call, a hold may be taken for released that lasts until its lease ends, and nobody for
//! a holder.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::client::{Failure, Value};

/// What a server is asked for, in the order in which it is preferred.
const COMMANDS: [&str; 2] = ["DELIFEQ", "DELEX"];

/// Which of them this user may use. `COMMAND INFO` does not say, and to try would show in `ACL LOG`.
const MAY: &str = include_str!("may.lua");

/// What the server of one connection does for its user.
#[derive(Debug, Default)]
pub(crate) struct CompareAndDelete(AtomicU8);

impl CompareAndDelete {
    /// What to ask the server, about a key such as locks have.
    pub(crate) fn question(key: &str) -> [&str; 6] {
        // Not as a key: one node of a cluster may not have its slot.
        ["EVAL", MAY, "0", key, COMMANDS[0], COMMANDS[1]]
    }

    /// What to try where a server cannot be asked, as that takes a script: on a key that none has.
    pub(crate) fn trial(key: &str) -> [Vec<&str>; 2] {
        [vec![COMMANDS[0], key, ""], vec![COMMANDS[1], key, "IFEQ", ""]]
    }

    /// What it would have answered.
    pub(crate) fn of_trial(tried: Vec<Value>) -> Value {
        let may = |tried| Value::Int(i64::from(matches!(tried, Value::Int(_))));
        Value::Array(tried.into_iter().map(may).collect())
    }

    /// Takes its answer. A server that does not tell has nothing of the kind.
    pub(crate) fn record_support(&self, told: Result<Value, Failure>) {
        let Ok(Value::Array(told)) = told else { return };
        if told.len() == COMMANDS.len()
            && let Some(at) = told.iter().position(|may| matches!(may, Value::Int(1)))
        {
            self.0.store(u8::try_from(at + 1).unwrap_or(0), Ordering::Relaxed);
        }
    }

    /// The words around the value that the key must have, before the key and behind it.
    pub(crate) fn words(&self) -> Option<(&'static str, Option<&'static str>)> {
        match self.0.load(Ordering::Relaxed) {
            1 => Some((COMMANDS[0], None)),
            // Without a condition it deletes whatever is there.
            2 => Some((COMMANDS[1], Some("IFEQ"))),
            _ => None,
        }
    }

    pub(crate) fn is_supported(&self) -> bool {
        self.words().is_some()
    }

    /// The server does not do it for this user, whatever it said.
    fn forget(&self) -> bool {
        self.0.store(0, Ordering::Relaxed);
        false
    }

    /// Whether the key had the value and is gone; `false` when it did not, and nothing happened.
    pub(crate) fn outcome(&self, answer: Result<Value, Failure>) -> Result<bool, UnknownOutcome> {
        match answer {
            Ok(Value::Int(gone @ 0..=1)) => Ok(gone == 1),
            Ok(_) => Err(UnknownOutcome::MixedUp),
            Err(error) => match error.code() {
                // Others are there too.
                Some("WRONGTYPE") => Ok(false),
                // Unknown here, written otherwise, or not permitted: it did not run.
                Some("NOPERM") => Ok(self.forget()),
                Some("ERR") if error.detail().is_some_and(is_not_known) => Ok(self.forget()),
                // What Redis says of a key that is no string.
                Some("ERR") => Ok(false),
                _ => Err(UnknownOutcome::Failed(error)),
            },
        }
    }
}

/// Whether the server says that it does not know the command so.
fn is_not_known(detail: &str) -> bool {
    ["unknown command", "syntax error", "wrong number of arguments"]
        .iter()
        .any(|text| detail.contains(text))
}

/// Why it is not known whether the key is gone.
pub(crate) enum UnknownOutcome {
    /// The reply is to another call.
    MixedUp,
    Failed(Failure),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ServerError;

    #[test]
    fn a_key_of_another_type_does_not_end_its_use() {
        let compare = CompareAndDelete(AtomicU8::new(2));
        let told = |text: &str| Err(Failure::Server(Box::new(ServerError::new(text))));
        for text in [
            "ERR Key should be of string type if conditions are specified",
            "WRONGTYPE Operation against a key holding the wrong kind of value",
        ] {
            assert!(matches!(compare.outcome(told(text)), Ok(false)));
            assert!(compare.is_supported(), "{text}");
        }
        assert!(matches!(compare.outcome(told("ERR unknown command 'DELEX'")), Ok(false)));
        assert!(!compare.is_supported());
    }
}
