//! Several names in one step: all of them are granted, or nothing is.

use std::time::Duration;

use super::{Answer, Ask, Client, Contender, Intent, Moment, NameState, QueueError, Wake};
use crate::{
    Token,
    rule::{Rule, kept},
};

/// A store's answer to an ask for several names together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Together {
    /// Each name is held by its asking owner: one grant for each, in the order of the asks.
    Granted(Vec<Grant>),
    /// Somebody else has one of the names or comes first there. None is held by this ask.
    Busy {
        /// The place in the asks of the first name that is busy.
        index: usize,
        /// How many contenders wait for that name.
        ahead: u32,
        /// One of those who hold it, if anybody does.
        holder: Option<Contender>,
    },
    /// The store cannot decide on these names in one step: ask for one after another. None is held
    /// by this ask.
    Apart,
}

/// What an [`Answer::Granted`] says of one of several names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The fencing token.
    pub token: Token,
    /// What remains of the lease.
    pub left: Duration,
    /// Whether other contenders wait for the name.
    pub others_waiting: bool,
}

/// Asks for all of these names, each with its ask, as if each was tried: whatever an ask intends,
/// it keeps no place. The names must differ.
///
/// If one of them is busy, the others are left as they were, and that one is left as any try
/// leaves it.
///
/// # Errors
/// [`QueueError`] when one of them can never be granted; nothing is changed then.
pub fn acquire_together(
    names: &mut [(NameState, &Ask)],
    client: Client,
    at: &Moment<'_>,
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
