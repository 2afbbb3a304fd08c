//! The fields of an answer: words, numbers, and rows of them.

use std::{time::Duration, vec::IntoIter};

use tenure_core::{
    Fault, FaultKind, HoldId, Owner, Token,
    proto::queue::{Contender, Kind, Mode, QueueError, Waiting},
};

use crate::{
    client::Value,
    locks::{error, layout::wire},
};

/// The fields of a reply, or a row of it.
pub(crate) struct ReplyFields(pub(crate) IntoIter<Value>);

/// Why a reply was no answer.
#[derive(Debug)]
pub(crate) enum ReplyError {
    /// The reply, or what the server keeps, makes no sense.
    Corrupt,
    /// What the server keeps is in the format of this number, which another version of tenure writes.
    Format(String),
    /// It was a grant that cannot be read, so it has to be taken back.
    Granted,
    /// Others share the lock or wait for it, of whom nothing is known without scripts.
    Crowd,
    /// The key of the lock is no string, so it is no lock of the plain layout.
    OtherType,
    /// What is to be evicted never ends.
    Endless,
    /// The key of the lock is no lock of Redisson's.
    NoRedissonLock,
    /// The lock is used as another kind of lock.
    OtherKind,
    /// Redisson's fair lock is used under this name, with a queue that goes by the clocks of its clients.
    FairQueue,
    /// Redisson's fenced lock is used under this name, so tokens come from its counter.
    FencedCounter,
    /// The rules of the queue say no.
    Queue(QueueError),
}

pub(crate) type ParseResult<T> = Result<T, ReplyError>;

impl ReplyFields {
    pub(crate) fn contender(&mut self) -> ParseResult<Contender> {
        let mode = self.mode()?;
        let (token, since) = self.grant()?;
        let left = match self.0.next() {
            Some(Value::Int(left)) => u64::try_from(left).ok().map(Duration::from_millis),
            _ => return Err(ReplyError::Corrupt),
        };
        let lingering = self.number()? == 1;
        let mut contender = Contender::new(self.text()?, mode);
        contender.kind = self.kind()?;
        (contender.token, contender.since) = (Some(token), Some(since));
        (contender.left, contender.lingering) = (left, lingering);
        contender.id = self.owner().map(|owner| HoldId::of_owner(&owner));
        Ok(contender)
    }

    /// The owner of a hold, where the answer has it.
    pub(crate) fn owner(&mut self) -> Option<Owner> {
        match self.0.next() {
            Some(Value::Bytes(text)) => wire::owner_of(std::str::from_utf8(&text).ok()?),
            _ => None,
        }
    }

    pub(crate) fn waiting(&mut self) -> ParseResult<(u64, Waiting)> {
        let mode = self.mode()?;
        let place = self.text()?.parse().map_err(|_| ReplyError::Corrupt)?;
        let since = self.text()?.parse().ok();
        let mut waiting = Waiting::new(self.text()?, mode);
        (waiting.since, waiting.kind) = (since, self.kind()?);
        Ok((place, waiting))
    }

    /// What a name is used as, if this version knows it.
    fn kind(&mut self) -> ParseResult<Option<Kind>> {
        let letter = self.text()?;
        Ok(Kind::ALL.into_iter().find(|kind| wire::letter(*kind) == letter))
    }

    pub(crate) fn mode(&mut self) -> ParseResult<Mode> {
        let text = self.text()?;
        let mut words = text.split([' ', '/']);
        let number =
            |word: Option<&str>| word.and_then(|word| word.parse().ok()).ok_or(ReplyError::Corrupt);
        match words.next() {
            Some("x") => Ok(Mode::Exclusive),
            Some("s") => Ok(Mode::Shared),
            Some("p") => {
                let (take, of) = (number(words.next())?, number(words.next())?);
                Ok(Mode::Permits { take, of })
            }
            _ => Err(ReplyError::Corrupt),
        }
    }

    /// A grant is written as its time, behind a slash the token it was raised to, and a mark where that was
    /// done without scripts.
    pub(crate) fn grant(&mut self) -> ParseResult<(Token, u64)> {
        let text = self.text()?;
        let text = text.strip_suffix(wire::WITHOUT_SCRIPTS).unwrap_or(&text);
        let (since, raised) = text.split_once('/').unwrap_or((text, ""));
        let since = since.parse().map_err(|_| ReplyError::Corrupt)?;
        let token = match raised {
            "" => Token::from_time(since),
            raised => raised.parse().ok().and_then(Token::from_raw),
        };
        Ok((token.ok_or(ReplyError::Corrupt)?, since))
    }

    pub(crate) fn text(&mut self) -> ParseResult<String> {
        match self.0.next() {
            Some(Value::Bytes(bytes)) => String::from_utf8(bytes).map_err(|_| ReplyError::Corrupt),
            _ => Err(ReplyError::Corrupt),
        }
    }

    /// Bytes as they are.
    pub(crate) fn bytes(&mut self) -> ParseResult<Vec<u8>> {
        match self.0.next() {
            Some(Value::Bytes(bytes)) => Ok(bytes),
            _ => Err(ReplyError::Corrupt),
        }
    }

    /// The same of what may be no text.
    pub(crate) fn lossy_text(&mut self) -> ParseResult<String> {
        match self.0.next() {
            Some(Value::Bytes(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            _ => Err(ReplyError::Corrupt),
        }
    }

    /// A number as it is.
    pub(crate) fn signed(&mut self) -> ParseResult<i64> {
        match self.0.next() {
            Some(Value::Int(number)) => Ok(number),
            _ => Err(ReplyError::Corrupt),
        }
    }

    pub(crate) fn number(&mut self) -> ParseResult<u64> {
        match self.0.next() {
            // A lease that somebody made endless, or that is just over, shows as below zero.
            Some(Value::Int(number)) => Ok(u64::try_from(number).unwrap_or(0)),
            _ => Err(ReplyError::Corrupt),
        }
    }

    /// A number, or else a word.
    pub(crate) fn word_or_number(&mut self) -> ParseResult<Result<u64, String>> {
        match self.0.as_slice().first() {
            Some(Value::Int(_)) => self.number().map(Ok),
            _ => self.text().map(Err),
        }
    }

    pub(crate) fn rows(&mut self) -> ParseResult<Self> {
        rows(self.0.next().ok_or(ReplyError::Corrupt)?)
    }
}

pub(crate) fn rows(value: Value) -> ParseResult<ReplyFields> {
    match value {
        Value::Array(values) => Ok(ReplyFields(values.into_iter())),
        _ => Err(ReplyError::Corrupt),
    }
}

impl ReplyError {
    /// What a caller is told.
    pub(crate) fn fault(self, place: &str) -> Fault {
        match self {
            Self::Corrupt => error::corrupt(place),
            Self::Format(number) => crate::servers::format::of_a_lock(place, &number),
            Self::Granted => error::unreadable(place),
            Self::Crowd => error::crowded(place),
            Self::OtherType => error::other_type(place),
            Self::Endless => error::never_ends(place),
            Self::NoRedissonLock => error::no_redisson_lock(place),
            Self::OtherKind => error::other_kind(place),
            Self::FairQueue => error::fair_queue(place),
            Self::FencedCounter => error::fenced_counter(place),
            Self::Queue(QueueError::Clock(error)) => {
                Fault::new(FaultKind::Misconfigured, error.to_string(), "then try again")
            }
            Self::Queue(error) => error.into(),
        }
    }
}
