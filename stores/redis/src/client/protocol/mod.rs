//! What servers say, in RESP3, and where each reply ends.
//!
//! The bytes are a stranger's: whatever they are, reading them ends, does not panic, and takes no more
//! memory than a small multiple of what has come.

pub(crate) mod call;
pub(crate) mod echo;
pub(crate) mod epoch;
pub(crate) mod info;
pub(crate) mod script;
pub(crate) mod slots;
pub(crate) mod tag;

use std::{fmt, str};

/// Replies of ours are never deeper.
const DEEPEST: usize = 16;
/// Room made at once for what is told to come; what is there may be less.
const FEW: usize = 16;
/// No number is longer, its sign and the end of its line counted.
const LONGEST_NUMBER: usize = 24;
/// No line of a text or an error is longer.
const LONGEST_LINE: usize = 64 * 1024;
/// No reply of ours comes near it, in bytes and in memory: whoever says more is no server of locks.
pub(crate) const LONGEST: usize = 64 * 1024 * 1024;
/// What a value takes beside its bytes, about.
const EACH: usize = 64;
/// What each takes on the wire, at least.
const SHORTEST: usize = 3;

/// One reply, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Nil,
    Int(i64),
    /// Bytes whose length was told.
    Bytes(Vec<u8>),
    /// A line, or a text for people. Fractions, truths and large numbers are left as they are written:
    /// no call asks for any.
    Text(String),
    /// A list, or a set.
    Array(Vec<Self>),
    Map(Vec<(Self, Self)>),
    /// What the server says of its own accord.
    Push(Vec<Self>),
    Error(Box<ServerError>),
}

/// What a server says when it does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerError(String);

impl ServerError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The word by which programs know it.
    pub(crate) fn code(&self) -> &str {
        self.0.split(' ').next().unwrap_or_default()
    }

    /// What it says to people.
    pub(crate) fn detail(&self) -> &str {
        self.0.split_once(' ').map_or("", |(_, detail)| detail)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServerError {}

/// Bytes that are no reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MalformedReply;

/// The first reply in `bytes` and how long it is, or how much more has to come at least before there is one.
pub(crate) fn reply(bytes: &[u8]) -> Result<Result<(Value, usize), usize>, MalformedReply> {
    let mut reader = ReplyParser { rest: bytes, room: LONGEST };
    match reader.value(0) {
        Ok(value) => Ok(Ok((value, bytes.len() - reader.rest.len()))),
        Err(ParseStop::More(more)) if more <= LONGEST => Ok(Err(more)),
        Err(ParseStop::More(_) | ParseStop::Nonsense) => Err(MalformedReply),
    }
}

/// Why there is no reply.
enum ParseStop {
    /// So much is not there, or more.
    More(usize),
    Nonsense,
}

impl ParseStop {
    /// The same where so many values have to come behind it.
    const fn before(self, values: usize) -> Self {
        match self {
            Self::More(more) => Self::More(more.saturating_add(values.saturating_mul(SHORTEST))),
            Self::Nonsense => Self::Nonsense,
        }
    }
}

/// What was not read yet.
struct ReplyParser<'a> {
    rest: &'a [u8],
    /// What is left of the memory that it may take.
    room: usize,
}

impl<'a> ReplyParser<'a> {
    fn value(&mut self, depth: usize) -> Result<Value, ParseStop> {
        if depth > DEEPEST {
            return Err(ParseStop::Nonsense);
        }
        let (kind, rest) = self.rest.split_first().ok_or(ParseStop::More(SHORTEST))?;
        self.rest = rest;
        self.take(EACH)?;
        let value = match kind {
            b'$' => self.length()?.map(|length| self.block(length)).transpose()?.map(bytes),
            b':' => Some(Value::Int(self.number()?)),
            b'*' | b'~' => {
                let count = self.length()?;
                count.map(|count| self.values(count, depth)).transpose()?.map(Value::Array)
            }
            b'_' if self.line()?.is_empty() => None,
            b'+' | b',' | b'#' | b'(' => Some(Value::Text(text(self.line()?))),
            b'=' => {
                // Three letters and a colon say how it is meant to be shown.
                let block = self.told_block()?;
                let shown = block.get(3..).and_then(|rest| rest.strip_prefix(b":"));
                Some(Value::Text(text(shown.ok_or(ParseStop::Nonsense)?)))
            }
            b'-' => Some(error(self.line()?)),
            b'!' => Some(error(self.told_block()?)),
            b'%' => Some(Value::Map(self.pairs(depth)?)),
            b'>' => {
                let count = self.count()?;
                Some(Value::Push(self.values(count, depth)?))
            }
            b'|' => {
                // Said beside the reply, which stands behind it. Nothing of ours asks for it.
                self.pairs(depth)?;
                return self.value(depth + 1);
            }
            _ => return Err(ParseStop::Nonsense),
        };
        Ok(value.unwrap_or(Value::Nil))
    }

