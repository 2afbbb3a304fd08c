//! The scripts, as constants. Names come in `KEYS` alone and values in `ARGV` alone.
//!
//! Each is idempotent for its owner and echoes it. Each checks before its first write, since the
//! server rolls nothing back, also that the user may run what follows. The first part of each deals
//! with a lock that one holder has alone.
//!
//! What each is asked and answers stands at its constant: `lock`, `clock`, `line` and `ends` are the keys of a
//! name, `slots` is the one of its record of slots, `history` the one of its history, and every answer begins with the owner or the echo that the
//! first argument began with. A script that makes tokens is told behind its arguments how far they are ahead,
//! where they are. Any of the larger ones can also answer `corrupt`, and `format` with the number of another format.
//! [`layout`](super::layout) draws what is kept.

use std::sync::LazyLock;

use crate::client::{BatchKind, Script};

/// The part of those that make tokens.
const AHEAD: &str = "shared/ahead";

/// Those of the ones for which no replica is waited: they only look, or what they write is beside the locks, which
/// wait on the same connection.
const UNCONFIRMED: [&str; 6] = [
    "operator/inspect",
    "operator/inspect_plain",
    "redisson/inspect",
    "slots/read_slots",
    "history/read_history",
    "history/add_history",
];

/// The fields of a record, by what scripts call them. The server is sent the numbers, which cost nothing.
const FIELDS: [(&str, &str); 12] = [
    ("[MODE]", "[1]"),
    ("[TAKE]", "[2]"),
    ("[OF]", "[3]"),
    ("[GRANT]", "[4]"),
    ("[PLACE]", "[4]"),
    ("[CHANNEL]", "[5]"),
    ("[LINGERS]", "[6]"),
    ("[SINCE]", "[6]"),
    ("[LABEL]", "[7]"),
    ("[USE]", "[8]"),
    ("[ASKS_AT]", "[9]"),
    ("[PASSED]", "[10]"),
];

