//! Several names in one step: all of them are granted, or none of them.

use std::time::Duration;

use super::{Answer, Ask, Client, Contender, DecisionContext, Intent, NameState, QueueError, Wake};
use crate::{
    Token,
    rule::{Rule, kept},
};

/// A store's answer to an ask for several names together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Together {
    /// Each name is held by its asking owner: one grant for each, in the order of the asks.
    Granted(Vec<Grant>),
    /// Another contender has one of the names or is ahead there. This ask holds none of them.
    Busy {
        /// The index of the first busy name.
        index: usize,
        /// How many waiters that name has.
        ahead: u32,
        /// One of its holders, if there are any.
        holder: Option<Contender>,
    },
    /// The store cannot decide on these names in one step: ask for one after another. This ask holds none of them.
    Apart,
}

/// The grant of one of several names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The fencing token.
    pub token: Token,
    /// What is left of the lease.
    pub left: Duration,
    /// Whether other contenders wait for the name.
    pub others_waiting: bool,
}

/// Asks for all of these names, each with its ask, as a try: whatever an ask's intent, it keeps no queue position. The
/// names must differ.
///
/// If one of them is busy, the others stay as they were, and that one is left as after any try.
///
/// # Errors
/// [`QueueError`] if one of them can never be granted. Then nothing has changed.
pub fn acquire_together(
    names: &mut [(NameState, &Ask)],
    client: Client,
    at: &DecisionContext<'_>,
) -> Result<(Together, Vec<Wake>), QueueError> {
    let (mut after, mut grants, mut wakes) = (Vec::new(), Vec::new(), Vec::new());
    let mut busy = None;
    for (index, (state, ask)) in names.iter().enumerate() {
        let mut state = state.clone();
        let (answer, wake) =
            state.acquire(&Ask { intent: Intent::Try, ..(*ask).clone() }, client, at)?;
        match answer {
            Answer::Granted { token, left, others_waiting } => {
                after.push((index, state));
                grants.push(Grant { token, left, others_waiting });
                wakes.extend(wake);
            }
            Answer::Busy { ahead, holder, .. } => {
                busy = Some((Together::Busy { index, ahead, holder }, (index, state), wake));
                break;
            }
        }
    }
    let mut answer = Together::Granted(grants);
    if let Some((busy, tried, wake)) = busy {
        answer = busy;
        if kept(Rule::JointGrantIsAllOrNone) {
            (after, wakes) = (vec![tried], wake);
        }
    }
    for (index, state) in after {
        if let Some((name, _)) = names.get_mut(index) {
            *name = state;
        }
    }
    Ok((answer, wakes))
}
