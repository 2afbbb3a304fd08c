//! The scripts, as constants. Names come in `KEYS` alone and values in `ARGV` alone.
//!
//! Each is idempotent for its owner and echoes it. Each checks before its first write, since the
//! server rolls nothing back, also that the user may run what follows. The first part of each deals
//! with a lock that one holder has alone.

use std::sync::LazyLock;

use crate::client::{connection::batch::BatchKind, protocol::script::Script};

/// The part of those that make tokens.
const AHEAD: &str = "shared/ahead";

/// That of the one that only looks.
const LOOK: &str = "operator/inspect";

fn script(parts: &[(&str, &'static str)]) -> Script {
    let text: String = parts.iter().map(|(file, text)| part(file, text)).collect();
    let has = |part| parts.iter().any(|(file, _)| *file == part);
    Script::new(text, has(AHEAD), !has(LOOK))
}

#[cfg(not(feature = "broken-scripts"))]
fn part(_: &str, text: &'static str) -> &'static str {
    text
}

/// What tests put in the place of a part.
#[cfg(feature = "broken-scripts")]
fn part(file: &str, text: &'static str) -> String {
    let folder = std::env::var_os("TENURE_BROKEN_SCRIPTS").map(std::path::PathBuf::from);
    let name = file.rsplit('/').next().unwrap_or(file);
    let broken =
        folder.map(|folder| std::fs::read_to_string(folder.join(name).with_extension("lua")));
    broken.and_then(Result::ok).unwrap_or_else(|| text.to_owned())
}

macro_rules! scripts {
    ($($(#[$meta:meta])* $name:ident = $($file:literal)+;)+) => {$(
        $(#[$meta])*
        pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| {
            script(&[$(($file, include_str!(concat!($file, ".lua")))),+])
        });
    )+};
}

scripts! {
    /// Asks for a name that nobody waits for, and says so when somebody does: few keys and
    /// arguments are half of what a script costs.
    ACQUIRE_ALONE = "shared/ahead" "acquire/grant" "shared/refused" "shared/clock" "acquire/few" "acquire/meet" "acquire/later";
    /// Asks for names that several callers want, each for itself.
    ACQUIRE_MANY = "shared/ahead" "acquire/acquire_many";
    /// Releases names that several callers let go, each for itself.
    RELEASE_MANY = "release/release_many";
    /// Asks for several names that nobody waits for, and says so when somebody does.
    ACQUIRE_TOGETHER = "shared/ahead" "shared/refused" "shared/clock" "acquire/together";
    /// Releases a name that nobody waits for, and says so when somebody does.
    RELEASE_ALONE = "release/release_alone" "shared/refused" "release/release_refused";
    /// Asks for a name, after letting go of a hold if it is told of one.
    ASK = "shared/ahead" "shared/refused" "shared/clock" "shared/corrupt" "shared/look" "acquire/meet" "acquire/claim" "acquire/wants" "acquire/claim_permits" "acquire/share" "shared/places" "acquire/wait" "acquire/wait_permits" "shared/limits" "shared/crowd" "shared/save" "shared/enter" "acquire/ask";
    /// Gives up a hold or a place.
    RELEASE = "shared/refused" "shared/corrupt" "shared/look" "release/release_lone" "shared/places" "release/pass" "release/unshare" "release/pass_permits" "shared/limits" "shared/crowd" "shared/save" "shared/enter" "release/release";
    /// Extends the leases of names that nobody else is at, and says of the others that somebody is.
    RENEW_ALONE = "renew/renew_alone";
    /// Extends a lease.
    RENEW = "shared/refused" "shared/corrupt" "shared/look" "renew/renew_lone" "shared/places" "shared/limits" "shared/crowd" "shared/save" "shared/enter" "renew/renew";
    /// Writes a greater token into a hold.
    RAISE = "shared/ahead" "shared/refused" "shared/clock" "shared/corrupt" "shared/look" "token/raise_lone" "shared/places" "shared/limits" "shared/crowd" "shared/save" "shared/enter" "token/raise";
    /// Makes a hold another owner's.
    TAKE_OVER = "shared/ahead" "shared/refused" "shared/clock" "shared/corrupt" "shared/look" "token/take_over_lone" "shared/places" "shared/limits" "shared/crowd" "shared/save" "shared/enter" "token/take_over";
    /// Takes a name from all who hold it.
    EVICT = "shared/refused" "operator/senseless" "shared/look" "operator/evict_lone" "shared/places" "shared/limits" "shared/crowd" "shared/save" "operator/evict";
    /// Shows who holds a name and who waits for it. It writes nothing.
    INSPECT = "shared/refused" "operator/inspect";
}

/// Releases that go together. What is let go may be what another one asks for, so they are written first.
pub(crate) static RELEASES: BatchKind =
    BatchKind { order: 0, alone: &RELEASE_ALONE, together: &RELEASE_MANY };
/// Asks that go together.
pub(crate) static ACQUIRES: BatchKind =
    BatchKind { order: 1, alone: &ACQUIRE_ALONE, together: &ACQUIRE_MANY };
/// All that goes together over one connection.
pub(crate) static BATCHES: [&BatchKind; BatchKind::COUNT] = [&ACQUIRES, &RELEASES];
