//! Names chosen for a slot of a cluster.

use tenure_core::{LockName, NameError};

use crate::client::protocol::tag;

/// Returns a name for the lock `name` in the same slot of a Redis cluster as the lock `anchor`.
///
/// The name is `anchor:name~` and a hexadecimal number, the first one that gives this slot. tenure acquires locks of
/// one slot together in one step, and names of several slots one by one, with the same promises. All names made with
/// one anchor share its slot, and so does the lock `anchor`.
///
/// The result is an ordinary name. It does not change the keys of names in use on any server. Each process and each
/// version of tenure makes the same name from the same two texts. The plain `name` is another lock, so every program
/// that wants this lock must make its name in this way.
///
/// Two pairs that read the same with the colon between them can make one name, as `a:b` with `c` and `a` with `b:c`.
/// Choose anchors that are not beginnings of other anchors. Making a name takes about a thousand hashes of a few bytes,
/// so keep names that you use often.
///
/// # Errors
/// [`NameError`] if either text cannot be part of a name, or both together are too long for one.
///
/// ```
/// use tenure_redis::name_in_slot_of;
///
/// let (wallet, orders) = (name_in_slot_of("customer:42", "wallet")?, name_in_slot_of("customer:42", "orders")?);
/// assert_eq!(wallet.as_str(), "customer:42:wallet~3d7");
/// assert_ne!(wallet, orders);
/// # Ok::<(), tenure_core::NameError>(())
/// ```
pub fn name_in_slot_of(anchor: &str, name: &str) -> Result<LockName, NameError> {
    tag::with_tag_of(&LockName::new(anchor)?, name)
}