    fn take(&mut self, room: usize) -> Result<(), ParseStop> {
        self.room = self.room.checked_sub(room).ok_or(ParseStop::Nonsense)?;
        Ok(())
    }

    fn values(&mut self, count: usize, depth: usize) -> Result<Vec<Value>, ParseStop> {
        let mut values = Vec::with_capacity(count.min(FEW));
        for at in 0..count {
            let value = self.value(depth + 1);
            values.push(value.map_err(|stop| stop.before(count - at - 1))?);
        }
        Ok(values)
    }

    fn pairs(&mut self, depth: usize) -> Result<Vec<(Value, Value)>, ParseStop> {
        let count = self.count()?;
        let mut pairs = Vec::with_capacity(count.min(FEW));
        for at in 0..count {
            let mut next = || {
                let value = self.value(depth + 1);
                value.map_err(|stop| stop.before((count - at - 1).saturating_mul(2)))
            };
            pairs.push((next()?, next()?));
        }
        Ok(pairs)
    }

    /// So many bytes, and the end of a line.
    fn block(&mut self, length: usize) -> Result<&'a [u8], ParseStop> {
        self.take(length)?;
        let missing = length.saturating_sub(self.rest.len());
        let more = ParseStop::More(missing.saturating_add(2));
        let (block, rest) = self.rest.split_at_checked(length).ok_or(more)?;
        match rest {
            [b'\r', b'\n', rest @ ..] => self.rest = rest,
            [] | [b'\r'] => return Err(ParseStop::More(1)),
            _ => return Err(ParseStop::Nonsense),
        }
        Ok(block)
    }

    /// A block behind its length.
    fn told_block(&mut self) -> Result<&'a [u8], ParseStop> {
        let length = self.count()?;
        self.block(length)
    }

    /// How much there is of what cannot be missing.
    fn count(&mut self) -> Result<usize, ParseStop> {
        self.length()?.ok_or(ParseStop::Nonsense)
    }

    /// How much there is; `None` for what is not there.
    fn length(&mut self) -> Result<Option<usize>, ParseStop> {
        match self.number()? {
            -1 => Ok(None),
            length => usize::try_from(length).map(Some).map_err(|_| ParseStop::Nonsense),
        }
    }

    fn number(&mut self) -> Result<i64, ParseStop> {
        let window = &self.rest[..self.rest.len().min(LONGEST_NUMBER)];
        if window.len() == LONGEST_NUMBER && !window.contains(&b'\r') {
            return Err(ParseStop::Nonsense);
        }
        let digits = str::from_utf8(self.line()?).ok();
        digits.and_then(|digits| digits.parse().ok()).ok_or(ParseStop::Nonsense)
    }

    /// What stands before the end of the line.
    fn line(&mut self) -> Result<&'a [u8], ParseStop> {
        let window = self.rest.get(..LONGEST_LINE);
        let end = window.unwrap_or(self.rest).iter().position(|byte| *byte == b'\r');
        let missing = if window.is_some() { ParseStop::Nonsense } else { ParseStop::More(1) };
        let (line, rest) = self.rest.split_at(end.ok_or(missing)?);
        self.take(line.len())?;
        match rest {
            [_, b'\n', rest @ ..] => self.rest = rest,
            [_] => return Err(ParseStop::More(1)),
            _ => return Err(ParseStop::Nonsense),
        }
        Ok(line)
    }
}

