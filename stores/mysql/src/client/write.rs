//! What packets of ours say. Pure.

use super::{
    Error, Value,
    bits::{CACHE_METADATA, can},
};

const EXECUTE: u8 = 0x17;
const CLOSE: u8 = 0x19;

/// `utf8mb4_general_ci`, which every server knows. Each session is told another one.
const COLLATION: u8 = 45;
/// More than any statement of ours has, in bytes.
const MOST_OF_A_PACKET: u32 = 64 * 1024 * 1024;
/// A statement that is longer would have its values sent one by one.
const MOST_OF_A_STATEMENT: usize = 0xff_ffff;

/// What both sides can do that log in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommonCapabilities {
    pub(crate) capabilities: u32,
    pub(crate) extended: u32,
}

impl CommonCapabilities {
    /// What a server can do, and we can too.
    pub(crate) const fn of(capabilities: u32, extended: u32) -> Self {
        Self { capabilities: capabilities & CAPABILITIES, extended: extended & CACHE_METADATA }
    }

    /// Asks for encryption, before anything is said of the user.
    pub(crate) fn ssl_request(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.capabilities.to_le_bytes());
        bytes.extend(MOST_OF_A_PACKET.to_le_bytes());
        bytes.push(COLLATION);
        bytes.extend([0; 19]);
        bytes.extend(self.extended.to_le_bytes());
        bytes
    }

    /// Says who we are, and proves it.
    pub(crate) fn response(
        self,
        user: &str,
        proof: &[u8],
        database: &str,
        plugin: &str,
    ) -> Vec<u8> {
        let all = Self { capabilities: self.capabilities | can::CONNECT_WITH_DB, ..self };
        let mut bytes = all.ssl_request();
        until_zero(&mut bytes, user);
        write_short_bytes(&mut bytes, proof);
        until_zero(&mut bytes, database);
        until_zero(&mut bytes, plugin);
        if self.capabilities & can::CONNECT_ATTRS != 0 {
            // Whoever looks at the server sees it.
            let mut attributes = Vec::new();
            write_short_bytes(&mut attributes, b"program_name");
            write_short_bytes(&mut attributes, b"tenure");
            write_short_bytes(&mut bytes, &attributes);
        }
        bytes
    }
}

/// What we can do.
const CAPABILITIES: u32 = can::PROTOCOL_41
    | can::SECURE_CONNECTION
    | can::LONG_PASSWORD
    | can::TRANSACTIONS
    | can::MULTI_STATEMENTS
    | can::MULTI_RESULTS
    | can::PS_MULTI_RESULTS
    | can::DEPRECATE_EOF
    | can::PLUGIN_AUTH
    | can::CONNECT_WITH_DB
    | can::CONNECT_ATTRS;

/// Carries out a prepared statement with these values.
pub(crate) fn execute(id: u32, values: &[Value]) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![EXECUTE];
    bytes.extend(id.to_le_bytes());
    // No cursor, and once.
    bytes.extend([0, 1, 0, 0, 0]);
    if !values.is_empty() {
        let is_missing = |value: &Value| u8::from(*value == Value::Null);
        let bits = |values: &[Value]| {
            values.iter().rev().fold(0, |bits: u8, value| bits << 1 | is_missing(value))
        };
        bytes.extend(values.chunks(8).map(bits));
        // Their types follow.
        bytes.push(1);
        bytes.extend(values.iter().flat_map(kind));
    }
    for value in values {
        match value {
            Value::Null => {}
            Value::Int(number) => bytes.extend(number.to_le_bytes()),
            Value::UInt(number) => bytes.extend(number.to_le_bytes()),
            Value::Double(number) => bytes.extend(number.to_le_bytes()),
            Value::Bytes(text) => write_lenenc_bytes(&mut bytes, text),
        }
    }
    if bytes.len() > MOST_OF_A_STATEMENT {
        return Err(Error::odd("a statement of ours is too long"));
    }
    Ok(bytes)
}

