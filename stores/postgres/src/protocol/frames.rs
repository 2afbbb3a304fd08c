//! What of the protocol's messages is let through to the driver. Pure.
//!
//! The driver keeps what it is told to keep: a server that lies, or whoever is on the wire, could fill the memory of the
//! process with one message, or with many.

use std::{error::Error, fmt};

use tokio_postgres::types::Type;

use crate::{
    config::logins::{AuthenticationMethod, AuthenticationPolicy},
    protocol::answers::QueryTag,
};

/// As much as comes before the server has let us in.
const OF_LOGIN: usize = 64 * 1024;
/// As much as one answer takes in memory.
const OF_ANSWER: usize = 64 * 1024 * 1024;
/// As much as all settings take that a session is told of in its life.
const OF_SETTINGS: usize = 4 * 1024 * 1024;
/// As much as a message has that nobody asked for, or that is looked into.
const OF_WORD: usize = 64 * 1024;
/// What the driver keeps of a message beside its bytes, and of each value of a row.
const EACH: usize = 128;
const VALUE: usize = 32;
/// How much more than its bytes the driver keeps of the columns' names.
const COLUMNS: usize = 6;

/// Why the connection is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionEndReason {
    /// The server wants the password in a way that is not accepted.
    Login(AuthenticationMethod),
    /// It wants a proof by so many rounds: as few as make it cheap to guess from, or more than anybody needs.
    Rounds(u32),
    /// It lets us in without having proven that it knows the password.
    Unproven,
    /// It answers what somebody else asked.
    Others,
    /// It says what no server says, or more than is read.
    Odd(&'static str),
}

impl fmt::Display for ConnectionEndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Login(login) => write!(f, "the server wants {}", login.what()),
            Self::Rounds(rounds) => {
                write!(f, "the server wants a proof of the password by {rounds} rounds of SCRAM")
            }
            Self::Unproven => {
                f.write_str("the server accepts this client without proving its identity")
            }
            Self::Others => f.write_str(
                "the pooler sent the answer to another client's statement, as PgBouncer before \
                 1.22.1 does",
            ),
            Self::Odd(what) => write!(f, "the server violates the protocol: {what}"),
        }
    }
}

impl Error for ConnectionEndReason {}

const TOO_LONG: ConnectionEndReason = ConnectionEndReason::Odd("an answer is too long");

/// What comes from a server, as it comes.
#[derive(Debug)]
pub(crate) struct MessageFilter {
    logins: AuthenticationPolicy,
    head: Vec<u8>,
    tag: u8,
    /// What is still to come of a message.
    left: usize,
    /// What is looked into of it, once it is there.
    body: Vec<u8>,
    looks: usize,
    room: usize,
    settings: usize,
    is_let_in: bool,
    /// Whether the server asked for a proof of who we are.
    was_asked: bool,
    /// Whether the server owes a proof in return.
    owes_proof: bool,
    is_prepared: bool,
    /// What the answer is to have, whether it has it, and whether it is an error.
    expected: Option<QueryTag>,
    is_ours: bool,
    has_failed: bool,
    /// The last question, and whether an error came that may be to another one.
    asked: Option<QueryTag>,
    is_doubtful: bool,
    /// How many answers are over.
    over: u64,
}

impl MessageFilter {
    pub(crate) const fn new(logins: AuthenticationPolicy) -> Self {
        Self {
            logins,
            head: Vec::new(),
            tag: 0,
            left: 0,
            body: Vec::new(),
            looks: 0,
            room: OF_LOGIN,
            settings: OF_SETTINGS,
            is_let_in: false,
            was_asked: false,
            owes_proof: false,
            is_prepared: false,
            expected: None,
            is_ours: false,
            has_failed: false,
            asked: None,
            is_doubtful: false,
            over: 0,
        }
    }

    pub(crate) const fn answer_count(&self) -> u64 {
        self.over
    }

