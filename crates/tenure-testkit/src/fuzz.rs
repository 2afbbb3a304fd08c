//! Bytes as somebody else might have written them, given to what reads them.

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
};

use crate::Random;

/// For how many seconds each reader is tried.
const LENGTH: &str = "TENURE_FUZZ_SECONDS";
/// An input gets no longer.
const LONGEST: usize = 1 << 13;
/// How many inputs that were read well are changed again.
const KEPT: usize = 1 << 10;
/// Numbers at which what counts with them goes wrong.
const NUMBERS: [u64; 12] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];
/// The same as people write them, and other words that mean something to one reader or another.
const WORDS: [&str; 16] = [
    "-1",
    "0",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "1e400",
    "NaN",
    "%00",
    "%",
    "\0",
    "\r\n",
    "\u{202e}",
    "é",
    "://",
    "[::]",
];

/// Gives `read` changed forms of `examples`, and of what it has read well: for what it answers `true`. It is never to
/// panic. The same inputs come each time, so many of them, or as many as fit in `TENURE_FUZZ_SECONDS`.
///
/// # Panics
/// As `read` does, with the input on standard error.
///
/// ```
/// tenure_testkit::fuzz(1_000, &[b"12"], |bytes| {
///     std::str::from_utf8(bytes).is_ok_and(|text| text.parse::<u8>().is_ok())
/// });
/// ```
pub fn fuzz(inputs: u32, examples: &[&[u8]], mut read: impl FnMut(&[u8]) -> bool) {
    let length = env::var(LENGTH).ok().and_then(|text| text.parse().ok());
    let until = length.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut random = Random::new(1);
    let mut known: Vec<Vec<u8>> = vec![Vec::new()];
    known.extend(examples.iter().map(|example| example.to_vec()));
    let first = known.len();
    let mut round = 0_u32;
    while until.map_or(round < inputs, |until| Instant::now() < until) {
        round = round.saturating_add(1);
        let mut input = random.choose(&known).clone();
        for _ in 0..=random.below(4) {
            change(&mut input, &known, &mut random);
        }
        input.truncate(LONGEST);
        let done = catch_unwind(AssertUnwindSafe(|| read(&input)));
        let is_good = done.unwrap_or_else(|panic| {
            eprintln!("round {round} read {:?}", input.escape_ascii().to_string());
            resume_unwind(panic)
        });
        if is_good && known.len() < first + KEPT {
            known.push(input);
        } else if is_good {
            let old = first + random_index(&mut random, KEPT - 1);
            known[old] = input;
        }
    }
    eprintln!("{round} inputs, {} of those read well kept", known.len() - first);
}

/// A number up to `most`.
fn random_index(random: &mut Random, most: usize) -> usize {
    usize::try_from(random.below(most as u64 + 1)).unwrap_or(0)
}

fn change(input: &mut Vec<u8>, known: &[Vec<u8>], random: &mut Random) {
    let at = random_index(random, input.len());
    let end = at + random_index(random, (input.len() - at).min(32));
    match random.below(9) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            let byte = random.next().to_le_bytes()[0];
            input.insert(at, byte);
        }
        2 => drop(input.drain(at..end)),
        3 => {
            let piece = input[at..end].to_vec();
            input.splice(at..at, piece);
        }
        4 => input.truncate(at),
        5 => {
            let number = random.choose(&NUMBERS);
            let width = *random.choose(&[1, 2, 4, 8]);
            let bytes = if random.happens(500) {
                number.to_le_bytes()[..width].to_vec()
            } else {
                number.to_be_bytes()[8 - width..].to_vec()
            };
            let end = (at + width).min(input.len());
            input.splice(at..end, bytes);
        }
        6 => {
            let word = random.choose(&WORDS).bytes();
            input.splice(at..end, word);
        }
        7 => {
            // The digits that stand there, whatever their number.
            let digits = |byte: &u8| byte.is_ascii_digit();
            let from = at + input[at..].iter().position(digits).unwrap_or(input.len() - at);
            let length = input[from..].iter().take_while(|byte| digits(byte)).count();
            let word = random.choose(&WORDS[..6]).bytes();
            input.splice(from..from + length, word);
        }
        _ => {
            let other = random.choose(known);
            let from = random_index(random, other.len());
            let to = from + random_index(random, other.len() - from);
            input.splice(at..end, other[from..to].iter().copied());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_panics_on_some_input_is_found() {
        let found = catch_unwind(|| {
            fuzz(20_000, &[b"len=3 abc"], |bytes| {
                let text = std::str::from_utf8(bytes).unwrap_or_default();
                let Some(rest) = text.strip_prefix("len=") else { return false };
                let Some((length, rest)) = rest.split_once(' ') else { return false };
                let Ok(length) = length.parse::<u64>() else { return false };
                // A reader that believes what it is told.
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                !rest.as_bytes()[..length].is_empty()
            });
        });
        assert!(found.is_err());
    }
}
