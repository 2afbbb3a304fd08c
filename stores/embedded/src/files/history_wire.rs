//! The history of one name as bytes: a head, and a frame for each event. All numbers are little-endian.
//!
//! A frame has its length at both ends, so the last one is found without the others. Its checksum begins with a random
//! number of the file, so that no text of an event can look like a frame.

use std::collections::VecDeque;

use tenure_core::proto::history::{Event, StoredEvent};

const MAGIC: [u8; 4] = *b"tnrH";
const VERSION: u16 = 1;
/// The head without its name.
const HEAD: usize = 16;
/// The maximum length of a head: a name has at most 512 bytes.
const LONGEST_HEAD: usize = HEAD + 512;
/// A frame without its text.
const FRAME: usize = 44;
/// The maximum length of a frame.
pub(crate) const LONGEST_FRAME: usize = FRAME + Event::MAX;
/// So much of a file has its head and its first frame.
pub(crate) const BEGINNING: usize = LONGEST_HEAD + LONGEST_FRAME;

/// What a file begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HistoryHead<'p> {
    pub(crate) name: &'p str,
    /// What the checksums of its frames begin with.
    pub(crate) seed: u32,
}

/// Why a file is not the history of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadHead {
    Foreign,
    OtherVersion(u16),
    Damaged,
}

impl<'p> HistoryHead<'p> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut to = Vec::with_capacity(HEAD + self.name.len());
        to.extend_from_slice(&MAGIC);
        to.extend_from_slice(&VERSION.to_le_bytes());
        let length = u16::try_from(self.name.len()).unwrap_or(u16::MAX);
        to.extend_from_slice(&length.to_le_bytes());
        to.extend_from_slice(&self.seed.to_le_bytes());
        to.extend_from_slice(self.name.as_bytes());
        to.extend_from_slice(&crc32fast::hash(&to).to_le_bytes());
        to
    }

    /// Reads the head, and returns what follows it.
    pub(crate) fn decode(bytes: &'p [u8]) -> Result<(Self, &'p [u8]), BadHead> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(BadHead::Foreign)?;
        let (version, rest) = rest.split_first_chunk().ok_or(BadHead::Foreign)?;
        let version = u16::from_le_bytes(*version);
        if version != VERSION {
            return Err(BadHead::OtherVersion(version));
        }
        Self::decode_rest(bytes, rest).ok_or(BadHead::Damaged)
    }

    fn decode_rest(bytes: &'p [u8], rest: &'p [u8]) -> Option<(Self, &'p [u8])> {
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (seed, rest) = rest.split_first_chunk()?;
        let (name, rest) = rest.split_at_checked(length)?;
        let (sum, rest) = rest.split_first_chunk()?;
        let summed = bytes.get(..HEAD - 4 + length)?;
        if crc32fast::hash(summed) != u32::from_le_bytes(*sum) {
            return None;
        }
        let (name, seed) = (std::str::from_utf8(name).ok()?, u32::from_le_bytes(*seed));
        Some((Self { name, seed }, rest))
    }
}

/// One event, and what its writer kept of the history. Times are in microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'p> {
    /// How many are before it in the file.
    pub(crate) number: u32,
    /// How many events are kept.
    pub(crate) most: u32,
    pub(crate) at: u64,
    /// When it was added.
    pub(crate) added: u64,
    /// When all is over, if nothing is added.
    pub(crate) until: u64,
    pub(crate) text: &'p str,
}

impl<'p> Frame<'p> {
    pub(crate) fn encode_to(&self, seed: u32, to: &mut Vec<u8>) {
        // A text has at most 1,024 bytes.
        let length = u32::try_from(FRAME + self.text.len()).unwrap_or(u32::MAX).to_le_bytes();
        let begin = to.len();
        to.extend_from_slice(&length);
        to.extend_from_slice(&[0; 4]);
        to.extend_from_slice(&self.number.to_le_bytes());
        to.extend_from_slice(&self.most.to_le_bytes());
        for time in [self.at, self.added, self.until] {
            to.extend_from_slice(&time.to_le_bytes());
        }
        to.extend_from_slice(self.text.as_bytes());
        to.extend_from_slice(&length);
        let sum = checksum(seed, to.get(begin + 8..).unwrap_or_default()).to_le_bytes();
        if let Some(there) = to.get_mut(begin + 4..begin + 8) {
            there.copy_from_slice(&sum);
        }
    }

