//! What scripts answer, in words of the contract.

use std::time::Duration;

use tenure_core::{
    HoldId, Owner, Token,
    proto::{
        Renewed,
        queue::{
            Answer, Contender, Grant, Position, QueueError, Raised, Released, Snapshot, TakenOver,
        },
        time::ceil_millis,
    },
};

use crate::{
    client::Value,
    locks::layout::fields::{ParseResult, ReplyError, ReplyFields, rows},
};

/// The shortest time after which a waiter is told to ask again.
pub(crate) const SHORTEST_RETRY: Duration = Duration::from_millis(1);

/// One reply, after the echo of its owner.
pub(crate) enum Reply {
    /// The record of a grant, or nothing where there is nothing to say.
    Record(Vec<u8>),
    /// Words and numbers.
    Fields(ReplyFields),
}

impl From<Value> for Reply {
    fn from(behind_echo: Value) -> Self {
        match behind_echo {
            Value::Bytes(record) => Self::Record(record),
            Value::Array(fields) => Self::Fields(ReplyFields(fields.into_iter())),
            // Nothing of this makes sense as fields.
            _ => Self::Fields(ReplyFields(Vec::new().into_iter())),
        }
    }
}

impl Reply {
    /// Whether the script for a lock that is nobody else's found others there.
    pub(crate) fn is_crowd(&self) -> bool {
        self.says("crowd")
    }

    /// Whether this word is all of it.
    fn says(&self, only: &str) -> bool {
        let Self::Fields(fields) = self else { return false };
        matches!(fields.0.as_slice(), [Value::Bytes(word)] if word == only.as_bytes())
    }