fn script(parts: &[(&str, &'static str)]) -> Script {
    let named: String = parts.iter().map(|(file, text)| part(file, text)).collect();
    let text = FIELDS.iter().fold(named, |text, (name, number)| text.replace(name, number));
    let has = |part| parts.iter().any(|(file, _)| *file == part);
    Script::new(text, has(AHEAD), !UNCONFIRMED.into_iter().any(has))
}

#[cfg(not(feature = "broken-scripts"))]
fn part(_: &str, text: &'static str) -> &'static str {
    text
}

/// What tests put in the place of a part.
#[cfg(feature = "broken-scripts")]
fn part(file: &str, text: &'static str) -> String {
    let folder = std::env::var_os("TENURE_BROKEN_SCRIPTS").map(std::path::PathBuf::from);
    // Those on the keys of Redisson are called as others are.
    let name = file.replace("redisson/", "redisson-");
    let name = name.rsplit('/').next().unwrap_or(file);
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
    ///
    /// KEYS: lock, clock. ARGV: owner and mark, ttl, permits and label; of a try also its manner.
    /// Answers the record, `busy` and the holder, or `crowd`. Keeps S1 and S2.
    ACQUIRE_ALONE = "shared/ahead" "acquire/grant" "shared/refused" "shared/clock" "acquire/few" "acquire/meet" "acquire/later";
    /// Asks for names that several callers want, each for itself.
    ///
    /// KEYS: lock and clock of each. ARGV: of each what the one alone has.
    /// Answers each its time, or nothing where the larger script has to be asked. Keeps S1 and S2.
    ACQUIRE_MANY = "shared/ahead" "acquire/acquire_many";
    /// Releases names that several callers let go, each for itself.
    ///
    /// KEYS: lock of each. ARGV: owner of each.
    /// Answers each 1 (released), 0 (not held) or nothing, as above. Keeps S4.
    RELEASE_MANY = "release/release_many";
    /// Asks for several names that nobody waits for, and says so when somebody does.
    ///
    /// KEYS: lock and clock of each. ARGV: of each what the one alone has.
    /// Answers `granted` with a grant and what is left for each, `busy` or `apart` with an index. Keeps S1 and S2.
    ACQUIRE_TOGETHER = "shared/ahead" "shared/refused" "shared/clock" "acquire/together";
    /// Releases a name that nobody waits for, and says so when somebody does.
    ///
    /// KEYS: lock. ARGV: owner.
    /// Answers nothing more, `not-held` or `crowd`. Keeps S4.
    RELEASE_ALONE = "release/release_alone" "shared/refused" "release/release_refused";
    /// Asks for a name in the plain layout.
    ///
    /// KEYS: lock, clock; whose turn it is, if that counts. ARGV: owner and mark, ttl, permits and label.
    /// Answers the record; `taken`, the value and what is left of it; `other-type`; or, while it is the turn of others,
    /// `left-free` and for how long. Keeps S1 and S2.
    ACQUIRE_PLAIN = "shared/ahead" "shared/refused" "shared/clock" "shared/plain" "acquire/acquire_plain";
    /// Extends a lease in the plain layout.
    ///
    /// KEYS: lock. ARGV: owner, ttl.
    /// Answers `renewed`, what is left and that nobody is known to wait, or `lost`. Keeps S3 and S4.
    RENEW_PLAIN = "shared/refused" "renew/renew_plain";
    /// Releases a name in the plain layout.
    ///
    /// KEYS: lock; whose turn it is, if that counts. ARGV: owner, the channel on which releases are announced, for how long
    /// the name stays taken if it does.
    /// Answers nothing more, or `not-held`. Keeps S4 and S6.
    RELEASE_PLAIN = "release/release_plain" "shared/refused" "release/keep_plain" "release/release_refused";
    /// Makes a hold another owner's, in the plain layout.
    ///
    /// KEYS: lock, clock. ARGV: as in tenure's own layout, without limits.
    /// Answers as there. Keeps S1, S2 and S4.
    TAKE_OVER_PLAIN = "shared/ahead" "shared/refused" "shared/clock" "shared/plain" "token/take_over_plain" "token/take_over_lone";
    /// Deletes a key of the plain layout that has this value.
    ///
    /// KEYS: lock. ARGV: an echo, the value, the channels of releases and of evictions.
    /// Answers `evicted`, or `changed`. Keeps S3 and S6.
    EVICT_PLAIN = "shared/refused" "shared/plain" "operator/evict_plain";
    /// Shows what a key of the plain layout has. It writes nothing.
    ///
    /// KEYS: lock. ARGV: an echo.
    /// Answers `free`, `taken` as above, or `other-type`. Keeps S9.
    INSPECT_PLAIN = "shared/refused" "shared/plain" "operator/inspect_plain";
    /// Asks for a mutex or to write, in Redisson's layout.
    ///
    /// KEYS: lock, clock, the fenced lock's counter, the fair lock's queue. ARGV: owner, what its fields begin with,
    /// ttl, what the name is used as, label, manner.
    /// Answers `granted` with the number of the grant and what is left, `busy` with what is left and a holder, or why
    /// neither. Keeps S1 and S2.
    ACQUIRE_REDISSON = "shared/ahead" "shared/refused" "shared/clock" "redisson/holders" "redisson/grant" "redisson/acquire";
    /// Asks to read, in Redisson's layout. A writer becomes a reader.
    ///
    /// KEYS: as above. ARGV: owner, what its fields begin with, ttl, label, how many may read, how and where a
    /// release is announced.
    /// Answers as above. Keeps S1 and S2.
    READ_REDISSON = "shared/ahead" "shared/refused" "shared/clock" "redisson/announce" "redisson/holders" "redisson/grant" "redisson/read";
    /// Extends a lease in Redisson's layout.
    ///
    /// KEYS: lock. ARGV: owner, what its fields begin with, ttl, the longest one of a reader or writer.
    /// Answers `renewed`, what is left and that nobody is known to wait, or `lost`. Keeps S3 and S4.
    RENEW_REDISSON = "shared/refused" "redisson/holders" "redisson/renew";
    /// Releases a name in Redisson's layout.
    ///
    /// KEYS: lock, the fair lock's queue. ARGV: owner, what its fields begin with, how releases are announced, the channels of a mutex and of
    /// readers and writers.
    /// Answers `released` and how many heard of it, or `not-held`. Keeps S4 and S6.
    RELEASE_REDISSON = "shared/refused" "redisson/announce" "redisson/holders" "redisson/leave" "redisson/release";
    /// Makes a hold another owner's, in Redisson's layout.
    ///
    /// KEYS: as of an ask. ARGV: owner, what the fields of the owner before and of this one begin with, ttl, what the
    /// name is used as, label, manner.
    /// Answers as an ask is, or `not-held`. Keeps S1, S2 and S4.
    TAKE_OVER_REDISSON = "shared/ahead" "shared/refused" "shared/clock" "redisson/holders" "redisson/grant" "redisson/take_over";
    /// Takes a name from all who hold it in Redisson's layout, or from one.
    ///
    /// KEYS: as of a release. ARGV: an echo, the field of the one or nothing, as a release, and the channel of evictions.
    /// Answers `evicted` and the holders. Keeps S3 and S6.
    EVICT_REDISSON = "shared/refused" "redisson/announce" "redisson/holders" "redisson/leave" "redisson/evict";
    /// Shows who holds a name in Redisson's layout. It writes nothing.
    ///
    /// KEYS: lock. ARGV: an echo.
    /// Answers `seen` and the holders. Keeps S9.
    INSPECT_REDISSON = "shared/refused" "redisson/holders" "redisson/inspect";
    /// Asks for a name, after letting go of a hold if it is told of one.
    ///
    /// KEYS: all. ARGV: owner and mark, ttl, permits and label, manner, mode, place, channel, limits; the hold to let go of.
    /// Answers `granted`, `busy`, `full` or `mode`. Keeps S1, S2, S6 and S8.
    ASK = "shared/ahead" "shared/refused" "shared/clock" "shared/corrupt" "shared/look" "acquire/meet" "acquire/claim" "acquire/wants" "acquire/claim_permits" "acquire/share" "shared/places" "acquire/wait" "acquire/wait_permits" "shared/limits" "shared/crowd" "shared/save" "shared/enter" "acquire/ask";
    /// Gives up a hold or a place.
    ///
    /// KEYS: all. ARGV: owner, for how long the name stays taken, limits.
    /// Answers `released` or `not-held`. Keeps S4, S6 and S8.
    RELEASE = "shared/refused" "shared/corrupt" "shared/look" "release/release_lone" "shared/places" "release/pass" "release/unshare" "release/pass_permits" "shared/limits" "shared/crowd" "shared/save" "shared/enter" "release/release";
    /// Extends the leases of names that nobody else is at, and says of the others that somebody is.
    ///
    /// KEYS: lock of each. ARGV: an echo, then owner and ttl of each.
    /// Answers each what is left, `lost` or `crowd`. Keeps S3 and S4.
    RENEW_ALONE = "renew/renew_alone";
    /// Extends a lease.
    ///
    /// KEYS: all. ARGV: owner, ttl, limits.
    /// Answers `renewed`, what is left and whether others wait, or `lost`. Keeps S3 and S4.
    RENEW = "shared/refused" "shared/corrupt" "shared/look" "renew/renew_lone" "shared/places" "shared/limits" "shared/crowd" "shared/save" "shared/enter" "renew/renew";
    /// Writes a greater token into a hold.
    ///
    /// KEYS: all. ARGV: owner, token, its time, limits.
    /// Answers `raised`, `stale` or `not-held`. Keeps S2 and S4.
    RAISE = "shared/ahead" "shared/refused" "shared/clock" "shared/corrupt" "shared/look" "token/raise_lone" "shared/places" "shared/limits" "shared/crowd" "shared/save" "shared/enter" "token/raise";
    /// Makes a hold another owner's.
    ///
    /// KEYS: all. ARGV: owner and mark, ttl, permits and label, mode, limits, the owner before.
    /// Answers as an ask is, or `not-held`. Keeps S1, S2 and S4.
    TAKE_OVER = "shared/ahead" "shared/refused" "shared/clock" "shared/corrupt" "shared/look" "token/take_over_lone" "shared/places" "shared/limits" "shared/crowd" "shared/save" "shared/enter" "token/take_over";
    /// Takes a name from all who hold it.
    ///
    /// KEYS: all. ARGV: an echo, limits, the channel of evictions, and one owner or nothing for all.
    /// Answers `evicted` and the holders. Keeps S3 and S6.
    EVICT = "shared/refused" "operator/senseless" "shared/look" "operator/evict_lone" "shared/places" "shared/limits" "shared/crowd" "shared/save" "operator/evict";
    /// Shows who holds a name and who waits for it. It writes nothing.
    ///
    /// KEYS: lock, line, ends. ARGV: an echo.
    /// Answers `seen`, the holders and the waiters. Keeps S9.
    INSPECT = "shared/refused" "operator/inspect";
    /// Shows the record of the slots. It writes nothing.
    ///
    /// KEYS: slots. ARGV: an echo, how long a record can be.
    /// Answers `seen`, the time of day and the record if there is one, or `foreign`.
    READ_SLOTS = "shared/refused" "slots/recorded" "slots/read_slots";
    /// Writes the record of the slots, as the one who has the lock for itself.
    ///
    /// KEYS: lock, slots. ARGV: owner, how long a record can be, the record, for how long it is kept.
    /// Answers `written`, `not-held` or `foreign`.
    WRITE_SLOTS = "shared/refused" "shared/corrupt" "shared/look" "slots/recorded" "slots/write_slots";
    /// Adds events to the history, and takes away those that are no longer to be kept.
    ///
    /// KEYS: history. ARGV: an echo, how many events are kept, for how long in milliseconds and in microseconds, how long
    /// an element can be; of each event how many microseconds ago it was, and its text.
    /// Answers `added` or `foreign`.
    ADD_HISTORY = "shared/refused" "history/events" "history/add_history";
    /// Shows a part of the history. It writes nothing.
    ///
    /// KEYS: history. ARGV: an echo, how long an element can be, the first and the last of the elements to show.
    /// Answers `seen`, the time of day and the elements, or `foreign`.
    READ_HISTORY = "shared/refused" "history/events" "history/read_history";
}

/// Releases that go together. What is let go may be what another one asks for, so they are written first.
pub(crate) static RELEASES: BatchKind =
    BatchKind { order: 0, alone: &RELEASE_ALONE, together: &RELEASE_MANY };
/// Asks that go together.
pub(crate) static ACQUIRES: BatchKind =
    BatchKind { order: 1, alone: &ACQUIRE_ALONE, together: &ACQUIRE_MANY };
/// All that goes together over one connection.
pub(crate) static BATCHES: [&BatchKind; BatchKind::COUNT] = [&ACQUIRES, &RELEASES];

#[cfg(test)]
mod tests {
    use super::*;

    /// How many arguments each command has behind its key, at least.
    const WHOLE: [(&str, usize); 23] = [
        ("DEL", 0),
        ("GET", 0),
        ("GETRANGE", 2),
        ("HDEL", 1),
        ("HGET", 1),
        ("HMGET", 1),
        ("HSET", 2),
        ("INCR", 0),
        ("LRANGE", 2),
        ("LTRIM", 2),
        ("PEXPIRE", 1),
        ("PEXPIREAT", 1),
        ("RPUSH", 1),
        ("SET", 1),
        ("ZADD", 2),
        ("ZCARD", 0),
        ("ZCOUNT", 2),
        ("ZPOPMIN", 0),
        ("ZRANGE", 2),
        ("ZRANGEBYSCORE", 2),
        ("ZREM", 1),
        ("ZREVRANGE", 2),
        ("ZSCORE", 1),
    ];

    fn arguments(of: &str) -> Vec<&str> {
        of.split_once(')').unwrap().0.split(", ").collect()
    }

    fn command(word: &str) -> Option<&str> {
        word.strip_prefix('\'')?.strip_suffix('\'')
    }

    /// Servers since Redis 8.0 fail a script that asks whether a user may run half a command.
    #[test]
    fn a_right_is_checked_by_a_whole_command() {
        let scripts = [
            &ACQUIRE_ALONE,
            &ACQUIRE_MANY,
            &RELEASE_MANY,
            &ACQUIRE_TOGETHER,
            &RELEASE_ALONE,
            &RELEASE_PLAIN,
            &ACQUIRE_PLAIN,
            &RENEW_PLAIN,
            &TAKE_OVER_PLAIN,
            &EVICT_PLAIN,
            &INSPECT_PLAIN,
            &ASK,
            &RELEASE,
            &RENEW_ALONE,
            &RENEW,
            &RAISE,
            &TAKE_OVER,
            &EVICT,
            &INSPECT,
            &READ_SLOTS,
            &WRITE_SLOTS,
            &ADD_HISTORY,
            &READ_HISTORY,
            &ACQUIRE_REDISSON,
            &READ_REDISSON,
            &RENEW_REDISSON,
            &RELEASE_REDISSON,
            &TAKE_OVER_REDISSON,
            &EVICT_REDISSON,
            &INSPECT_REDISSON,
        ];
        let mut checks = 0;
        for script in scripts {
            let text = &script.text;
            for check in text.split("redis.acl_check_cmd(").skip(1).map(arguments) {
                // Else it is what a variable holds: one without arguments, or as it was run.
                if let Some(command) = command(check[0]) {
                    let whole = WHOLE.iter().find(|(name, _)| *name == command).unwrap();
                    let given = check.len() - 2;
                    // All of these are keys.
                    assert!(given >= whole.1 || command == "DEL", "{check:?}");
                    checks += 1;
                }
            }
            let called = text.lines().filter_map(|line| line.trim().strip_prefix("needs("));
            for needs in called.map(arguments) {
                for command in &needs[2..] {
                    let command = self::command(command).unwrap();
                    assert!(WHOLE.contains(&(command, needs[1].parse().unwrap())), "{needs:?}");
                    checks += 1;
                }
            }
        }
        assert!(checks > 60, "{checks}");
    }
}