    /// Reads the frame at the beginning of `bytes`, and returns its length.
    pub(crate) fn first(seed: u32, bytes: &'p [u8]) -> Option<(Self, usize)> {
        let (length, _) = bytes.split_first_chunk()?;
        let whole = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let bytes = bytes.get(..whole).filter(|_| whole <= LONGEST_FRAME)?;
        let (rest, last_length) = bytes.get(4..)?.split_last_chunk()?;
        let (sum, rest) = rest.split_first_chunk()?;
        if last_length != length || checksum(seed, bytes.get(8..)?) != u32::from_le_bytes(*sum) {
            return None;
        }
        let (number, rest) = rest.split_first_chunk()?;
        let (most, rest) = rest.split_first_chunk()?;
        let (at, rest) = rest.split_first_chunk()?;
        let (added, rest) = rest.split_first_chunk()?;
        let (until, text) = rest.split_first_chunk()?;
        let frame = Self {
            number: u32::from_le_bytes(*number),
            most: u32::from_le_bytes(*most),
            at: u64::from_le_bytes(*at),
            added: u64::from_le_bytes(*added),
            until: u64::from_le_bytes(*until),
            text: std::str::from_utf8(text).ok()?,
        };
        Some((frame, whole))
    }

    /// Reads the frame at the end of `bytes`.
    pub(crate) fn last(seed: u32, bytes: &'p [u8]) -> Option<Self> {
        let length = usize::try_from(u32::from_le_bytes(*bytes.last_chunk()?)).ok()?;
        let begin = bytes.len().checked_sub(length)?;
        let (frame, whole) = Self::first(seed, bytes.get(begin..)?)?;
        (whole == length).then_some(frame)
    }

    /// Returns the frames in `bytes`, each with where it ends. What is damaged between them is left out.
    pub(crate) fn all(seed: u32, bytes: &'p [u8]) -> impl Iterator<Item = (Self, usize)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < bytes.len() {
                if let Some((frame, length)) = Self::first(seed, bytes.get(at..)?) {
                    at += length;
                    return Some((frame, at));
                }
                at += 1;
            }
            None
        })
    }
}

fn checksum(seed: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(seed);
    hasher.update(bytes);
    hasher.finalize()
}