    /// Whether the name is granted and was nobody else's.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, Self::Record(_))
    }

    /// Whether a grant says that nobody else is there: nobody waits, and nobody shares the lock.
    pub(crate) fn finds_nobody(&self) -> bool {
        let Self::Fields(fields) = self else { return true };
        matches!(fields.0.as_slice(), [Value::Bytes(word), _, _, Value::Int(0)] if word == b"granted")
    }

    /// The answer to an ask for a lease of `ttl`.
    pub(crate) fn answer(self, ttl: Duration) -> ParseResult<Answer> {
        let mut fields = match self {
            Self::Record(record) => {
                let left = Duration::from_millis(ceil_millis(ttl));
                let token = parse_record_token(&record).ok_or(ReplyError::Granted)?;
                return Ok(Answer::Granted { token, left, others_waiting: false });
            }
            fields @ Self::Fields(_) => fields.fields()?,
        };
        match fields.text()?.as_str() {
            "granted" => granted(&mut fields).map_err(|_| ReplyError::Granted),
            "busy" => {
                let retry_after = Duration::from_micros(fields.number()?).max(SHORTEST_RETRY);
                let ahead = u32::try_from(fields.number()?).unwrap_or(u32::MAX);
                let position = fields.text()?.parse().ok().map(Position);
                let holder = if fields.0.len() == 0 { None } else { Some(fields.contender()?) };
                Ok(Answer::Busy { retry_after, ahead, holder, position })
            }
            "full" => {
                let waiting = usize::try_from(fields.number()?).unwrap_or(usize::MAX);
                Err(ReplyError::Queue(QueueError::Full { waiting }))
            }
            "mode" => Err(ReplyError::Queue(QueueError::OtherMode)),
            _ => Err(ReplyError::Corrupt),
        }
    }

    /// The answer to a take-over for a lease of `ttl`.
    pub(crate) fn taken_over(self, ttl: Duration) -> ParseResult<TakenOver> {
        if self.says("not-held") {
            return Ok(TakenOver::NotHeld);
        }
        match self.answer(ttl)? {
            Answer::Granted { token, left, others_waiting } => {
                Ok(TakenOver::Granted(Grant { token, left, others_waiting }))
            }
            Answer::Busy { .. } => Err(ReplyError::Corrupt),
        }
    }

    /// The answer to a renewal.
    pub(crate) fn renewed(self) -> ParseResult<Renewed> {
        let mut fields = self.fields()?;
        match fields.text()?.as_str() {
            "renewed" => {
                let left = Duration::from_millis(fields.number()?);
                Ok(Renewed::Renewed { left, others_waiting: fields.number()? == 1 })
            }
            "lost" => Ok(Renewed::Lost),
            _ => Err(ReplyError::Corrupt),
        }
    }

    /// The answer to a release.
    pub(crate) fn released(self) -> ParseResult<Released> {
        if let Self::Record(rest) = &self
            && rest.is_empty()
        {
            return Ok(Released::Released);
        }
        match self.fields()?.text()?.as_str() {
            "released" => Ok(Released::Released),
            "not-held" => Ok(Released::NotHeld),
            _ => Err(ReplyError::Corrupt),
        }
    }

    /// The answer to the raising of a token.
    pub(crate) fn raised(self) -> ParseResult<Raised> {
        match self.fields()?.text()?.as_str() {
            "raised" => Ok(Raised::Raised),
            "stale" => Ok(Raised::Stale),
            "not-held" => Ok(Raised::NotHeld),
            _ => Err(ReplyError::Corrupt),
        }
    }

    /// Who was evicted.
    pub(crate) fn evicted(self) -> ParseResult<Vec<Contender>> {
        let mut fields = self.fields()?;
        match fields.text()?.as_str() {
            // It is done, so what cannot be read of somebody must not look like a failure.
            "evicted" => {
                let readable = fields.0.filter_map(|value| rows(value).ok()?.contender().ok());
                Ok(readable.collect())
            }
            _ => Err(ReplyError::Corrupt),
        }
    }

    /// Whose the hold of this id is, in an answer that says who holds a name.
    pub(crate) fn owner_of(self, hold: HoldId) -> ParseResult<Option<Owner>> {
        let mut fields = self.fields()?;
        if fields.text()? != "seen" {
            return Err(ReplyError::Corrupt);
        }
        for value in fields.rows()?.0 {
            let mut row = rows(value)?;
            let owner =
                row.0.next_back().and_then(|last| ReplyFields(vec![last].into_iter()).owner());
            if owner.is_some_and(|owner| HoldId::of_owner(&owner) == hold) {
                return Ok(owner);
            }
        }
        Ok(None)
    }

    /// Who holds a name and who waits for it, in the order of grants and places.
    pub(crate) fn into_snapshot(self) -> ParseResult<Snapshot> {
        let mut fields = self.fields()?;
        if fields.text()? != "seen" {
            return Err(ReplyError::Corrupt);
        }
        let (holders, waiters) = (fields.rows()?, fields.rows()?);
        let mut holders =
            holders.0.map(|value| rows(value)?.contender()).collect::<ParseResult<Vec<_>>>()?;
        holders.sort_by_key(|holder| holder.token);
        let mut waiters =
            waiters.0.map(|value| rows(value)?.waiting()).collect::<ParseResult<Vec<_>>>()?;
        waiters.sort_by_key(|(place, _)| *place);
        let waiters = waiters.into_iter().map(|(_, waiting)| waiting).collect();
        Ok(Snapshot::new(holders, waiters))
    }

    pub(crate) fn fields(self) -> ParseResult<ReplyFields> {
        match self {
            Self::Fields(fields) => match fields.0.as_slice() {
                [Value::Bytes(word), Value::Bytes(number)] if word == b"format" => {
                    Err(ReplyError::Format(String::from_utf8_lossy(number).into_owned()))
                }
                _ => Ok(fields),
            },
            Self::Record(_) => Err(ReplyError::Corrupt),
        }
    }
}

/// What a call was granted that others went with; `None` when it is to ask by the larger script.
pub(crate) fn part_granted(part: Value) -> ParseResult<Option<Token>> {
    match part {
        Value::Nil => Ok(None),
        Value::Bytes(time) => time_of(&time).map(Some).ok_or(ReplyError::Granted),
        _ => Err(ReplyError::Granted),
    }
}

/// What became of a release that others went with; `None` when it is to go by the larger script.
pub(crate) fn part_released(part: Value) -> ParseResult<Option<Released>> {
    match part {
        Value::Nil => Ok(None),
        Value::Int(1) => Ok(Some(Released::Released)),
        Value::Int(0) => Ok(Some(Released::NotHeld)),
        _ => Err(ReplyError::Corrupt),
    }
}

fn granted(fields: &mut ReplyFields) -> ParseResult<Answer> {
    let (token, _) = fields.grant()?;
    let left = Duration::from_millis(fields.number()?);
    Ok(Answer::Granted { token, left, others_waiting: fields.number()? == 1 })
}

/// The token of a record as it is when it is granted: a mark of at most two letters before it, permits and
/// a label behind it.
fn parse_record_token(record: &[u8]) -> Option<Token> {
    let mark = record.iter().take(2).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let record = &record[mark..];
    let end = record.iter().position(|byte| matches!(*byte, b' ' | b';'))?;
    time_of(&record[..end])
}

