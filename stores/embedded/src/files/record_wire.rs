//! A record of slots as bytes: the name, until when it is kept, and its text.

/// What the file of a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptRecord<'p> {
    pub(crate) name: &'p str,
    /// In microseconds since the Unix epoch.
    pub(crate) until: u64,
    pub(crate) text: &'p str,
}

impl<'p> KeptRecord<'p> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut to = Vec::with_capacity(self.name.len() + self.text.len() + 12);
        write_text(&mut to, self.name);
        to.extend_from_slice(&self.until.to_le_bytes());
        write_text(&mut to, self.text);
        to
    }

    /// `None` when the bytes make no sense.
    pub(crate) fn decode(bytes: &'p [u8]) -> Option<Self> {
        let (name, rest) = read_text(bytes)?;
        let (until, rest) = rest.split_first_chunk()?;
        let (text, rest) = read_text(rest)?;
        let until = u64::from_le_bytes(*until);
        rest.is_empty().then_some(Self { name, until, text })
    }
}

fn write_text(to: &mut Vec<u8>, text: &str) {
    // A name is at most 512 bytes, and a record 4096.
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    to.extend_from_slice(&length.to_le_bytes());
    to.extend_from_slice(text.as_bytes());
}

fn read_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some((std::str::from_utf8(text).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use tenure_testkit::fuzz;

    use super::*;

    #[test]
    fn any_bytes_are_a_record_or_none() {
        let long = "é".repeat(2_000);
        let examples = [
            KeptRecord { name: "a", until: 0, text: "" }.encode(),
            KeptRecord { name: "reports/nightly", until: 1 << 50, text: &long }.encode(),
        ];
        fuzz(20_000, &examples.each_ref().map(Vec::as_slice), |bytes| {
            let Some(read) = KeptRecord::decode(bytes) else { return false };
            assert_eq!(read.encode(), bytes, "nothing is left over");
            true
        });
    }
}
