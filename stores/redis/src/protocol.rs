//! How commands are written, and where replies end.

use redis::Value;

/// What most calls need; longer ones grow.
const USUAL_CALL: usize = 384;
/// Replies of ours are never deeper.
const DEEPEST: usize = 16;

/// Keys and arguments of a script's call, as they are sent.
#[derive(Debug)]
pub(crate) struct Call {
    words: Vec<u8>,
    keys: usize,
    arguments: usize,
}

impl Call {
    pub(crate) fn new() -> Self {
        Self { words: Vec::with_capacity(USUAL_CALL), keys: 0, arguments: 0 }
    }

    /// Adds a key, which is written in parts. Keys come before arguments.
    pub(crate) fn key(&mut self, parts: &[&[u8]]) -> &mut Self {
        self.keys += 1;
        word(&mut self.words, parts);
        self
    }

    /// Adds an argument, which is written in parts.
    pub(crate) fn argument(&mut self, parts: &[&[u8]]) -> &mut Self {
        self.arguments += 1;
        word(&mut self.words, parts);
        self
    }

    /// Adds a number as an argument.
    pub(crate) fn number(&mut self, number: u64) -> &mut Self {
        let mut digits = [0; DIGITS];
        self.argument(&[decimal(number, &mut digits)])
    }

    /// Writes the command that has `script` run with these.
    pub(crate) fn write(&self, verb: &str, script: &str, out: &mut Vec<u8>) {
        let mut digits = [0; DIGITS];
        let length = |words: usize| u64::try_from(words).unwrap_or(u64::MAX);
        out.reserve(self.words.len() + script.len() + 64);
        out.push(b'*');
        out.extend_from_slice(decimal(length(self.keys + self.arguments + 3), &mut digits));
        out.extend_from_slice(b"\r\n");
        word(out, &[verb.as_bytes()]);
        word(out, &[script.as_bytes()]);
        word(out, &[decimal(length(self.keys), &mut digits)]);
        out.extend_from_slice(&self.words);
    }
}

/// How long the longest number is.
const DIGITS: usize = 20;

fn word(out: &mut Vec<u8>, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut digits = [0; DIGITS];
    out.push(b'$');
    out.extend_from_slice(decimal(u64::try_from(length).unwrap_or(u64::MAX), &mut digits));
    out.extend_from_slice(b"\r\n");
    for part in parts {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"\r\n");
}

/// A number as text, without the machinery of formatting.
fn decimal(mut number: u64, digits: &mut [u8; DIGITS]) -> &[u8] {
    let mut at = DIGITS;
    loop {
        at -= 1;
        // Always below ten.
        digits[at] = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

/// Bytes that are no reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Nonsense;

/// The first reply in `bytes` and how long it is; `None` if more has to come.
pub(crate) fn reply(bytes: &[u8]) -> Result<Option<(Value, usize)>, Nonsense> {
    let Some(end) = extent(bytes, 0)? else { return Ok(None) };
    if bytes[0] == b'$'
        && let Some((length, start)) = header(bytes)?
        && let Ok(length) = usize::try_from(length)
    {
        return Ok(Some((Value::BulkString(bytes[start..start + length].to_vec()), end)));
    }
    let value = redis::parse_redis_value(&bytes[..end]).map_err(|_| Nonsense)?;
    Ok(Some((value, end)))
}

/// Where the reply ends that `bytes` begin with.
fn extent(bytes: &[u8], depth: usize) -> Result<Option<usize>, Nonsense> {
    let Some(kind) = bytes.first() else { return Ok(None) };
    if depth > DEEPEST {
        return Err(Nonsense);
    }
    let parts = match kind {
        b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => return Ok(line_end(bytes)),
        b'$' | b'!' | b'=' => {
            let Some((length, start)) = header(bytes)? else { return Ok(None) };
            // Nothing has a length below zero and no end of its own.
            let Ok(length) = usize::try_from(length) else { return Ok(Some(start)) };
            let end = start.saturating_add(length).saturating_add(2);
            return Ok((end <= bytes.len()).then_some(end));
        }
        b'*' | b'~' | b'>' => 1,
        b'%' | b'|' => 2,
        _ => return Err(Nonsense),
    };
    let Some((length, start)) = header(bytes)? else { return Ok(None) };
    let count = usize::try_from(length).unwrap_or(0).saturating_mul(parts);
    // What an attribute belongs to stands behind it.
    let count = count.saturating_add(usize::from(*kind == b'|'));
    let mut end = start;
    for _ in 0..count {
        let Some(length) = extent(&bytes[end..], depth + 1)? else { return Ok(None) };
        end += length;
    }
    Ok(Some(end))
}

/// The number in the first line, and where the second begins.
fn header(bytes: &[u8]) -> Result<Option<(i64, usize)>, Nonsense> {
    let Some(end) = line_end(bytes) else { return Ok(None) };
    let number = std::str::from_utf8(&bytes[1..end - 2]).ok().and_then(|text| text.parse().ok());
    Ok(Some((number.ok_or(Nonsense)?, end)))
}

/// Where the second line begins.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let at = bytes.iter().position(|byte| *byte == b'\r')?;
    (bytes.get(at + 1) == Some(&b'\n')).then_some(at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_written_as_the_protocol_wants_it() {
        let mut call = Call::new();
        call.key(&[b"a", b"bc"]).argument(&[]).number(0).number(u64::MAX);
        let mut out = Vec::new();
        call.write("EVALSHA", "digest", &mut out);
        let expected = "*7\r\n$7\r\nEVALSHA\r\n$6\r\ndigest\r\n$1\r\n1\r\n$3\r\nabc\r\n$0\r\n\r\n\
                        $1\r\n0\r\n$20\r\n18446744073709551615\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_reply_ends_where_it_ends_however_it_is_cut() {
        let replies = [
            "$3\r\nabc\r\n",
            "$0\r\n\r\n",
            "$-1\r\n",
            "_\r\n",
            ":12\r\n",
            "+OK\r\n",
            "-ERR no\r\n",
            "*2\r\n$1\r\na\r\n*1\r\n:1\r\n",
            "*0\r\n",
            "*-1\r\n",
            "%1\r\n+key\r\n=6\r\ntxt:ab\r\n",
            ">2\r\n$1\r\na\r\n,1.5\r\n",
            "|1\r\n+a\r\n+b\r\n#t\r\n",
        ];
        let all = replies.concat();
        let mut rest = all.as_bytes();
        for one in replies {
            for cut in 0..one.len() {
                assert_eq!(reply(&rest[..cut]), Ok(None), "{one:?} cut at {cut}");
            }
            let (value, end) = reply(rest).unwrap().unwrap();
            assert_eq!(end, one.len(), "{one:?}");
            assert_eq!(value, redis::parse_redis_value(one.as_bytes()).unwrap());
            rest = &rest[end..];
        }
    }

    #[test]
    fn nonsense_is_seen() {
        let deep = "*1\r\n".repeat(DEEPEST + 2);
        for bytes in ["HTTP/1.1", "$x\r\n", "*\r\n", deep.as_str()] {
            assert_eq!(reply(bytes.as_bytes()), Err(Nonsense), "{bytes:?}");
        }
    }
}