/// A type, and whether it has no sign.
const fn kind(value: &Value) -> [u8; 2] {
    match value {
        Value::Null => [0x06, 0],
        Value::Int(_) => [0x08, 0],
        Value::UInt(_) => [0x08, 0x80],
        Value::Double(_) => [0x05, 0],
        Value::Bytes(_) => [0xfd, 0],
    }
}

/// Forgets a prepared statement. It is not answered.
pub(crate) fn close(id: u32) -> Vec<u8> {
    let mut bytes = vec![CLOSE];
    bytes.extend(id.to_le_bytes());
    bytes
}

/// A text before a zero. What is behind a zero of its own would be read as something else, and is left out.
fn until_zero(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend(text.bytes().take_while(|byte| *byte != 0));
    bytes.push(0);
}

/// No more than 250 bytes, behind their number: proofs and words of ours.
fn write_short_bytes(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.push(u8::try_from(text.len()).unwrap_or_default());
    bytes.extend(text);
}

/// Bytes behind their number.
fn write_lenenc_bytes(bytes: &mut Vec<u8>, text: &[u8]) {
    let length = text.len() as u64;
    let [a, b, c, ..] = length.to_le_bytes();
    match length {
        0..=0xfa => bytes.push(a),
        0xfb..=0xffff => bytes.extend([0xfc, a, b]),
        0x1_0000..=0xff_ffff => bytes.extend([0xfd, a, b, c]),
        _ => {
            bytes.push(0xfe);
            bytes.extend(length.to_le_bytes());
        }
    }
    bytes.extend(text);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_written_as_the_protocol_has_it() {
        let common = CommonCapabilities::of(!can::CONNECT_ATTRS, u32::MAX);
        let response = common.response("me\0you", b"proof", "db", "plugin");
        let (head, tail) = response.split_at(32);
        assert_eq!(head, common.ssl_request());
        assert_eq!(head[..9], [0x09, 0xa2, 0x0f, 0x01, 0, 0, 0, 4, 45]);
        assert_eq!(head[9..], [[0; 19].as_slice(), &[0x10, 0, 0, 0]].concat());
        assert_eq!(tail, b"me\0\x05proofdb\0plugin\0");
        let common =
            CommonCapabilities { capabilities: common.capabilities | can::CONNECT_ATTRS, ..common };
        let response = common.response("me", b"", "db", "plugin");
        assert!(response.ends_with(b"plugin\0\x14\x0cprogram_name\x06tenure"));
    }

    #[test]
    fn a_statement_has_its_values_behind_their_types() {
        let values = [Value::Null, Value::Int(-2), Value::UInt(3), Value::Bytes(b"ab".to_vec())];
        let expected = b"\x17\x05\0\0\0\0\x01\0\0\0\x01\x01\x06\0\x08\0\x08\x80\xfd\0\xfe\xff\xff\xff\xff\xff\xff\xff\x03\0\0\0\0\0\0\0\x02ab";
        assert_eq!(execute(5, &values).unwrap(), expected);
        assert_eq!(execute(5, &[]).unwrap(), b"\x17\x05\0\0\0\0\x01\0\0\0");
        // The ninth begins a byte of its own.
        let mut nine = vec![Value::Int(0); 9];
        nine[8] = Value::Null;
        assert_eq!(execute(5, &nine).unwrap()[10..13], [0, 1, 1]);
    }

    #[test]
    fn bytes_of_any_length_are_read_as_they_were_written() {
        for length in [0, 1, 250, 251, 255, 256, 65_535, 65_536] {
            let text = vec![7; length];
            let mut bytes = Vec::new();
            write_lenenc_bytes(&mut bytes, &text);
            let mut reader = super::super::read::Reader(&bytes);
            assert_eq!(reader.read_lenenc_bytes().unwrap(), Some(&text[..]), "{length}");
            assert!(reader.0.is_empty());
        }
        let most = Value::Bytes(vec![7; MOST_OF_A_STATEMENT]);
        assert!(execute(1, &[most]).is_err());
    }
}
