//! What packets say. Pure, and for whatever bytes: what is not there is an error, never a panic.

use std::{cmp::max, fmt, sync::Arc};

use super::{Error, ServerError, Value, bits::can};

/// As much of an error's text as is kept.
const MOST_OF_TEXT: usize = 512;

/// The rest of a packet.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

const CUT: Error = Error::odd("a packet is cut");

impl<'a> Reader<'a> {
    pub(crate) fn bytes(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(CUT)?;
        self.0 = rest;
        Ok(*bytes)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    /// A number of a length of its own; none where there is nothing in its place.
    pub(crate) fn read_lenenc_int(&mut self) -> Result<Option<u64>, Error> {
        Ok(Some(match self.byte()? {
            small @ 0..=0xfa => small.into(),
            0xfb => return Ok(None),
            0xfc => self.u16()?.into(),
            0xfd => {
                let [a, b, c] = self.array()?;
                u32::from_le_bytes([a, b, c, 0]).into()
            }
            0xfe => self.array().map(u64::from_le_bytes)?,
            0xff => return Err(Error::odd("a number begins as none does")),
        }))
    }

    fn count(&mut self) -> Result<u64, Error> {
        self.read_lenenc_int()?.ok_or(Error::odd("a number is not there"))
    }

    /// Bytes behind their length.
    pub(crate) fn read_lenenc_bytes(&mut self) -> Result<Option<&'a [u8]>, Error> {
        let Some(length) = self.read_lenenc_int()? else { return Ok(None) };
        self.bytes(usize::try_from(length).map_err(|_| CUT)?).map(Some)
    }

    /// Bytes before a zero, or all that there are.
    pub(crate) fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let (bytes, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        bytes
    }
}

/// How a server introduces itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) capabilities: u32,
    pub(crate) extended: u32,
    pub(crate) nonce: Vec<u8>,
    pub(crate) plugin: String,
}

/// What the password is mixed with has so many bytes.
pub(crate) const NONCE: usize = 20;

impl Greeting {
    pub(crate) fn read(packet: &[u8]) -> Result<Self, Error> {
        if let Some(said) = refusal(packet) {
            return Err(said?);
        }
        let mut reader = Reader(packet);
        if reader.byte()? != 10 {
            return Err(Error::odd("it greets as no server does that is known"));
        }
        reader.until_zero();
        reader.u32()?;
        let mut nonce = reader.bytes(8)?.to_vec();
        reader.byte()?;
        let low = reader.u16()?;
        reader.bytes(3)?;
        let high = reader.u16()?;
        let length = reader.byte()?;
        reader.bytes(6)?;
        let extended = reader.u32()?;
        let capabilities = u32::from(low) | u32::from(high) << 16;
        if capabilities & can::SECURE_CONNECTION != 0 {
            nonce.extend(reader.bytes(max(13, usize::from(length).saturating_sub(8)))?);
        }
        nonce.resize(NONCE, 0);
        let plugin = String::from_utf8_lossy(reader.until_zero()).into_owned();
        // MariaDB alone leaves this out, and has something in the place of it.
        let is_mariadb = capabilities & can::LONG_PASSWORD == 0;
        let extended = if is_mariadb { extended } else { 0 };
        Ok(Self { capabilities, extended, nonce, plugin })
    }
}

/// What is said where something was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OkPacket {
    pub(crate) affected: u64,
    pub(crate) number: u64,
    pub(crate) status: u16,
}

impl OkPacket {
    /// Of a packet that says so, behind its first byte.
    pub(crate) fn read(mut reader: Reader<'_>) -> Result<Self, Error> {
        let (affected, number) = (reader.count()?, reader.count()?);
        let status = reader.u16()?;
        Ok(Self { affected, number, status })
    }

    /// The end of rows, from a server that says it in the old way.
    pub(crate) fn read_old(mut reader: Reader<'_>) -> Result<Self, Error> {
        reader.u16()?;
        let status = reader.u16()?;
        Ok(Self { affected: 0, number: 0, status })
    }
}

/// What a packet refuses, if it does. In some there is a state of SQL before the text.
pub(crate) fn refusal(packet: &[u8]) -> Option<Result<Error, Error>> {
    let mut reader = Reader(packet.strip_prefix(&[0xff])?);
    Some(reader.u16().map(|code| {
        let text = reader.0.strip_prefix(b"#").and_then(|behind| behind.get(5..));
        let text = text.unwrap_or(reader.0);
        let text = text.get(..MOST_OF_TEXT).unwrap_or(text);
        Error::Server(ServerError { code, message: String::from_utf8_lossy(text).into_owned() })
    }))
}

/// What is known of a column: how its values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    kind: u8,
    is_unsigned: bool,
}

impl Column {
    pub(crate) fn read(packet: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(packet);
        // Where it is from, and what it is called.
        for _ in 0..6 {
            reader.read_lenenc_bytes()?;
        }
        reader.count()?;
        reader.bytes(6)?;
        let kind = reader.byte()?;
        Ok(Self { kind, is_unsigned: reader.u16()? & 0x20 != 0 })
    }
}

