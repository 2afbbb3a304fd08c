//! Names that are chosen for where a cluster keeps them.

use tenure_core::{LockName, NameError};

use crate::client::protocol::tag;

/// A name for the lock `name` of `anchor`, made so that a Redis cluster keeps both locks in one slot:
/// `anchor:name~` and a hexadecimal number, the first that leads there.
///
/// Locks that share a slot are acquired together in one step; names of several slots one by one, with the
/// same promises. All names made with one anchor share its slot, and so does the lock of the anchor itself.
///
/// Two pairs of texts that read the same with the colon between them, as `a:b` with `c` and `a` with `b:c`, can make one
/// name: choose anchors that are no beginnings of others.
///
/// It is a name like any other: the keys of names in use stay what they are, on every server. Each process and
/// each version makes the same name of the same two texts; who asks for plain `name` asks for another lock. So all
/// who want this lock make its name so. Making one takes about a thousand hashes of a few bytes: keep
/// what is asked for often.
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
