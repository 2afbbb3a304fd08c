//! The modes of holding a name.

/// How a name is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// By one holder.
    Exclusive,
    /// By any number of holders together, none of them exclusive.
    Shared,
    /// By holders that share `of` permits, of which this one takes `take`.
    Permits {
        /// How many permits to take.
        take: u32,
        /// How many permits there are, according to this caller.
        of: u32,
    },
}