/// Returns the events that are kept at `now`, as if each writer had removed what its retention does not keep.
pub(crate) fn kept_events<'p>(
    frames: impl Iterator<Item = Frame<'p>>,
    now: u64,
) -> Vec<StoredEvent> {
    let (mut kept, mut until) = (VecDeque::<Frame<'_>>::new(), u64::MAX);
    // No event that is kept is older than this, so that not each frame makes all others be looked at.
    let mut lowest = u64::MAX;
    for frame in frames {
        if until <= frame.added {
            kept.clear();
        }
        until = frame.until;
        kept.push_back(frame);
        lowest = lowest.min(frame.at);
        let oldest = frame.added.saturating_sub(frame.until.saturating_sub(frame.added));
        if lowest < oldest {
            kept.retain(|event| event.at >= oldest);
            lowest = kept.iter().map(|event| event.at).min().unwrap_or(u64::MAX);
        }
        let most = usize::try_from(frame.most).unwrap_or(usize::MAX);
        while kept.len() > most {
            kept.pop_front();
        }
    }
    if until <= now {
        return Vec::new();
    }
    kept.into_iter()
        .map(|frame| StoredEvent { at: frame.at, text: frame.text.to_owned() })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use std::time::Duration;

    use tenure_core::{proto::history::Retention, store::HistoryWrite};
    use tenure_testkit::fuzz;

    use super::*;

    const SEED: u32 = 0x5eed_0001;

    fn frame(number: u32, text: &str) -> Frame<'_> {
        Frame { number, most: 100, at: 7, added: 8, until: 90, text }
    }

    fn encoded(frames: &[Frame<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.encode_to(SEED, &mut bytes));
        bytes
    }

    #[test]
    fn any_bytes_are_a_head_or_none() {
        let long = "é".repeat(256);
        let heads = ["a", &long].map(|name| HistoryHead { name, seed: SEED }.encode());
        assert!(heads.iter().all(|head| head.len() <= LONGEST_HEAD));
        fuzz(20_000, &heads.each_ref().map(Vec::as_slice), |bytes| {
            let Ok((head, rest)) = HistoryHead::decode(bytes) else { return false };
            assert_eq!([&head.encode(), rest].concat(), bytes);
            true
        });
    }

    #[test]
    fn any_bytes_are_frames_or_none() {
        let long = "é".repeat(Event::MAX / 2);
        let examples = [encoded(&[frame(0, "")]), encoded(&[frame(0, "a"), frame(1, &long)])];
        fuzz(20_000, &examples.each_ref().map(Vec::as_slice), |bytes| {
            let frames: Vec<_> = Frame::all(SEED, bytes).collect();
            let mut begin = 0;
            for (frame, end) in &frames {
                let encoded = encoded(&[*frame]);
                assert_eq!(bytes.get(end - encoded.len()..*end), Some(&*encoded));
                assert!(end - encoded.len() >= begin, "none is within another");
                begin = *end;
            }
            let last = Frame::last(SEED, bytes);
            assert!(last.is_none() || last == frames.last().map(|(frame, _)| *frame));
            !frames.is_empty()
        });
    }

    #[test]
    fn damage_costs_what_is_damaged_and_no_text_is_a_frame() {
        // The text of an event, with a frame of another file in it.
        let mut forged = Vec::new();
        Frame { most: 1, ..frame(1, "forged") }.encode_to(0, &mut forged);
        let forged = String::from_utf8(forged.iter().map(|byte| byte & 0x7f).collect()).unwrap();
        let frames = [frame(0, "one"), frame(1, &forged), frame(2, "three")];
        let whole = encoded(&frames);
        let (begin, end) = (encoded(&frames[..1]).len(), encoded(&frames[..2]).len());
        for at in begin..end {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            let left: Vec<_> = Frame::all(SEED, &bytes).map(|(frame, _)| frame.text).collect();
            assert_eq!(left, ["one", "three"], "{at}");
            assert_eq!(Frame::last(SEED, &bytes), Some(frames[2]));
        }
        assert_eq!(Frame::all(SEED ^ 1, &whole).count(), 0, "they belong to another file");
    }

    #[test]
    fn frames_are_kept_as_the_reference_keeps_events() {
        let mut random = 1_u32;
        let mut below = |most: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) % most
        };
        for _ in 0..200 {
            let (mut bytes, mut number, mut now) = (Vec::new(), 0, 100_000_000_u64);
            let (mut model, mut until) = (Vec::new(), u64::MAX);
            for _ in 0..40 {
                now += u64::from(below(2_000_000));
                let ago = Duration::from_micros(u64::from(below(4_000_000)));
                let most = 1 + below(4);
                let time = Duration::from_secs(u64::from(1 + below(5)));
                let retention = Retention::new(most, time).unwrap();
                let write = HistoryWrite { events: vec![(number.to_string(), ago)], retention };
                if until <= now {
                    model.clear();
                }
                write.add_to(&mut model, now);
                until = now + u64::try_from(time.as_micros()).unwrap();
                for event in write.stamped(now) {
                    let (at, text) = (event.at, &*event.text);
                    let most = retention.most_events();
                    Frame { number, most, at, added: now, until, text }.encode_to(SEED, &mut bytes);
                    number += 1;
                }
                let frames = || Frame::all(SEED, &bytes).map(|(frame, _)| frame);
                assert_eq!(kept_events(frames(), now), model);
                assert_eq!(kept_events(frames(), until), []);
            }
        }
    }
}
