//! A page of two slots, written in turn, so that a torn write leaves the state before it.
//!
//! A slot is a header and a payload. What does not fit a slot goes to one of two large areas
//! behind the page first; the slot then says where it is, so it comes into force by the write of
//! the slot alone. All numbers are little-endian.

use std::{fs::File, io};

use crate::machine::Machine;

/// How long a file is at least, so that one read gets both slots.
pub(crate) const PAGE: usize = 4096;
const SLOT: usize = PAGE / 2;
const HEADER: usize = 48;
const INLINE: usize = SLOT - HEADER;
/// How far the large areas lie apart, and how much one holds: as many holders and waiters as the
/// store allows, with the longest labels, are two thirds of it.
const AREA: u64 = 1 << 20;

const VERSION: u16 = 2;
const IN_AREA: u16 = 1 << 15;

/// What a file of slots holds; part of its magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotFileKind {
    Clock,
    Floor,
    State,
    Record,
}

impl SlotFileKind {
    const fn magic(self) -> [u8; 4] {
        match self {
            Self::Clock => *b"tnrC",
            Self::Floor => *b"tnrF",
            Self::State => *b"tnrS",
            Self::Record => *b"tnrR",
        }
    }
}

/// Room for what is read of a file of slots.
#[derive(Debug)]
pub(crate) struct ReadBuffer {
    page: [u8; PAGE],
    area: Vec<u8>,
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotRecord<'p> {
    /// Counts the writes of the file; the slot with the higher one is in force.
    pub(crate) seq: u64,
    /// Marks of the file's kind, below 2^15.
    pub(crate) flags: u16,
    /// The boot it was written in.
    pub(crate) boot: [u8; 16],
    pub(crate) payload: &'p [u8],
}

/// Why a file cannot be read.
#[derive(Debug)]
pub(crate) enum Damage {
    Io(io::Error),
    /// Neither slot is whole.
    Torn,
    OtherVersion(u16),
}

/// Why a record could not be written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// The record before it is in force.
    NoEffect(io::Error),
    /// Nobody knows which record is in force.
    Unknown(io::Error),
    TooLarge(usize),
}

/// The greatest number of a write: so many are never made, and behind the greatest of all nothing could follow.
const LAST_SEQ: u64 = u64::MAX / 2;

/// One file of slots. Who writes must have the file's lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotFile<'a> {
    pub(crate) machine: &'a dyn Machine,
    pub(crate) file: &'a File,
    pub(crate) kind: SlotFileKind,
}

/// A slot that may be whole.
struct Slot<'p> {
    seq: u64,
    flags: u16,
    boot: [u8; 16],
    length: usize,
    area_sum: u32,
    head: &'p [u8],
    inline: &'p [u8],
}

impl ReadBuffer {
    pub(crate) const fn new() -> Self {
        Self { page: [0; PAGE], area: Vec::new() }
    }
}