/// What a statement says that was prepared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PrepareOk {
    pub(crate) id: u32,
    pub(crate) columns: u16,
    pub(crate) parameters: u16,
}

impl PrepareOk {
    pub(crate) fn read(packet: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(packet);
        if reader.byte()? != 0 {
            return Err(Error::odd("it answers to what it was to prepare with something else"));
        }
        Ok(Self { id: reader.u32()?, columns: reader.u16()?, parameters: reader.u16()? })
    }
}

/// One that was found.
#[derive(Clone, PartialEq)]
pub(crate) struct Row(Vec<Value>);

impl Row {
    /// Of a statement that was sent as a text.
    pub(crate) fn of_text(packet: &[u8], columns: &[Column]) -> Result<Self, Error> {
        let mut reader = Reader(packet);
        let value =
            |_| reader.read_lenenc_bytes().map(|text| text.map_or(Value::Null, |text| text.into()));
        let values: Result<_, _> = columns.iter().map(value).collect();
        ended(reader, Self(values?))
    }

    /// Of a statement that was prepared.
    pub(crate) fn of_prepared(packet: &[u8], columns: &[Column]) -> Result<Self, Error> {
        let mut reader = Reader(packet);
        reader.byte()?;
        let missing = reader.bytes((columns.len() + 9) / 8)?;
        let is_missing = |at: usize| {
            missing.get((at + 2) / 8).is_some_and(|bits| bits >> ((at + 2) % 8) & 1 != 0)
        };
        let mut values = Vec::with_capacity(columns.len());
        for (at, column) in columns.iter().enumerate() {
            let value = if is_missing(at) { Value::Null } else { value(&mut reader, *column)? };
            values.push(value);
        }
        ended(reader, Self(values))
    }

    /// The value of this column.
    pub(crate) fn get(&self, index: usize) -> Option<&Value> {
        self.0.get(index)
    }
}

/// Values may be owners: they are not shown.
impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row({})", self.0.len())
    }
}

fn ended(reader: Reader<'_>, row: Row) -> Result<Row, Error> {
    if reader.0.is_empty() { Ok(row) } else { Err(Error::odd("a row has more than its columns")) }
}

fn value(reader: &mut Reader<'_>, column: Column) -> Result<Value, Error> {
    let integer = |signed: i64, unsigned: u64| {
        if column.is_unsigned { Value::UInt(unsigned) } else { Value::Int(signed) }
    };
    Ok(match column.kind {
        0x06 => Value::Null,
        0x01 => {
            let byte = reader.byte()?;
            integer(i8::from_le_bytes([byte]).into(), byte.into())
        }
        // Also of years.
        0x02 | 0x0d => {
            let bytes = reader.array()?;
            integer(i16::from_le_bytes(bytes).into(), u16::from_le_bytes(bytes).into())
        }
        0x03 | 0x09 => {
            let bytes = reader.array()?;
            integer(i32::from_le_bytes(bytes).into(), u32::from_le_bytes(bytes).into())
        }
        0x08 => {
            let bytes = reader.array()?;
            integer(i64::from_le_bytes(bytes), u64::from_le_bytes(bytes))
        }
        0x04 => Value::Double(reader.array().map(f32::from_le_bytes)?.into()),
        0x05 => Value::Double(reader.array().map(f64::from_le_bytes)?),
        // Texts, bytes, and decimal numbers as text.
        0x00 | 0x0f | 0x10 | 0xf2 | 0xf5..=0xff => {
            reader.read_lenenc_bytes()?.map_or(Value::Null, |text| text.into())
        }
        _ => return Err(Error::odd("a column is of a type that no statement of ours asks for")),
    })
}

/// Where the columns of rows come from.
pub(crate) enum ColumnSource {
    /// They follow, so many.
    Follow(usize),
    /// They are as they were when the statement was prepared.
    AsBefore,
}

/// More than any statement of ours asks for.
const MOST_COLUMNS: u64 = 256;

impl ColumnSource {
    /// Of the packet before rows.
    pub(crate) fn read(packet: &[u8], prepared: Option<&Arc<[Column]>>) -> Result<Self, Error> {
        let mut reader = Reader(packet);
        let columns =
            reader.read_lenenc_int()?.ok_or(Error::odd("it asks for a file of this machine"))?;
        if columns == 0 || columns > MOST_COLUMNS {
            return Err(Error::odd("it names more columns than any statement asks for"));
        }
        let columns = usize::try_from(columns).map_err(|_| CUT)?;
        match (reader.0.first(), prepared) {
            (Some(0), Some(prepared)) if prepared.len() == columns => Ok(Self::AsBefore),
            (Some(0), _) => Err(Error::odd("it leaves out columns that it has not named before")),
            _ => Ok(Self::Follow(columns)),
        }
    }
}

#[cfg(test)]
mod tests;
