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
    ACQUIRE_ALONE = "grant" "few" "meet" "later";
    /// Asks for several names that nobody waits for, and says so when somebody does.
    ACQUIRE_TOGETHER = "together";
    /// Releases a name that nobody waits for, and says so when somebody does.
    RELEASE_ALONE = "release_alone";
    /// Asks for a name, after letting go of a hold if it is told of one.
    ASK = "look" "meet" "claim" "crowd" "save" "ask";
    /// Gives up a hold or a place.
    RELEASE = "look" "release_lone" "pass" "crowd" "save" "release";
    /// Extends a lease.
    RENEW = "look" "renew_lone" "crowd" "save" "renew";
    /// Writes a greater token into a hold.
    RAISE = "look" "raise_lone" "crowd" "save" "raise";
    /// Takes a name from all who hold it.
    EVICT = "look" "evict_lone" "crowd" "save" "evict";
    /// Shows who holds a name and who waits for it. It writes nothing.
    INSPECT = "inspect";
}
