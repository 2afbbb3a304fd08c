//! How tokens rise when another server takes over.
//!
//! Sentinels and clusters number their fail-overs. The time of a token is that of the server and some seconds
//! for each of them, so that it rises although the clock of the new server is behind.

/// By how many seconds a fail-over moves tokens on: what the clock of the new primary may be behind that of
/// the old one.
const AHEAD: u64 = 60;
/// How many fail-overs do so: a number that makes no sense must not use up the tokens that there are.
const MOST: u64 = 1_000_000;

/// By how many seconds tokens are ahead of the server's time after so many fail-overs.
pub(crate) fn ahead(epoch: u64) -> u64 {
    epoch.min(MOST) * AHEAD
}
