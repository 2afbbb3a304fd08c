//! Fencing tokens: numbers that rise with each grant, so that a resource can refuse a late holder.

use std::{fmt, num::NonZeroU64, str::FromStr};

/// The number of bits of a token that count hand-overs inside one process.
const PASS_BITS: u32 = 10;
/// Times from here on do not fit a token (the year 2255).
const TIME_LIMIT: u64 = 1 << 53;

/// A fencing token: greater than every token granted before it for the same name (promise
/// [S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)).
///
/// Pass it to the resource that the lock protects, and let the resource refuse a token smaller than one it has seen. It
/// is a positive `i64`, so it fits an SQL `BIGINT`. Tokens of different names, stores or layouts do not compare.
///
/// A token consists of the store's time in microseconds (53 bits) and the number of the hand-over inside one process
/// (10 bits).
///
/// ```
/// use tenure_proto::Token;
///
/// let token = Token::from_time(1_700_000_000_000_000).unwrap();
/// let next = token.next_pass().unwrap();
/// assert!(next > token);
/// assert!(next < Token::from_time(1_700_000_000_000_001).unwrap());
/// ```
///
/// As text it is a decimal number. You can read it back from text, from a `u64` and from an SQL `BIGINT`:
///
/// ```
/// use tenure_proto::Token;
///
/// let token = Token::from_time(1_700_000_000_000_000).unwrap();
/// assert_eq!(token.to_string().parse(), Ok(token));
/// assert_eq!(Token::try_from(token.as_i64()), Ok(token));
/// assert!(Token::try_from(0_u64).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(NonZeroU64);

impl Token {
    /// The most hand-overs that fit between two of the store's tokens.
    pub const MAX_PASS: u64 = (1 << PASS_BITS) - 1;

    /// Makes the store's token for `micros` microseconds since the Unix epoch. `None` if that is zero or does not fit
    /// 53 bits.
    #[must_use]
    pub const fn from_time(micros: u64) -> Option<Self> {
        if micros >= TIME_LIMIT {
            return None;
        }
        match NonZeroU64::new(micros << PASS_BITS) {
            Some(raw) => Some(Self(raw)),
            None => None,
        }
    }

    /// Makes a token that was read back. `None` if it is zero or not a positive `i64`.
    #[must_use]
    pub const fn from_raw(raw: u64) -> Option<Self> {
        if raw > i64::MAX as u64 {
            return None;
        }
        match NonZeroU64::new(raw) {
            Some(raw) => Some(Self(raw)),
            None => None,
        }
    }

    /// Returns the number, as a resource compares it.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// Returns the number as an SQL `BIGINT`. It is never negative.
    #[must_use]
    pub const fn as_i64(self) -> i64 {
        self.0.get().cast_signed()
    }

    /// Returns the store's time in the token, in microseconds since the Unix epoch.
    #[must_use]
    pub const fn time(self) -> u64 {
        self.0.get() >> PASS_BITS
    }

    /// Returns the number of the hand-over inside one process: 0 for the grant of the store itself.
    #[must_use]
    pub const fn pass(self) -> u64 {
        self.0.get() & Self::MAX_PASS
    }

    /// Returns the token of the next hand-over inside one process. `None` if the store must give a new one.
    #[must_use]
    pub const fn next_pass(self) -> Option<Self> {
        if self.pass() == Self::MAX_PASS {
            return None;
        }
        match NonZeroU64::new(self.0.get() + 1) {
            Some(raw) => Some(Self(raw)),
            None => None,
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number or a text that is not a fencing token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a fencing token is a whole number from 1 to {}, in decimal digits; give it as it was shown",
    i64::MAX
)]
#[non_exhaustive]
pub struct BadToken;

impl FromStr for Token {
    type Err = BadToken;

    /// Parses the digits that `Display` writes, and nothing else: no sign, no space, no other base.
    fn from_str(text: &str) -> Result<Self, BadToken> {
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(BadToken);
        }
        text.parse().ok().and_then(Self::from_raw).ok_or(BadToken)
    }
}

impl TryFrom<u64> for Token {
    type Error = BadToken;

    fn try_from(raw: u64) -> Result<Self, BadToken> {
        Self::from_raw(raw).ok_or(BadToken)
    }
}

impl TryFrom<i64> for Token {
    type Error = BadToken;

    fn try_from(raw: i64) -> Result<Self, BadToken> {
        u64::try_from(raw).ok().and_then(Self::from_raw).ok_or(BadToken)
    }
}

impl From<Token> for u64 {
    fn from(token: Token) -> Self {
        token.get()
    }
}

impl From<Token> for i64 {
    fn from(token: Token) -> Self {
        token.as_i64()
    }
}

/// The store's clock shows a time that does not fit a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the clock reads {micros} µs since 1970, which no fencing token can carry: set the clock")]
#[non_exhaustive]
pub struct ClockOutOfRange {
    /// The clock's time.
    pub micros: u64,
}

/// Returns the time of the next token: now, or one more than the last one if the clock stopped or went back.
///
/// This keeps tokens rising when a store forgets them: a store that lost `last` starts again from its clock.
///
/// # Errors
/// [`ClockOutOfRange`] if the result does not fit a token.
pub const fn next_time(now_micros: u64, last_micros: u64) -> Result<u64, ClockOutOfRange> {
    let micros = if now_micros > last_micros { now_micros } else { last_micros.saturating_add(1) };
    if micros >= TIME_LIMIT {
        return Err(ClockOutOfRange { micros });
    }
    Ok(micros)
}
