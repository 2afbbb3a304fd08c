//! The protocol's bytes. Pure, and for whatever bytes: what is not there is an error, never a panic.

use super::{Error, Result};

/// Numbers of requests.
pub(super) mod op {
    pub(crate) const CREATE: i32 = 1;
    pub(crate) const DELETE: i32 = 2;
    pub(crate) const EXISTS: i32 = 3;
    pub(crate) const GET_DATA: i32 = 4;
    pub(crate) const SET_DATA: i32 = 5;
    pub(crate) const GET_CHILDREN: i32 = 8;
    pub(crate) const SYNC: i32 = 9;
    pub(crate) const PING: i32 = 11;
    pub(crate) const CHECK: i32 = 13;
    pub(crate) const MULTI: i32 = 14;
    pub(crate) const CREATE2: i32 = 15;
    pub(crate) const REMOVE_WATCHES: i32 = 18;
    pub(crate) const CREATE_CONTAINER: i32 = 19;
    pub(crate) const MULTI_READ: i32 = 22;
    pub(crate) const AUTH: i32 = 100;
    pub(crate) const SET_WATCHES: i32 = 101;
    #[cfg(feature = "sasl")]
    pub(crate) const SASL: i32 = 102;
    pub(crate) const CLOSE: i32 = -11;
    pub(crate) const ERROR: i32 = -1;
}

/// A request as it grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn int(&mut self, number: i32) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(super) fn long(&mut self, number: i64) {
        self.0.extend_from_slice(&number.to_be_bytes());
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.0.push(flag.into());
    }

    pub(super) fn count(&mut self, count: usize) {
        self.int(i32::try_from(count).unwrap_or(i32::MAX));
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
}

/// The rest of an answer.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

const CUT: Error = Error::Odd("an answer is cut");
/// As much as the names of an answer may take in memory, and each of them beside its bytes.
const NAMES: usize = 32 * 1024 * 1024;
const NAME: usize = 64;

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(CUT)?;
        self.0 = rest;
        Ok(*bytes)
    }

    pub(super) fn int(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn long(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    pub(super) fn flag(&mut self) -> Result<bool> {
        self.array::<1>().map(|[byte]| byte != 0)
    }

    /// Bytes behind their length. Those that are not there are none.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.int()?).unwrap_or_default();
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Error::Odd("a name is no text"))
    }

    /// Names behind their number, which is believed of as many as are there.
    pub(super) fn texts(&mut self) -> Result<Vec<String>> {
        let count = usize::try_from(self.int()?).unwrap_or_default();
        if count > self.0.len() / 4 {
            return Err(Error::Odd("it counts more names than there are"));
        }
        let mut room = NAMES;
        let mut texts = Vec::new();
        for _ in 0..count {
            let text = self.text()?;
            room =
                room.checked_sub(NAME + text.len()).ok_or(Error::Odd("it has too many names"))?;
            texts.push(text.to_owned());
        }
        Ok(texts)
    }
}

/// What is known of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// The transaction that made it.
    pub(crate) czxid: i64,
    /// When that was, in milliseconds since 1970.
    pub(crate) ctime: i64,
    /// How often its data changed.
    pub(crate) version: i32,
    /// How often its children changed.
    pub(crate) cversion: i32,
    /// The session that it belongs to.
    pub(crate) ephemeral_owner: i64,
    pub(crate) num_children: i32,
}

impl Stat {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let czxid = reader.long()?;
        let _mzxid = reader.long()?;
        let ctime = reader.long()?;
        let _mtime = reader.long()?;
        // Of the data, of the children, of the rights.
        let [version, cversion, _] = [reader.int()?, reader.int()?, reader.int()?];
        let ephemeral_owner = reader.long()?;
        let _length = reader.int()?;
        let num_children = reader.int()?;
        let _pzxid = reader.long()?;
        Ok(Self { czxid, ctime, version, cversion, ephemeral_owner, num_children })
    }
}

/// What begins an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReplyHeader {
    pub(super) xid: i32,
    pub(super) zxid: i64,
    pub(super) error: i32,
}