fn bytes(block: &[u8]) -> Value {
    Value::Bytes(block.to_vec())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn error(said: &[u8]) -> Value {
    Value::Error(Box::new(ServerError::new(text(said))))
}

#[cfg(test)]
mod tests {
    use proptest::{collection, prelude::*, test_runner::TestCaseError};

    use super::*;

    fn whole(bytes: &[u8]) -> Result<Option<(Value, usize)>, MalformedReply> {
        reply(bytes).map(Result::ok)
    }

    fn some(text: &str) -> Value {
        bytes(text.as_bytes())
    }

    fn line(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    /// One of each kind, as it is written and as it is read.
    fn examples() -> Vec<(&'static str, Value)> {
        let list = vec![some("a"), Value::Array(vec![Value::Int(-1)])];
        vec![
            ("$3\r\nabc\r\n", some("abc")),
            ("$2\r\n\r\n\r\n", some("\r\n")),
            ("$0\r\n\r\n", some("")),
            ("$-1\r\n", Value::Nil),
            ("_\r\n", Value::Nil),
            (":12\r\n", Value::Int(12)),
            (":-9223372036854775808\r\n", Value::Int(i64::MIN)),
            ("+OK\r\n", line("OK")),
            ("-ERR no\r\n", error(b"ERR no")),
            ("!8\r\nODD a\r\nb\r\n", error(b"ODD a\r\nb")),
            ("*2\r\n$1\r\na\r\n*1\r\n:-1\r\n", Value::Array(list)),
            ("*0\r\n", Value::Array(vec![])),
            ("*-1\r\n", Value::Nil),
            ("~1\r\n_\r\n", Value::Array(vec![Value::Nil])),
            ("%1\r\n+key\r\n=6\r\ntxt:ab\r\n", Value::Map(vec![(line("key"), line("ab"))])),
            (">2\r\n$1\r\na\r\n,1.5\r\n", Value::Push(vec![some("a"), line("1.5")])),
            ("|1\r\n+a\r\n*1\r\n+b\r\n#t\r\n", line("t")),
            ("*1\r\n|0\r\n(123456789012345678901234567890\r\n", {
                Value::Array(vec![line("123456789012345678901234567890")])
            }),
        ]
    }

    #[test]
    fn a_reply_ends_where_it_ends_however_it_is_cut() {
        let examples = examples();
        let all: String = examples.iter().map(|(text, _)| *text).collect();
        let mut rest = all.as_bytes();
        for (text, value) in examples {
            for cut in 0..text.len() {
                assert_eq!(whole(&rest[..cut]), Ok(None), "{text:?} cut at {cut}");
                // What it says that is missing is not more than what is.
                let Ok(Err(more)) = reply(&rest[..cut]) else { panic!("{text:?}") };
                assert!((1..=text.len() - cut).contains(&more), "{text:?} cut at {cut}: {more}");
            }
            assert_eq!(whole(rest), Ok(Some((value, text.len()))), "{text:?}");
            rest = &rest[text.len()..];
        }
    }

    #[test]
    fn nonsense_is_seen() {
        let deep = "*1\r\n".repeat(DEEPEST + 2);
        let attributes = "|0\r\n".repeat(DEEPEST + 2);
        for bytes in [
            "HTTP/1.1",
            "\r\n",
            "$x\r\n",
            "$?\r\n",
            "*\r\n",
            "$-2\r\n",
            ">-1\r\n",
            "%-1\r\n",
            ":1\rx",
            "$1\r\nabc",
            "_x\r\n",
            "=2\r\nab\r\n",
            "*9223372036854775808\r\n",
            "$00000000000000000000000000000",
            &deep,
            &attributes,
        ] {
            assert_eq!(reply(bytes.as_bytes()), Err(MalformedReply), "{bytes:?}");
        }
    }

    /// What is told counts as if it had come.
    #[test]
    fn what_takes_more_than_any_reply_is_refused_before_it_has_come() {
        for bytes in [
            "$67108865\r\n",
            "*67108864\r\n:1\r\n",
            "*2147483647\r\n",
            "*9223372036854775807\r\n",
            "%9223372036854775807\r\n",
            "=9223372036854775807\r\n",
            "*2\r\n*16000000\r\n*16000000\r\n",
        ] {
            assert_eq!(reply(bytes.as_bytes()), Err(MalformedReply), "{bytes:?}");
        }
        let line = format!("+{}", "x".repeat(LONGEST_LINE));
        assert_eq!(reply(line.as_bytes()), Err(MalformedReply));
        let many = format!("*2000000\r\n{}", "$1\r\nx\r\n".repeat(2_000_000));
        assert_eq!(reply(many.as_bytes()), Err(MalformedReply));
        let fewer = format!("*500000\r\n{}", "$1\r\nx\r\n".repeat(500_000));
        assert!(matches!(whole(fewer.as_bytes()), Ok(Some(_))));
    }

    #[test]
    fn an_error_has_a_code_and_a_detail() {
        let error = ServerError::new("NOPERM this user may not");
        assert_eq!((error.code(), error.detail()), ("NOPERM", "this user may not"));
        let error = ServerError::new("ODD");
        assert_eq!((error.code(), error.detail()), ("ODD", ""));
    }

    /// What a value takes beside itself.
    fn room(value: &Value) -> usize {
        let of_all = |values: &Vec<Value>| {
            values.capacity() * size_of::<Value>() + values.iter().map(room).sum::<usize>()
        };
        match value {
            Value::Nil | Value::Int(_) => 0,
            Value::Bytes(bytes) => bytes.capacity(),
            Value::Text(text) => text.capacity(),
            Value::Array(values) | Value::Push(values) => of_all(values),
            Value::Map(pairs) => {
                let within: usize = pairs.iter().map(|(one, two)| room(one) + room(two)).sum();
                pairs.capacity() * size_of::<(Value, Value)>() + within
            }
            Value::Error(error) => size_of::<ServerError>() + error.0.capacity(),
        }
    }

    /// Whatever comes is read to an end, and nothing is read twice or made up.
    fn read_all(bytes: &[u8]) -> Result<(), TestCaseError> {
        let mut rest = bytes;
        while let Ok(Some((value, length))) = whole(rest) {
            prop_assert!(0 < length && length <= rest.len());
            // A list makes room for as many as FEW before the first has come.
            let most = length * 2 * FEW * size_of::<Value>();
            prop_assert!(room(&value) <= most, "{} for {length} bytes", room(&value));
            rest = &rest[length..];
        }
        Ok(())
    }

    /// Bytes as a server out of its mind might send them.
    fn almost() -> impl Strategy<Value = Vec<u8>> {
        let header = (any::<prop::sample::Index>(), -2..40_i64).prop_map(|(at, number)| {
            let kinds = b"$*~%|>:=!";
            format!("{}{number}\r\n", char::from(kinds[at.index(kinds.len())]))
        });
        let huge = any::<i64>().prop_map(|number| format!("*{number}\r\n"));
        let known = any::<prop::sample::Index>().prop_map(|at| {
            let examples = examples();
            examples[at.index(examples.len())].0.to_owned()
        });
        let piece = prop_oneof![
            2 => header.prop_map(String::into_bytes),
            1 => huge.prop_map(String::into_bytes),
            4 => known.prop_map(String::into_bytes),
            1 => collection::vec(any::<u8>(), 0..8),
        ];
        collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_are_read_or_refused(bytes in collection::vec(any::<u8>(), 0..200)) {
            read_all(&bytes)?;
        }

        #[test]
        fn any_pieces_of_replies_are_read_or_refused(bytes in almost()) {
            read_all(&bytes)?;
        }

        /// What has come is not taken for more, for less or for something else when more comes.
        #[test]
        fn a_cut_changes_nothing(bytes in almost(), at in any::<prop::sample::Index>()) {
            let of_all = reply(&bytes);
            let cut = at.index(bytes.len() + 1);
            match (reply(&bytes[..cut]), of_all) {
                (Ok(Err(more)), Ok(Ok((_, length)))) => prop_assert!(cut + more <= length),
                (Ok(Err(_)), _) => {}
                (told, of_all) => prop_assert_eq!(told, of_all),
            }
        }
    }
}
