//! The record of one who has a lock alone, as scripts write it, too.

use tenure_core::{
    Token,
    proto::queue::{Ask, Contender},
};

use crate::{
    client::Value,
    locks::layout::{
        fields::{ParseResult, ReplyError, ReplyFields},
        wire::{self, OwnerText, WITHOUT_SCRIPTS},
    },
};

/// What its parts are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedRecord<'a> {
    pub(crate) owner: &'a str,
    /// All that stands behind it.
    rest: &'a str,
    reads: bool,
    /// What the name is used as.
    used: &'a str,
    /// Its time, and the token it was raised to.
    grant: &'a str,
    permits: &'a str,
    label: &'a str,
}

/// Stands for an owner that has let go: no owner is written so.
const NOBODY: &str = "--------------------------------";

/// How long an owner is.
const OWNER: usize = size_of::<OwnerText>();

impl<'a> ParsedRecord<'a> {
    pub(crate) fn read(text: &'a [u8]) -> ParseResult<Self> {
        let text = std::str::from_utf8(text).map_err(|_| ReplyError::Corrupt)?;
        let (owner, rest) = text.split_at_checked(OWNER).ok_or(ReplyError::Corrupt)?;
        let (head, label) = rest.split_once(' ').ok_or(ReplyError::Corrupt)?;
        let (head, permits) = head.split_once(';').unwrap_or((head, ""));
        let (reads, head) = match head.strip_prefix('s') {
            Some(head) => (true, head),
            None => (false, head),
        };
        let letter =
            head.chars().next().filter(char::is_ascii_alphabetic).map_or(0, char::len_utf8);
        let (used, grant) = head.split_at(letter);
        Ok(Self { owner, rest, reads, used, grant, permits, label })
    }

    /// How its holder has it, for people and for scripts.
    fn mode(&self) -> String {
        match (self.permits, self.reads) {
            ("", true) => "s".to_owned(),
            ("", false) => "x".to_owned(),
            (permits, _) => format!("p {permits}"),
        }
    }

    /// Whether one has it for itself.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.permits.is_empty() && !self.reads
    }

    /// Whether each part is as tenure writes it.
    pub(crate) fn is_whole(&self) -> bool {
        let is_owner = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        // Until the year 2286 the time of a grant has so many digits.
        let digits = self.grant.bytes().take_while(u8::is_ascii_digit).count();
        (self.owner == NOBODY || self.owner.bytes().all(is_owner))
            && digits == 16
            && self.holder(0).is_ok()
    }

    pub(crate) fn token(&self) -> ParseResult<Token> {
        self.grant().map(|(token, _)| token)
    }

    fn grant(&self) -> ParseResult<(Token, u64)> {
        ReplyFields(vec![bytes(self.grant)].into_iter()).grant()
    }

    /// Who has it, and for how many milliseconds.
    pub(crate) fn holder(&self, left: i64) -> ParseResult<Contender> {
        let fields = vec![
            bytes(&self.mode()),
            bytes(self.grant),
            Value::Int(left),
            Value::Int(i64::from(self.owner == NOBODY)),
            bytes(self.label),
            bytes(self.used),
            bytes(self.owner),
        ];
        ReplyFields(fields.into_iter()).contender()
    }

    /// The same when its owner has let go, and the lock stays taken for a while.
    pub(crate) fn lingering(&self) -> String {
        format!("{NOBODY}{}", self.rest)
    }

    /// The same with a greater token.
    pub(crate) fn raised(&self, token: Token) -> ParseResult<String> {
        let (_, since) = self.grant()?;
        let stays = if self.grant.ends_with(WITHOUT_SCRIPTS) { "!" } else { "" };
        let Self { owner, used, label, .. } = self;
        let reads = if self.reads { "s" } else { "" };
        let permits = if self.permits.is_empty() { "" } else { ";" };
        Ok(format!(
            "{owner}{reads}{used}{since}/{}{stays}{permits}{} {label}",
            token.get(),
            self.permits
        ))
    }
}

/// The record of what this ask is granted at this time.
pub(crate) fn granted(ask: &Ask, time: u64) -> String {
    wire::record(&ask.owner, wire::mark(ask), time, ask.mode, &ask.label)
}

fn bytes(text: &str) -> Value {
    Value::Bytes(text.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use tenure_testkit::fuzz;

    use super::*;

    const OWNER: &str = "00112233445566778899aabbccddeeff";

    #[test]
    fn each_part_of_a_record_is_read() {
        let text = |rest: &str| format!("{OWNER}{rest}");
        let used = |rest: &str| {
            let text = text(rest);
            let record = ParsedRecord::read(text.as_bytes()).unwrap();
            let holder = record.holder(1_500).unwrap();
            (record.mode(), holder.kind, holder.label, holder.token.unwrap().time())
        };
        use tenure_core::proto::queue::Kind;
        let time = 1_700_000_000_000_000;
        let of =
            |mode: &str, kind, label: &str| (mode.to_owned(), Some(kind), label.to_owned(), time);
        assert_eq!(used("1700000000000000! a b;c"), of("x", Kind::Mutex, "a b;c"));
        assert_eq!(used("1700000000000000 "), of("x", Kind::Mutex, ""));
        assert_eq!(used("e1700000000000000 a"), of("x", Kind::Election, "a"));
        assert_eq!(used("sr1700000000000000 a"), of("s", Kind::ReadWrite, "a"));
        assert_eq!(used("p1700000000000000;1/20 a"), of("p 1/20", Kind::Semaphore, "a"));
        for rest in ["", "1700000000000000", "x ", "12/x a", "-1 a"] {
            let text = text(rest);
            let record = ParsedRecord::read(text.as_bytes()).and_then(|record| record.holder(1));
            assert!(matches!(record, Err(ReplyError::Corrupt)), "{rest}");
        }
        for text in [&b"short a"[..], &[0xff; 40]] {
            assert!(matches!(ParsedRecord::read(text), Err(ReplyError::Corrupt)));
        }
    }

    #[test]
    fn a_raised_record_keeps_all_but_its_token() {
        for (rest, raised) in [
            ("e1700000000000000! a b", "e1700000000000000/1740800000000000007! a b"),
            (
                "sr1700000000000000/1740800000000000005 a",
                "sr1700000000000000/1740800000000000007 a",
            ),
            ("p1700000000000000;1/20 ", "p1700000000000000/1740800000000000007;1/20 "),
        ] {
            let text = format!("{OWNER}{rest}");
            let record = ParsedRecord::read(text.as_bytes()).unwrap();
            let token = Token::from_raw(1_740_800_000_000_000_007).unwrap();
            let written = record.raised(token).unwrap();
            assert_eq!(written, format!("{OWNER}{raised}"));
            assert_eq!(ParsedRecord::read(written.as_bytes()).unwrap().token().unwrap(), token);
        }
    }

    #[test]
    fn any_bytes_are_a_record_or_none() {
        let examples =
            ["x1700000000000000 a", "sr1700000000000000/1740800000000000005! a", "p17;1/20 "]
                .map(|rest| format!("{OWNER}{rest}"));
        fuzz(20_000, &examples.each_ref().map(String::as_bytes), |bytes| {
            let Ok(record) = ParsedRecord::read(bytes) else { return false };
            let _ = record.raised(Token::from_raw(1 << 20).unwrap());
            record.token().is_ok() && record.holder(1).is_ok()
        });
    }
}
