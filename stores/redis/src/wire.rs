//! What scripts are told and what they answer, in words of the contract.

use std::{borrow::Cow, time::Duration, vec::IntoIter};

use redis::Value;
use tenure_core::{
    Fault, FaultKind, Owner, Token,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, Intent, Limits, Mode, Order, Place, QueueError, Raised,
            Released, Snapshot, Waiting,
        },
        time::ceil_millis,
    },
};

/// The shortest time after which a waiter is told to ask again.
const SHORTEST_RETRY: Duration = Duration::from_millis(1);

/// One reply, after the echo of its owner.
pub(crate) enum Reply {
    /// The record of a grant, or nothing where there is nothing to say.
    Record(Vec<u8>),
    /// Words and numbers.
    Fields(Fields),
}

/// The fields of a reply, or a row of it.
pub(crate) struct Fields(IntoIter<Value>);

/// Why a reply was no answer.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The reply, or what the server keeps, makes no sense.
    Corrupt,
    /// The rules of the queue say no.
    Queue(QueueError),
}

pub(crate) type Parsed<T> = Result<T, Refused>;

/// The mode as scripts write it.
pub(crate) fn mode(mode: Mode) -> Cow<'static, str> {
    match mode {
        Mode::Exclusive => "x".into(),
        Mode::Shared => "s".into(),
        Mode::Permits { take, of } => format!("p {take} {of}").into(),
    }
}

/// What stands between owner and time in the record of who has a lock alone.
pub(crate) fn mark(mode: Mode) -> &'static [u8] {
    if mode == Mode::Shared { b"s" } else { b"" }
}

/// An owner as scripts write it.
pub(crate) type OwnerText = [u8; 32];

pub(crate) fn owner(owner: &Owner) -> OwnerText {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 32];
    for (pair, byte) in text.chunks_exact_mut(2).zip(owner.as_bytes()) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}

/// Order and intent as scripts write them.
pub(crate) fn manner(ask: &Ask) -> &'static str {
    match (ask.order, ask.intent) {
        (Order::Fifo, Intent::Try) => "ft",
        (Order::Fifo, Intent::Wait { .. }) => "fw",
        (Order::Barging, Intent::Try) => "bt",
        (Order::Barging, Intent::Wait { .. }) => "bw",
    }
}

/// The place asked for, as scripts write it. They count in doubles.
pub(crate) fn place(intent: Intent) -> String {
    const MOST: u64 = 1 << 52;
    match intent {
        Intent::Wait { place: Some(Place(place)) } => place.min(MOST).to_string(),
        Intent::Wait { place: None } | Intent::Try => String::new(),
    }
}

/// The bounds of queues as scripts write them: lengths in microseconds, then counts.
pub(crate) fn limits(limits: &Limits) -> String {
    format!(
        "{} {} {} {} {}",
        limits.claim_window.as_micros(),
        limits.place_ttl.as_micros(),
        limits.look.as_micros(),
        limits.max_waiters,
        limits.max_holders
    )
}

impl Reply {
    /// The reply, if it is one to the call whose first argument began with this owner.
    pub(crate) fn to(owner: &[u8], value: Value) -> Option<Self> {
        match value {
            Value::BulkString(mut record) if record.starts_with(owner) => {
                record.drain(..owner.len());
                Some(Self::Record(record))
            }
            Value::Array(fields) => {
                let mut fields = fields.into_iter();
                let echo = fields.next();
                let ours = matches!(echo, Some(Value::BulkString(echo)) if echo == owner);
                ours.then_some(Self::Fields(Fields(fields)))
            }
            _ => None,
        }
    }

    /// Whether the script for a lock that is nobody else's found others there.
    pub(crate) fn is_crowd(&self) -> bool {
        let Self::Fields(fields) = self else { return false };
        matches!(fields.0.as_slice(), [Value::BulkString(word)] if word == b"crowd")
    }