impl ReplyHeader {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { xid: reader.int()?, zxid: reader.long()?, error: reader.int()? })
    }
}

/// How a server begins or goes on with a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConnectResponse {
    pub(super) length: std::time::Duration,
    pub(super) id: i64,
    pub(super) password: Vec<u8>,
}

impl ConnectResponse {
    pub(super) fn read(frame: &[u8]) -> Result<Self> {
        let mut reader = Reader(frame);
        let (version, length, id) = (reader.int()?, reader.int()?, reader.long()?);
        let password = reader.bytes()?.to_vec();
        // Old servers leave it out.
        let is_read_only = !reader.0.is_empty() && reader.flag()?;
        if id == 0 || length <= 0 {
            return Err(Error::SessionExpired);
        }
        if version != 0 || is_read_only || password.len() > 64 {
            return Err(Error::Odd("it begins a session as none is begun"));
        }
        let length = u64::try_from(length).map_err(|_| CUT)?;
        Ok(Self { length: std::time::Duration::from_millis(length), id, password })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_names_is_believed_of_as_many_as_are_there() {
        let mut body = Writer::default();
        body.count(2);
        body.text("a");
        body.text("bc");
        assert_eq!(Reader(&body.0).texts().unwrap(), ["a", "bc"]);
        for count in [3, 1_000_000, i32::MAX] {
            let mut lying = body.clone();
            lying.0[..4].copy_from_slice(&count.to_be_bytes());
            assert!(Reader(&lying.0).texts().is_err(), "{count}");
        }
        let mut none = Writer::default();
        none.int(-1);
        assert!(Reader(&none.0).texts().unwrap().is_empty());
        for at in 4..body.0.len() {
            assert!(Reader(&body.0[..at]).texts().is_err(), "{at}");
        }
        let mut many = Writer::default();
        many.count(600_000);
        many.0.resize(4 + 600_000 * 4, 0);
        assert_eq!(Reader(&many.0).texts(), Err(Error::Odd("it has too many names")));
    }

    #[test]
    fn whatever_a_server_begins_with_is_read_or_refused() {
        let mut welcome = Writer::default();
        welcome.int(0);
        welcome.int(10_000);
        welcome.long(7);
        welcome.bytes(&[1; 16]);
        let read = ConnectResponse::read(&welcome.0).unwrap();
        assert_eq!((read.id, read.length.as_secs(), read.password.len()), (7, 10, 16));
        for at in 0..welcome.0.len() {
            assert!(ConnectResponse::read(&welcome.0[..at]).is_err(), "{at}");
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = welcome.0.clone();
                bytes[at] = byte;
                let _ = ConnectResponse::read(&bytes);
            }
        }
        let mut expired = welcome.clone();
        expired.0[4..8].fill(0);
        assert_eq!(ConnectResponse::read(&expired.0), Err(Error::SessionExpired));
    }

    #[test]
    fn any_answer_is_read_or_refused() {
        let mut answer = Writer::default();
        answer.int(7);
        answer.long(9);
        answer.int(0);
        answer.count(2);
        answer.text("one");
        answer.text("two");
        (1..=4).for_each(|number| answer.long(number));
        (5..=7).for_each(|number| answer.int(number));
        answer.0.resize(answer.0.len() + 24, 8);
        let mut welcome = Writer::default();
        welcome.int(0);
        welcome.int(10_000);
        welcome.long(7);
        welcome.bytes(&[1; 16]);
        tenure_testkit::fuzz(20_000, &[&answer.0, &welcome.0], |bytes| {
            let welcomes = ConnectResponse::read(bytes).is_ok();
            let mut reader = Reader(bytes);
            let header = ReplyHeader::read(&mut reader);
            let names = header.and_then(|_| reader.texts());
            let of_names = names.as_ref().map_or(0, |names| names.iter().map(String::len).sum());
            assert!(of_names <= bytes.len());
            let stat = names.and_then(|_| Stat::read(&mut reader));
            welcomes || stat.is_ok()
        });
    }
}
