//! The scripts, as constants. Names come in `KEYS` alone and values in `ARGV` alone.
//!
//! Each is idempotent for its owner and echoes it. Each checks before its first write, since the
//! server rolls nothing back. The first part of each deals with a lock that one holder has alone.

use std::sync::LazyLock;

/// One script: its text, and the digest by which the server knows it.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: &'static str,
    pub(crate) digest: String,
}

impl Script {
    fn new(text: &'static str) -> Self {
        Self { text, digest: redis::Script::new(text).get_hash().to_owned() }
    }
}

macro_rules! scripts {
    ($($(#[$meta:meta])* $name:ident = $($file:literal)+;)+) => {$(
        $(#[$meta])*
        pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!($(include_str!(concat!("scripts/", $file, ".lua"))),+))
        });
    )+};
}

scripts! {
    /// Asks for a name that nobody waits for, and says so when somebody does: few keys and
    /// arguments are half of what a script costs.
    ACQUIRE_ALONE = "grant" "meet" "later";
    /// Releases a name that nobody waits for, and says so when somebody does.
    RELEASE_ALONE = "release_lone" "later";
    /// Asks for a name.
    ACQUIRE = "grant" "meet" "crowd" "ask";
    /// Asks for a name without the shortcut for one that nobody has: for permits, and to let go of
    /// a hold in the same step, after which the next goes first.
    ASK = "look" "meet" "crowd" "ask";
    /// Gives up a hold or a place.
    RELEASE = "release_lone" "crowd" "release";
    /// Extends a lease.
    RENEW = "renew_lone" "crowd" "renew";
    /// Writes a greater token into a hold.
    RAISE = "raise_lone" "crowd" "raise";
    /// Takes a name from all who hold it.
    EVICT = "evict_lone" "crowd" "evict";
    /// Shows who holds a name and who waits for it. It writes nothing.
    INSPECT = "inspect";
}