    /// Whether the name is granted and was nobody else's.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, Self::Record(_))
    }

    /// The answer to an ask for a lease of `ttl`.
    pub(crate) fn answer(self, ttl: Duration) -> Parsed<Answer> {
        let mut fields = match self {
            Self::Record(record) => {
                let left = Duration::from_millis(ceil_millis(ttl));
                let token = recorded(&record).ok_or(Refused::Corrupt)?;
                return Ok(Answer::Granted { token, left, others_waiting: false });
            }
            Self::Fields(fields) => fields,
        };
        match fields.text()?.as_str() {
            "granted" => {
                let (token, _) = fields.grant()?;
                let left = Duration::from_millis(fields.number()?);
                Ok(Answer::Granted { token, left, others_waiting: fields.number()? == 1 })
            }
            "busy" => {
                let retry_after = Duration::from_micros(fields.number()?).max(SHORTEST_RETRY);
                let ahead = u32::try_from(fields.number()?).unwrap_or(u32::MAX);
                let place = fields.text()?.parse().ok().map(Place);
                let holder = if fields.0.len() == 0 { None } else { Some(fields.contender()?) };
                Ok(Answer::Busy { retry_after, ahead, holder, place })
            }
            "full" => {
                let waiting = usize::try_from(fields.number()?).unwrap_or(usize::MAX);
                Err(Refused::Queue(QueueError::Full { waiting }))
            }
            "mode" => Err(Refused::Queue(QueueError::OtherMode)),
            _ => Err(Refused::Corrupt),
        }
    }

    /// The answer to a renewal.
    pub(crate) fn renewed(self) -> Parsed<Renewed> {
        let mut fields = self.fields()?;
        match fields.text()?.as_str() {
            "renewed" => {
                let left = Duration::from_millis(fields.number()?);
                Ok(Renewed::Renewed { left, others_waiting: fields.number()? == 1 })
            }
            "lost" => Ok(Renewed::Lost),
            _ => Err(Refused::Corrupt),
        }
    }

    /// The answer to a release.
    pub(crate) fn released(self) -> Parsed<Released> {
        if let Self::Record(rest) = &self
            && rest.is_empty()
        {
            return Ok(Released::Released);
        }
        match self.fields()?.text()?.as_str() {
            "released" => Ok(Released::Released),
            "not-held" => Ok(Released::NotHeld),
            _ => Err(Refused::Corrupt),
        }
    }

    /// The answer to the raising of a token.
    pub(crate) fn raised(self) -> Parsed<Raised> {
        match self.fields()?.text()?.as_str() {
            "raised" => Ok(Raised::Raised),
            "stale" => Ok(Raised::Stale),
            "not-held" => Ok(Raised::NotHeld),
            _ => Err(Refused::Corrupt),
        }
    }

    /// Who was evicted.
    pub(crate) fn evicted(self) -> Parsed<Vec<Contender>> {
        let mut fields = self.fields()?;
        match fields.text()?.as_str() {
            "evicted" => fields.0.map(|value| rows(value)?.contender()).collect(),
            _ => Err(Refused::Corrupt),
        }
    }

    /// Who holds a name and who waits for it, in the order of grants and places.
    pub(crate) fn seen(self) -> Parsed<Snapshot> {
        let mut fields = self.fields()?;
        if fields.text()? != "seen" {
            return Err(Refused::Corrupt);
        }
        let (holders, waiters) = (fields.rows()?, fields.rows()?);
        let mut holders =
            holders.0.map(|value| rows(value)?.contender()).collect::<Parsed<Vec<_>>>()?;
        holders.sort_by_key(|holder| holder.token);
        let mut waiters =
            waiters.0.map(|value| rows(value)?.waiting()).collect::<Parsed<Vec<_>>>()?;
        waiters.sort_by_key(|(place, _)| *place);
        let waiters = waiters.into_iter().map(|(_, waiting)| waiting).collect();
        Ok(Snapshot { holders, waiters })
    }

    pub(crate) fn fields(self) -> Parsed<Fields> {
        match self {
            Self::Fields(fields) => Ok(fields),
            Self::Record(_) => Err(Refused::Corrupt),
        }
    }
}

/// The token of a record as it is when it is granted: `s` before it for readers, a label behind it.
fn recorded(record: &[u8]) -> Option<Token> {
    let record = record.strip_prefix(b"s").unwrap_or(record);
    let end = record.iter().position(|byte| *byte == b' ')?;
    let time = std::str::from_utf8(&record[..end]).ok()?.parse().ok()?;
    Token::from_time(time)
}

impl Fields {
    pub(crate) fn contender(&mut self) -> Parsed<Contender> {
        let mode = self.mode()?;
        let (token, since) = self.grant()?;
        let left = match self.0.next() {
            Some(Value::Int(left)) => u64::try_from(left).ok().map(Duration::from_millis),
            _ => return Err(Refused::Corrupt),
        };
        let lingering = self.number()? == 1;
        let label = self.text()?;
        Ok(Contender { label, token: Some(token), since: Some(since), left, mode, lingering })
    }

    fn waiting(&mut self) -> Parsed<(u64, Waiting)> {
        let mode = self.mode()?;
        let place = self.text()?.parse().map_err(|_| Refused::Corrupt)?;
        let since = self.text()?.parse().ok();
        Ok((place, Waiting { label: self.text()?, since, mode }))
    }

    fn mode(&mut self) -> Parsed<Mode> {
        let text = self.text()?;
        let mut words = text.split(' ');
        let number =
            |word: Option<&str>| word.and_then(|word| word.parse().ok()).ok_or(Refused::Corrupt);
        match words.next() {
            Some("x") => Ok(Mode::Exclusive),
            Some("s") => Ok(Mode::Shared),
            Some("p") => {
                let (take, of) = (number(words.next())?, number(words.next())?);
                Ok(Mode::Permits { take, of })
            }
            _ => Err(Refused::Corrupt),
        }
    }