    /// Whether an error came that may be to what another client asked. It stays so for that question: our answer may
    /// follow before whoever waits has looked.
    pub(crate) const fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Looks at what comes next, of an answer that is to have this.
    pub(crate) fn inspect_bytes(
        &mut self,
        mut bytes: &[u8],
        expected: Option<QueryTag>,
    ) -> Result<(), ConnectionEndReason> {
        self.expected = expected;
        if expected.is_some() && expected != self.asked {
            (self.asked, self.is_doubtful) = (expected, false);
        }
        while let Some((first, rest)) = bytes.split_first() {
            if self.left == 0 {
                self.head.push(*first);
                bytes = rest;
                if let [tag, a, b, c, d] = *self.head {
                    self.head.clear();
                    self.begin(tag, u32::from_be_bytes([a, b, c, d]))?;
                    if self.left == 0 {
                        self.end()?;
                    }
                }
                continue;
            }
            let (part, rest) = bytes.split_at(bytes.len().min(self.left));
            let kept = part.len().min(self.looks - self.body.len());
            self.body.extend(part.iter().take(kept));
            self.left -= part.len();
            bytes = rest;
            if self.left == 0 {
                self.end()?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, tag: u8, length: u32) -> Result<(), ConnectionEndReason> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let length = length.checked_sub(4).ok_or(ConnectionEndReason::Odd("a message is cut"))?;
        (self.tag, self.left) = (tag, length);
        self.body.clear();
        let is_word = matches!(tag, b'A' | b'E' | b'N' | b'R' | b'S' | b'T' | b't');
        if is_word && length > OF_WORD {
            return Err(TOO_LONG);
        }
        self.looks = match tag {
            b'R' | b'T' | b't' => length,
            b'D' => length.min(2),
            _ => 0,
        };
        match tag {
            // Each is handed on at once, and comes whenever it likes.
            b'A' | b'N' if self.is_let_in => Ok(()),
            b'S' if self.is_let_in => take(&mut self.settings, EACH + length),
            b'T' => self.take(EACH + COLUMNS * length),
            _ => self.take(EACH + length),
        }
    }

    fn take(&mut self, length: usize) -> Result<(), ConnectionEndReason> {
        take(&mut self.room, length)
    }

    /// A message is there.
    fn end(&mut self) -> Result<(), ConnectionEndReason> {
        self.check_attribution()?;
        match self.tag {
            b'R' => self.login(),
            b'Z' => {
                (self.is_let_in, self.is_prepared, self.room) = (true, false, OF_ANSWER);
                (self.is_ours, self.has_failed) = (false, false);
                self.over += 1;
                Ok(())
            }
            b'1' => {
                self.is_prepared = true;
                Ok(())
            }
            b'D' => {
                let [a, b] = *self.body else {
                    return Err(ConnectionEndReason::Odd("a row is cut"));
                };
                self.take(VALUE * usize::from(u16::from_be_bytes([a, b])))
            }
            // Of a type that it does not know the driver asks the server, which may name another one that it does not
            // know, and so on.
            b'T' if self.is_prepared => {
                let types = columns(&self.body)
                    .map(|all| all.into_iter().map(|(_, of_type)| of_type).collect());
                check_column_types(types)
            }
            b't' => check_column_types(parameters(&self.body)),
            _ => Ok(()),
        }
    }

    /// Refuses what is not the answer to what was asked.
    fn check_attribution(&mut self) -> Result<(), ConnectionEndReason> {
        let Some(tag) = self.expected else { return Ok(()) };
        match self.tag {
            b'T' if has_column(&self.body, &tag.to_string()) => {
                self.is_ours = true;
                Ok(())
            }
            b'E' => {
                self.has_failed = true;
                self.is_doubtful |= !self.is_ours;
                Ok(())
            }
            b'Z' if self.has_failed => Ok(()),
            b'T' => Err(ConnectionEndReason::Others),
            b'D' | b'C' | b'I' | b'n' | b's' | b'Z' if !self.is_ours => {
                Err(ConnectionEndReason::Others)
            }
            _ => Ok(()),
        }
    }

    fn login(&mut self) -> Result<(), ConnectionEndReason> {
        let code = self.body.first_chunk().map(|code| u32::from_be_bytes(*code));
        let login = match code {
            Some(0) if self.owes_proof => return Err(ConnectionEndReason::Unproven),
            Some(0) if self.was_asked => return Ok(()),
            Some(0) => AuthenticationMethod::None,
            Some(3) => AuthenticationMethod::Password,
            Some(5) => AuthenticationMethod::Md5,
            Some(10) => AuthenticationMethod::Scram,
            Some(11) => {
                let rounds = rounds(&self.body);
                let is_accepted = self.logins.accept_rounds(rounds);
                return if is_accepted { Ok(()) } else { Err(ConnectionEndReason::Rounds(rounds)) };
            }
            // Whether it is one the driver says.
            Some(12) => {
                self.owes_proof = false;
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.was_asked = true;
        self.owes_proof = login == AuthenticationMethod::Scram;
        if self.logins.accept(login) { Ok(()) } else { Err(ConnectionEndReason::Login(login)) }
    }
}

fn take(room: &mut usize, length: usize) -> Result<(), ConnectionEndReason> {
    *room = room.checked_sub(length).ok_or(TOO_LONG)?;
    Ok(())
}

/// How many rounds a server wants that checks a password by SCRAM.
fn rounds(body: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(body.get(4..).unwrap_or_default());
    let rounds = text.split(',').find_map(|part| part.strip_prefix("i="));
    // What is no number the driver refuses.
    rounds.map_or(0, |digits| digits.parse().unwrap_or(u32::MAX))
}

fn check_column_types(types: Option<Vec<u32>>) -> Result<(), ConnectionEndReason> {
    let types = types.ok_or(ConnectionEndReason::Odd("a list of columns is cut"))?;
    if types.into_iter().all(|id| Type::from_oid(id).is_some()) {
        return Ok(());
    }
    Err(ConnectionEndReason::Odd("a column is of a type that no statement of ours asks for"))
}

fn has_column(body: &[u8], name: &str) -> bool {
    columns(body).is_some_and(|all| all.iter().any(|(column, _)| *column == name.as_bytes()))
}

/// The names and the types.
fn columns(body: &[u8]) -> Option<Vec<(&[u8], u32)>> {
    let (count, mut rest) = body.split_first_chunk()?;
    let mut columns = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let end = rest.iter().position(|byte| *byte == 0)?;
        // Behind its name: where it is from, its type, and how it is written.
        let (about, others) = rest.get(end + 1..)?.split_first_chunk::<18>()?;
        columns.push((rest.get(..end)?, u32::from_be_bytes(*about.get(6..)?.first_chunk()?)));
        rest = others;
    }
    Some(columns)
}

fn parameters(body: &[u8]) -> Option<Vec<u32>> {
    let (count, rest) = body.split_first_chunk()?;
    let types = rest.as_chunks().0.iter().map(|id| u32::from_be_bytes(*id));
    let types: Vec<_> = types.take(u16::from_be_bytes(*count).into()).collect();
    (types.len() == usize::from(u16::from_be_bytes(*count))).then_some(types)
}

#[cfg(test)]
mod tests;
