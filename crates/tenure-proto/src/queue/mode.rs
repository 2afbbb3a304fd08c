//! How a name is held.

/// How a name is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// By one holder alone.
    Exclusive,
    /// By any number of holders together, none of them exclusive.
    Shared,
    /// By holders that share `of` permits, of which this one takes `take`.
    Permits {
        /// How many permits are asked for.
        take: u32,
        /// How many there are, by this caller's word.
        of: u32,
    },
}