impl SlotFile<'_> {
    /// The record in force, which is read into `room`.
    pub(crate) fn read<'p>(&self, room: &'p mut ReadBuffer) -> Result<SlotRecord<'p>, Damage> {
        let ReadBuffer { page, area } = room;
        let length = self.machine.read_at(self.file, page, 0).map_err(Damage::Io)?;
        let page = page.get(..length).unwrap_or_default();
        let mut found = [self.slot(page, 0)?, self.slot(page, SLOT)?];
        found.sort_by_key(|slot| std::cmp::Reverse(slot.as_ref().map(|slot| slot.seq)));
        for slot in found.into_iter().flatten() {
            if self.is_whole(&slot, area).map_err(Damage::Io)? {
                let Slot { seq, flags, boot, inline, .. } = slot;
                let payload = if flags & IN_AREA == 0 { inline } else { area };
                return Ok(SlotRecord { seq, flags: flags & !IN_AREA, boot, payload });
            }
        }
        Err(Damage::Torn)
    }

    /// Whether one of the slots was once written by a store. Otherwise the file is somebody's.
    pub(crate) fn has_store_record(&self) -> bool {
        let mut page = [0; PAGE];
        self.machine.read_at(self.file, &mut page, 0).is_ok()
            && [0, SLOT].iter().any(|at| bytes::<4>(&page, *at) == self.kind.magic())
    }

    /// Puts `record` into force, over the older slot.
    pub(crate) fn write(&self, record: &SlotRecord<'_>) -> Result<(), WriteError> {
        if record.payload.len() as u64 > AREA {
            return Err(WriteError::TooLarge(record.payload.len()));
        }
        self.put(record).or_else(|error| self.resolve_failed_write(record.seq, error))
    }

    fn put(&self, record: &SlotRecord<'_>) -> io::Result<()> {
        let second = record.seq % 2 == 1;
        let slot_at = if second { SLOT as u64 } else { 0 };
        if record.payload.len() <= INLINE {
            let bytes = encode(self.kind, record, 0, record.payload);
            return self.machine.write_at(self.file, &bytes, slot_at);
        }
        self.machine.write_at(self.file, record.payload, area_at(record.seq))?;
        let bytes = encode(self.kind, record, crc32fast::hash(record.payload), &[]);
        self.machine.write_at(self.file, &bytes, slot_at)
    }

    /// After a failed write: which record is in force now?
    fn resolve_failed_write(&self, seq: u64, error: io::Error) -> Result<(), WriteError> {
        match self.read(&mut ReadBuffer::new()) {
            Ok(record) if record.seq == seq => Ok(()),
            Ok(_) => Err(WriteError::NoEffect(error)),
            Err(_) => Err(WriteError::Unknown(error)),
        }
    }

    /// The slot at `at`; `None` when it is none.
    fn slot<'p>(&self, page: &'p [u8], at: usize) -> Result<Option<Slot<'p>>, Damage> {
        let Some(slot) = page.get(at..) else { return Ok(None) };
        let Some((head, rest)) = slot.split_at_checked(HEADER) else { return Ok(None) };
        if bytes::<4>(head, 0) != self.kind.magic() {
            return Ok(None);
        }
        let version = u16::from_le_bytes(bytes(head, 4));
        if version != VERSION {
            return Err(Damage::OtherVersion(version));
        }
        let seq = u64::from_le_bytes(bytes(head, 8));
        if seq > LAST_SEQ {
            return Ok(None);
        }
        let flags = u16::from_le_bytes(bytes(head, 6));
        let length = u32::from_le_bytes(bytes(head, 32)) as usize;
        let here = if flags & IN_AREA == 0 { length } else { 0 };
        let Some(inline) = rest.get(..here).filter(|inline| inline.len() <= INLINE) else {
            return Ok(None);
        };
        Ok(Some(Slot {
            seq,
            flags,
            boot: bytes(head, 16),
            length,
            area_sum: u32::from_le_bytes(bytes(head, 36)),
            head,
            inline,
        }))
    }

    /// Whether the slot is whole. What of it does not lie in the page is read into `area`.
    fn is_whole(&self, slot: &Slot<'_>, area: &mut Vec<u8>) -> io::Result<bool> {
        if u32::from_le_bytes(bytes(slot.head, 40)) != checksum(slot.head, slot.inline) {
            return Ok(false);
        }
        if slot.flags & IN_AREA == 0 {
            return Ok(true);
        }
        if slot.length as u64 > AREA {
            return Ok(false);
        }
        area.resize(slot.length, 0);
        let length = self.machine.read_at(self.file, area, area_at(slot.seq))?;
        Ok(length == area.len() && crc32fast::hash(area) == slot.area_sum)
    }
}

fn area_at(seq: u64) -> u64 {
    PAGE as u64 + (seq % 2) * AREA
}

fn encode(kind: SlotFileKind, record: &SlotRecord<'_>, area_sum: u32, inline: &[u8]) -> Vec<u8> {
    let in_area = if inline.len() == record.payload.len() { 0 } else { IN_AREA };
    // The caller has checked the length against the size of an area.
    let length = u32::try_from(record.payload.len()).unwrap_or(u32::MAX);
    let mut slot = Vec::with_capacity(HEADER + inline.len());
    slot.extend_from_slice(&kind.magic());
    slot.extend_from_slice(&VERSION.to_le_bytes());
    slot.extend_from_slice(&(record.flags | in_area).to_le_bytes());
    slot.extend_from_slice(&record.seq.to_le_bytes());
    slot.extend_from_slice(&record.boot);
    slot.extend_from_slice(&length.to_le_bytes());
    slot.extend_from_slice(&area_sum.to_le_bytes());
    let sum = checksum(&slot, inline);
    slot.extend_from_slice(&sum.to_le_bytes());
    slot.resize(HEADER, 0);
    slot.extend_from_slice(inline);
    slot
}

/// Over the header up to the checksum itself, and the inline payload.
fn checksum(head: &[u8], inline: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head.get(..40).unwrap_or(head));
    hasher.update(inline);
    hasher.finalize()
}

fn bytes<const N: usize>(from: &[u8], at: usize) -> [u8; N] {
    from.get(at..at + N).and_then(|slice| slice.try_into().ok()).unwrap_or([0; N])
}