fn time_of(text: &[u8]) -> Option<Token> {
    Token::from_time(std::str::from_utf8(text).ok()?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::protocol::echo::strip_echo;

    const TTL: Duration = Duration::from_secs(30);

    fn reply(fields: Vec<Value>) -> Reply {
        let mut reply = vec![text("owner")];
        reply.extend(fields);
        Reply::from(strip_echo(b"owner", Value::Array(reply)).unwrap())
    }

    fn text(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
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
        for record in [
            "owner1700000000000000 label",
            "owners1700000000000000 a label",
            "ownersr1700000000000000 a label",
            "ownerp1700000000000000;1/20 a label",
        ] {
            let reply = Reply::from(strip_echo(b"owner", text(record)).unwrap());
            let token = Token::from_time(1_700_000_000_000_000).unwrap();
            let granted = Answer::Granted { token, left: TTL, others_waiting: false };
            assert_eq!(reply.answer(TTL).unwrap(), granted);
        }
        for record in ["owner", "owner1700000000000000", "ownersrx1 label", "owner12/13 label"] {
            let reply = Reply::from(strip_echo(b"owner", text(record)).unwrap());
            assert!(matches!(reply.answer(TTL), Err(ReplyError::Granted)), "{record}");
        }
    }

    #[test]
    fn a_part_is_a_grant_or_a_release_or_nothing() {
        let token = Token::from_time(1_700_000_000_000_000);
        assert_eq!(part_granted(text("1700000000000000")).unwrap(), token);
        assert_eq!(part_granted(Value::Nil).unwrap(), None);
        for part in [text(""), text("x"), text("9007199254740992"), Value::Int(1)] {
            assert!(matches!(part_granted(part), Err(ReplyError::Granted)));
        }
        assert_eq!(part_released(Value::Int(1)).unwrap(), Some(Released::Released));
        assert_eq!(part_released(Value::Int(0)).unwrap(), Some(Released::NotHeld));
        assert_eq!(part_released(Value::Nil).unwrap(), None);
        for part in [text("1"), Value::Int(2), Value::Int(-1)] {
            assert!(matches!(part_released(part), Err(ReplyError::Corrupt)));
        }
    }

    #[test]
    fn a_take_over_is_granted_as_an_ask_is_or_finds_nothing() {
        let nothing = reply(vec![text("not-held")]).taken_over(TTL);
        assert_eq!(nothing.unwrap(), TakenOver::NotHeld);
        let token = Token::from_time(1_700_000_000_000_000).unwrap();
        let granted =
            |left, others_waiting| TakenOver::Granted(Grant { token, left, others_waiting });
        let alone =
            Reply::from(strip_echo(b"owner", text("ownersr1700000000000000 label")).unwrap());
        assert_eq!(alone.taken_over(TTL).unwrap(), granted(TTL, false));
        let fields =
            vec![text("granted"), text("1700000000000000"), Value::Int(250), Value::Int(1)];
        let left = Duration::from_millis(250);
        assert_eq!(reply(fields).taken_over(TTL).unwrap(), granted(left, true));
        let mode = reply(vec![text("mode")]).taken_over(TTL);
        assert!(matches!(mode, Err(ReplyError::Queue(QueueError::OtherMode))));
        let busy = vec![text("busy"), Value::Int(1), Value::Int(0), text("")];
        for fields in [busy, vec![text("not-held"), text("x")], vec![text("corrupt")], vec![]] {
            assert!(matches!(reply(fields).taken_over(TTL), Err(ReplyError::Corrupt)));
        }
        let unreadable = reply(vec![text("granted")]).taken_over(TTL);
        assert!(matches!(unreadable, Err(ReplyError::Granted)));
    }

    #[test]
    fn a_grant_that_cannot_be_read_may_be_one() {
        for rest in [
            vec![],
            vec![text("x"), Value::Int(1), Value::Int(0)],
            vec![text("0"), Value::Int(1), Value::Int(0)],
            vec![text("9007199254740992"), Value::Int(1), Value::Int(0)],
            vec![text("1700000000000000"), text("x"), Value::Int(0)],
        ] {
            let fields = [text("granted")].into_iter().chain(rest).collect();
            let refused = reply(fields).answer(TTL).unwrap_err();
            assert_eq!(refused.fault("here").kind(), tenure_core::FaultKind::InDoubt);
        }
    }

    #[test]
    fn nonsense_is_no_answer() {
        for fields in [
            vec![],
            vec![text("busy"), Value::Nil, Value::Int(1), text("")],
            vec![text("corrupt")],
            vec![Value::Int(3)],
        ] {
            assert!(matches!(reply(fields).answer(TTL), Err(ReplyError::Corrupt)));
        }
    }
}
