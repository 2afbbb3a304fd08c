//! Several hosts of which none can be used.

use tenure_core::{Fault, FaultKind};

/// What all of them said, in one fault; nothing if there was none.
///
/// ```
/// use tenure_core::{Fault, FaultKind};
///
/// let silent = Fault::new(FaultKind::Unreachable, "a is silent", "see that it runs");
/// let refuses = Fault::new(FaultKind::Misconfigured, "b refuses", "correct the password");
/// let both = tenure_sql::none_of(vec![silent, refuses]).unwrap();
/// assert_eq!(both.message(), "a is silent; b refuses");
/// assert_eq!(both.help(), "correct the password");
/// // The silent one may come back.
/// assert_eq!(both.kind(), FaultKind::Unreachable);
/// ```
#[must_use]
pub fn none_of(mut faults: Vec<Fault>) -> Option<Fault> {
    if faults.len() < 2 {
        return faults.pop();
    }
    let is_wrong = |fault: &&Fault| fault.kind() == FaultKind::Misconfigured;
    let wrong = faults.iter().find(is_wrong);
    let is_all_wrong = faults.iter().all(|fault| is_wrong(&fault));
    let kind = if is_all_wrong { FaultKind::Misconfigured } else { FaultKind::Unreachable };
    let help = wrong.or(faults.first())?.help().to_owned();
    let said: Vec<_> = faults.iter().map(Fault::message_and_cause).collect();
    Some(Fault::new(kind, said.join("; "), help))
}
