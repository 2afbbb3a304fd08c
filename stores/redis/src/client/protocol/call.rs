//! How commands are written.

use super::tag::HashTag;

/// What most calls need; longer ones grow.
const USUAL_CALL: usize = 384;

/// Has a script run that the server knows.
pub(crate) const BY_DIGEST: &str = "EVALSHA";

/// Has a script run that is sent with the call.
pub(crate) const IN_FULL: &str = "EVAL";

/// Keys and arguments of a script's call, as they are sent.
#[derive(Debug, Default)]
pub(crate) struct ScriptCall {
    /// That of its keys; a cluster takes no others in one call.
    pub(crate) tag: HashTag,
    words: Vec<u8>,
    /// Where the arguments begin.
    split: usize,
    /// Arguments of calls whose keys are still to come.
    behind: Vec<u8>,
    keys: usize,
    arguments: usize,
}

impl ScriptCall {
    pub(crate) fn new(tag: HashTag) -> Self {
        Self { tag, words: Vec::with_capacity(USUAL_CALL), ..Self::default() }
    }

    /// Adds a key, which is written in parts. Keys come before arguments.
    pub(crate) fn key(&mut self, parts: &[&[u8]]) -> &mut Self {
        self.keys += 1;
        word(&mut self.words, parts);
        self.split = self.words.len();
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

    /// Adds the keys of another call behind these, and its arguments behind these.
    pub(crate) fn append(&mut self, other: &Self) {
        let (keys, arguments) = other.words.split_at(other.split);
        self.words.extend_from_slice(keys);
        self.split = self.words.len();
        self.behind.extend_from_slice(arguments);
        self.keys += other.keys;
        self.arguments += other.arguments;
    }

    /// Forgets what was added, and keeps the room for it.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.behind.clear();
        (self.split, self.keys, self.arguments) = (0, 0, 0);
    }

    /// Writes the command that has `script` run with these, and with `more` as its last argument unless
    /// that is empty.
    pub(crate) fn write(&self, verb: &str, script: &str, more: &str, out: &mut Vec<u8>) {
        let mut digits = [0; DIGITS];
        let length = |words: usize| u64::try_from(words).unwrap_or(u64::MAX);
        out.reserve(self.words.len() + self.behind.len() + script.len() + 64);
        out.push(b'*');
        let arguments = self.arguments + usize::from(!more.is_empty());
        out.extend_from_slice(decimal(length(self.keys + arguments + 3), &mut digits));
        out.extend_from_slice(b"\r\n");
        word(out, &[verb.as_bytes()]);
        word(out, &[script.as_bytes()]);
        word(out, &[decimal(length(self.keys), &mut digits)]);
        out.extend_from_slice(&self.words);
        out.extend_from_slice(&self.behind);
        if !more.is_empty() {
            word(out, &[more.as_bytes()]);
        }
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

/// Writes the command that deletes a key, which is written in parts as its value is, if it has it.
pub(crate) fn delete_if(
    (verb, condition): (&str, Option<&str>),
    key: &[&[u8]],
    value: &[&[u8]],
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(if condition.is_some() { b"*4\r\n" } else { b"*3\r\n" });
    word(out, &[verb.as_bytes()]);
    word(out, key);
    if let Some(condition) = condition {
        word(out, &[condition.as_bytes()]);
    }
    word(out, value);
}

/// Writes a command that is no script's.
pub(crate) fn command(words: &[&str], out: &mut Vec<u8>) {
    let mut digits = [0; DIGITS];
    out.push(b'*');
    out.extend_from_slice(decimal(u64::try_from(words.len()).unwrap_or(u64::MAX), &mut digits));
    out.extend_from_slice(b"\r\n");
    for text in words {
        word(out, &[text.as_bytes()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_written_as_the_protocol_wants_it() {
        let mut call = ScriptCall::new(HashTag::default());
        call.key(&[b"a", b"bc"]).argument(&[]).number(0).number(u64::MAX);
        let mut out = Vec::new();
        call.write("EVALSHA", "digest", "", &mut out);
        let expected = "*7\r\n$7\r\nEVALSHA\r\n$6\r\ndigest\r\n$1\r\n1\r\n$3\r\nabc\r\n$0\r\n\r\n\
                        $1\r\n0\r\n$20\r\n18446744073709551615\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_key_is_deleted_under_a_condition_alone() {
        let written = |words| {
            let mut out = Vec::new();
            delete_if(words, &[b"a", b"b"], &[b"c", b"", b"d"], &mut out);
            String::from_utf8(out).unwrap()
        };
        let delifeq = "*3\r\n$7\r\nDELIFEQ\r\n$2\r\nab\r\n$2\r\ncd\r\n";
        assert_eq!(written(("DELIFEQ", None)), delifeq);
        let delex = "*4\r\n$5\r\nDELEX\r\n$2\r\nab\r\n$4\r\nIFEQ\r\n$2\r\ncd\r\n";
        assert_eq!(written(("DELEX", Some("IFEQ"))), delex);
    }

    #[test]
    fn a_command_is_written_as_the_protocol_wants_it() {
        let mut out = b"before".to_vec();
        command(&["SELECT", "12", ""], &mut out);
        let expected = "before*3\r\n$6\r\nSELECT\r\n$2\r\n12\r\n$0\r\n\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
