//! Deleting a key only while it has a certain value: which command of the server does that, if any.
//!
//! Such a command costs the server a third of a script. Its answer is a bare number: should it belong
//! to another call, a hold may be taken for released that lasts until its lease ends, and nobody for
//! a holder.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::{failure::Failure, protocol::Value};

/// What a server is asked for, in the order in which it is preferred.
const COMMANDS: [&str; 2] = ["DELIFEQ", "DELEX"];

/// What the server of one connection has.
#[derive(Debug, Default)]
pub(crate) struct Compare(AtomicU8);

impl Compare {
    /// What to ask the server.
    pub(crate) const QUESTION: [&'static str; 4] = ["COMMAND", "INFO", COMMANDS[0], COMMANDS[1]];

    /// Takes its answer. One that does not tell, or not this user, has nothing of the kind.
    pub(crate) fn hear(&self, told: Result<Value, Failure>) {
        let Ok(Value::Array(told)) = told else { return };
        let has = |value: &Value| matches!(value, Value::Array(about) if !about.is_empty());
        if told.len() == COMMANDS.len()
            && let Some(at) = told.iter().position(has)
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

    pub(crate) fn is_there(&self) -> bool {
        self.words().is_some()
    }

    /// The server does not do it for this user, whatever it said.
    pub(crate) fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether the key had the value and is gone; `false` when it did not, and nothing happened.
    pub(crate) fn outcome(&self, answer: Result<Value, Failure>) -> Result<bool, NoOutcome> {
        match answer {
            Ok(Value::Int(gone @ 0..=1)) => Ok(gone == 1),
            Ok(_) => Err(NoOutcome::MixedUp),
            Err(error) => match error.code() {
                // Others are there too.
                Some("WRONGTYPE") => Ok(false),
                // Unknown here, written otherwise, or not permitted: it did not run.
                Some("ERR" | "NOPERM") => {
                    self.forget();
                    Ok(false)
                }
                _ => Err(NoOutcome::Failed(error)),
            },
        }
    }
}

/// Why it is not known whether the key is gone.
pub(crate) enum NoOutcome {
    /// The reply is to another call.
    MixedUp,
    Failed(Failure),
}
