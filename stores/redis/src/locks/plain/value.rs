//! What a key of the plain layout has, and what follows from it.

use std::time::Duration;

use tenure_core::{
    HoldId,
    proto::queue::{Answer, Ask, Contender, QueueError},
};

use super::foreign;
use crate::locks::{
    layout::{
        fields::{ParseResult, ReplyError, ReplyFields},
        lone_record::ParsedRecord,
        reply::{Reply, SHORTEST_RETRY},
    },
    wakeups::LOOK,
};

/// The value of a key, and for how many milliseconds it stays; below zero for ever.
#[derive(Debug)]
pub(super) struct SeenValue {
    value: Vec<u8>,
    left: i64,
}

/// The answer to an ask.
pub(super) fn answer(reply: Reply, ask: &Ask) -> ParseResult<Answer> {
    if reply.is_alone() {
        return reply.answer(ask.ttl);
    }
    let mut fields = reply.fields()?;
    let word = fields.text()?;
    if word == "left-free" {
        let left = Duration::from_millis(fields.number()?);
        return Ok(busy(left.clamp(SHORTEST_RETRY, LOOK), None));
    }
    // What is free is granted.
    let seen = SeenValue::behind(&word, &mut fields)?.ok_or(ReplyError::Corrupt)?;
    seen.answer(ask)
}

fn busy(retry_after: Duration, holder: Option<Contender>) -> Answer {
    Answer::Busy { retry_after, ahead: 0, holder, position: None }
}

impl SeenValue {
    /// What a look saw; `None` if there is no such key.
    pub(super) fn read(reply: Reply) -> ParseResult<Option<Self>> {
        let mut fields = reply.fields()?;
        let word = fields.text()?;
        Self::behind(&word, &mut fields)
    }

    fn behind(word: &str, fields: &mut ReplyFields) -> ParseResult<Option<Self>> {
        match word {
            "free" => Ok(None),
            "taken" => Ok(Some(Self { value: fields.bytes()?, left: fields.signed()? })),
            "other-type" => Err(ReplyError::OtherType),
            _ => Err(ReplyError::Corrupt),
        }
    }

    /// The record, if it is one of tenure's: these always end.
    fn record(&self) -> ParseResult<Option<ParsedRecord<'_>>> {
        if self.left >= 0 && foreign::is_ours(&self.value) {
            return ParsedRecord::read(&self.value).map(Some);
        }
        Ok(None)
    }

    /// Who has the lock.
    pub(super) fn holder(&self) -> ParseResult<Contender> {
        match self.record()? {
            Some(record) => record.holder(self.left),
            None => Ok(foreign::holder(&self.value, self.left)),
        }
    }

    fn answer(&self, ask: &Ask) -> ParseResult<Answer> {
        let left = u64::try_from(self.left).map(Duration::from_millis);
        match self.record()? {
            Some(record) if record.owner == ask.owner.to_hex() => {
                if !record.is_exclusive() {
                    return Err(ReplyError::Queue(QueueError::OtherMode));
                }
                let (token, left) = (record.token()?, left.unwrap_or_default());
                Ok(Answer::Granted { token, left, others_waiting: false })
            }
            _ => {
                let retry_after = left.unwrap_or(LOOK).clamp(SHORTEST_RETRY, LOOK);
                Ok(busy(retry_after, Some(self.holder()?)))
            }
        }
    }

    /// The value to delete so as to evict whoever has the lock, or the holder of this id, and who that is; `None` if
    /// it is another one. Refuses what may be no lock.
    pub(super) fn evictable(
        &self,
        only: Option<HoldId>,
    ) -> ParseResult<Option<(&[u8], Contender)>> {
        let holder = self.holder()?;
        if only.is_some_and(|only| holder.id != Some(only)) {
            return Ok(None);
        }
        if holder.token.is_none() {
            foreign::check_deletable(&self.value, self.left)?;
        }
        Ok(Some((&self.value, holder)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Value, protocol::echo::strip_echo};

    const OURS: &str = "00112233445566778899aabbccddeeff1700000000000000 a";

    fn text(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
    }

    fn reply(fields: Vec<Value>) -> Reply {
        let fields = [text("owner")].into_iter().chain(fields).collect();
        Reply::from(strip_echo(b"owner", Value::Array(fields)).unwrap())
    }

    fn seen(value: &str, left: i64) -> SeenValue {
        let fields = vec![text("taken"), text(value), Value::Int(left)];
        SeenValue::read(reply(fields)).unwrap().unwrap()
    }

    #[test]
    fn what_never_ends_is_not_ours() {
        assert_eq!(seen(OURS, 10).holder().unwrap().label, "a");
        for (value, left) in [(OURS, -1), ("", 10), ("theirs", 10)] {
            assert_eq!(seen(value, left).holder().unwrap().label, "(another library)", "{value}");
        }
    }

    #[test]
    fn only_the_hold_that_was_shown_is_evicted() {
        let one = seen("theirs", 10);
        let id = one.holder().unwrap().id.unwrap();
        assert_eq!(one.evictable(Some(id)).unwrap().unwrap().0, b"theirs");
        assert_eq!(one.evictable(None).unwrap().unwrap().0, b"theirs");
        assert!(seen("another", 10).evictable(Some(id)).unwrap().is_none());
        assert!(matches!(seen("theirs", -1).evictable(Some(id)), Err(ReplyError::Endless)));
        assert!(matches!(seen(OURS, -1).evictable(None), Err(ReplyError::Endless)));
        let id = seen(OURS, 10).holder().unwrap().id;
        assert_eq!(seen(OURS, 10).evictable(id).unwrap().unwrap().1.label, "a");
    }

    #[test]
    fn nothing_is_there_or_no_lock_or_nonsense() {
        assert!(SeenValue::read(reply(vec![text("free")])).unwrap().is_none());
        let other = SeenValue::read(reply(vec![text("other-type")]));
        assert!(matches!(other, Err(ReplyError::OtherType)));
        for fields in [vec![], vec![text("x")], vec![text("taken"), Value::Nil, Value::Int(1)]] {
            assert!(matches!(SeenValue::read(reply(fields)), Err(ReplyError::Corrupt)));
        }
    }
}