    /// A grant is written as its time, and behind a slash the token it was raised to.
    pub(crate) fn grant(&mut self) -> Parsed<(Token, u64)> {
        let text = self.text()?;
        let (since, raised) = text.split_once('/').unwrap_or((&text, ""));
        let since = since.parse().map_err(|_| Refused::Corrupt)?;
        let token = match raised {
            "" => Token::from_time(since),
            raised => raised.parse().ok().and_then(Token::from_raw),
        };
        Ok((token.ok_or(Refused::Corrupt)?, since))
    }

    pub(crate) fn text(&mut self) -> Parsed<String> {
        match self.0.next() {
            Some(Value::BulkString(bytes)) => {
                String::from_utf8(bytes).map_err(|_| Refused::Corrupt)
            }
            _ => Err(Refused::Corrupt),
        }
    }

    pub(crate) fn number(&mut self) -> Parsed<u64> {
        match self.0.next() {
            // A lease that somebody made endless, or that is just over, shows as below zero.
            Some(Value::Int(number)) => Ok(u64::try_from(number).unwrap_or(0)),
            _ => Err(Refused::Corrupt),
        }
    }

    fn rows(&mut self) -> Parsed<Self> {
        rows(self.0.next().ok_or(Refused::Corrupt)?)
    }
}

fn rows(value: Value) -> Parsed<Fields> {
    match value {
        Value::Array(values) => Ok(Fields(values.into_iter())),
        _ => Err(Refused::Corrupt),
    }
}

impl Refused {
    /// What a caller is told.
    pub(crate) fn fault(self, place: &str) -> Fault {
        match self {
            Self::Corrupt => crate::error::corrupt(place),
            Self::Queue(QueueError::Clock(error)) => {
                Fault::new(FaultKind::Misconfigured, error.to_string(), "then try again")
            }
            Self::Queue(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(30);

    fn reply(fields: Vec<Value>) -> Reply {
        let mut reply = vec![text("owner")];
        reply.extend(fields);
        Reply::to(b"owner", Value::Array(reply)).unwrap()
    }

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn a_grant_carries_its_token_and_what_is_left() {
        let fields =
            vec![text("granted"), text("1700000000000000"), Value::Int(250), Value::Int(1)];
        let token = Token::from_time(1_700_000_000_000_000).unwrap();
        let left = Duration::from_millis(250);
        let granted = Answer::Granted { token, left, others_waiting: true };
        assert_eq!(reply(fields).answer(TTL).unwrap(), granted);
    }

    #[test]
    fn a_raised_token_keeps_its_low_bits() {
        let fields = vec![
            text("granted"),
            text("1700000000000000/1740800000000000007"),
            Value::Int(1),
            Value::Int(0),
        ];
        let Answer::Granted { token, .. } = reply(fields).answer(TTL).unwrap() else { panic!() };
        assert_eq!(token.get(), 1_740_800_000_000_000_007);
    }

    #[test]
    fn a_record_is_a_grant_of_the_whole_ttl() {
        for record in ["owner1700000000000000 label", "owners1700000000000000 a label"] {
            let reply = Reply::to(b"owner", text(record)).unwrap();
            let token = Token::from_time(1_700_000_000_000_000).unwrap();
            let granted = Answer::Granted { token, left: TTL, others_waiting: false };
            assert_eq!(reply.answer(TTL).unwrap(), granted);
        }
        for record in ["owner", "owner1700000000000000", "ownerx1 label", "owner12/13 label"] {
            let reply = Reply::to(b"owner", text(record)).unwrap();
            assert!(matches!(reply.answer(TTL), Err(Refused::Corrupt)), "{record}");
        }
    }

    #[test]
    fn an_owner_is_written_as_everywhere() {
        let bytes = std::array::from_fn(|at| u8::try_from(at * 17).unwrap());
        let one = Owner::from_bytes(bytes);
        assert_eq!(std::str::from_utf8(&owner(&one)).unwrap(), one.to_hex());
    }

    #[test]
    fn a_reply_to_another_owner_is_none() {
        for value in [text("other"), Value::Array(vec![text("other")]), Value::Int(1)] {
            assert!(Reply::to(b"owner", value).is_none());
        }
    }

    #[test]
    fn nonsense_is_no_answer() {
        for fields in [
            vec![],
            vec![text("granted")],
            vec![text("granted"), text("x"), Value::Int(1), Value::Int(0)],
            vec![text("granted"), text("0"), Value::Int(1), Value::Int(0)],
            vec![text("busy"), Value::Nil, Value::Int(1), text("")],
            vec![text("corrupt")],
            vec![Value::Int(3)],
        ] {
            assert!(matches!(reply(fields).answer(TTL), Err(Refused::Corrupt)));
        }
    }
}
