//! Which slot a key is in.

/// How many slots there are.
pub(crate) const SLOTS: u16 = 16_384;

/// The slot of what a cluster hashes: a key without braces, or what stands between its first pair.
pub(crate) fn slot(hashed: &[u8]) -> u16 {
    crc16(hashed) % SLOTS
}

/// The slot of a key, which is that of its hash tag if it has one.
pub(crate) fn slot_of_key(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    slot(tag.filter(|tag| !tag.is_empty()).unwrap_or(key).as_bytes())
}

/// CRC-16/XMODEM, as the specification of Redis Cluster has it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_slot_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot(b"123456789"), 12_739);
        // As a server tells: CLUSTER KEYSLOT foo.
        assert_eq!(slot(b"foo"), 12_182);
        for key in ["a{foo}b", "{foo}", "{foo}{bar}", "}{foo}"] {
            assert_eq!(slot_of_key(key), 12_182, "{key}");
        }
        for key in ["{}foo", "foo{", "fo}o"] {
            assert_eq!(slot_of_key(key), slot(key.as_bytes()), "{key}");
        }
    }
}
