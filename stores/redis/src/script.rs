//! The scripts, as constants. Names come in `KEYS` alone and values in `ARGV` alone.
//!
//! Each is idempotent for its owner and echoes it. Each checks before its first write, since the
//! server rolls nothing back, also that the user may run what follows. The first part of each deals
//! with a lock that one holder has alone.

use std::sync::LazyLock;

use sha1_smol::Sha1;

/// One script: its text, and the digest by which the server knows it.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: String,
    pub(crate) digest: String,
    /// Whether it makes tokens, so that it is told how far they are ahead of the server's time.
    pub(crate) makes_tokens: bool,
    /// Whether it may write anything.
    pub(crate) writes: bool,
}

/// The part of those that make tokens.
const AHEAD: &str = "ahead";

/// That of the one that only looks.
const LOOK: &str = "inspect";

impl Script {
    fn new(parts: &[(&str, &'static str)]) -> Self {
        let text: String = parts.iter().map(|(file, text)| part(file, text)).collect();
        let digest = Sha1::from(&text).digest().to_string();
        let has = |part| parts.iter().any(|(file, _)| *file == part);
        Self { text, digest, makes_tokens: has(AHEAD), writes: !has(LOOK) }
    }
}

#[cfg(not(feature = "broken-scripts"))]
fn part(_: &str, text: &'static str) -> &'static str {
    text
}

/// What tests put in the place of a part.
#[cfg(feature = "broken-scripts")]
fn part(file: &str, text: &'static str) -> String {
    let folder = std::env::var_os("TENURE_BROKEN_SCRIPTS").map(std::path::PathBuf::from);
    let broken =
        folder.map(|folder| std::fs::read_to_string(folder.join(file).with_extension("lua")));
    broken.and_then(Result::ok).unwrap_or_else(|| text.to_owned())
}

macro_rules! scripts {
    ($($(#[$meta:meta])* $name:ident = $($file:literal)+;)+) => {$(
        $(#[$meta])*
        pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(&[$(($file, include_str!(concat!("scripts/", $file, ".lua")))),+])
        });
    )+};
}

scripts! {
    /// Asks for a name that nobody waits for, and says so when somebody does: few keys and
    /// arguments are half of what a script costs.
    ACQUIRE_ALONE = "ahead" "grant" "refused" "clock" "few" "meet" "later";
    /// Asks for names that several callers want, each for itself.
    ACQUIRE_MANY = "ahead" "acquire_many";
    /// Releases names that several callers let go, each for itself.
    RELEASE_MANY = "release_many";
    /// Asks for several names that nobody waits for, and says so when somebody does.
    ACQUIRE_TOGETHER = "ahead" "refused" "clock" "together";
    /// Releases a name that nobody waits for, and says so when somebody does.
    RELEASE_ALONE = "release_alone" "refused" "release_refused";
    /// Asks for a name, after letting go of a hold if it is told of one.
    ASK = "ahead" "refused" "clock" "corrupt" "look" "meet" "claim" "wants" "claim_permits" "share" "places" "wait" "wait_permits" "limits" "crowd" "save" "enter" "ask";
    /// Gives up a hold or a place.
    RELEASE = "refused" "corrupt" "look" "release_lone" "places" "pass" "unshare" "pass_permits" "limits" "crowd" "save" "enter" "release";
    /// Extends the leases of names that nobody else is at, and says of the others that somebody is.
    RENEW_ALONE = "renew_alone";
    /// Extends a lease.
    RENEW = "refused" "corrupt" "look" "renew_lone" "places" "limits" "crowd" "save" "enter" "renew";
    /// Writes a greater token into a hold.
    RAISE = "ahead" "refused" "clock" "corrupt" "look" "raise_lone" "places" "limits" "crowd" "save" "enter" "raise";
    /// Makes a hold another owner's.
    TAKE_OVER = "ahead" "refused" "clock" "corrupt" "look" "take_over_lone" "places" "limits" "crowd" "save" "enter" "take_over";
    /// Takes a name from all who hold it.
    EVICT = "refused" "senseless" "look" "evict_lone" "places" "limits" "crowd" "save" "evict";
    /// Shows who holds a name and who waits for it. It writes nothing.
    INSPECT = "refused" "inspect";
}
