//! What the scripts on Redisson's keys answer.

use std::time::Duration;

use tenure_core::{
    Token,
    proto::queue::{Answer, Contender, Grant, QueueError, Released, TakenOver},
};

use crate::locks::{
    layout::{
        fields::{ParseResult, ReplyError, ReplyFields, rows},
        redisson::holder::{self, HoldKind},
        reply::{Reply, SHORTEST_RETRY},
    },
    wakeups::{LOOK, LOOK_UNHEARD},
};

/// Why none was granted.
fn refusal(word: &str) -> ReplyError {
    match word {
        "type" => ReplyError::NoRedissonLock,
        "kind" => ReplyError::OtherKind,
        "fair" => ReplyError::FairQueue,
        "fenced" => ReplyError::FencedCounter,
        "endless" => ReplyError::Endless,
        "mode" => ReplyError::Queue(QueueError::OtherMode),
        _ => ReplyError::Corrupt,
    }
}

/// The answer to an ask; `hears` says whether this process hears of releases of the name.
pub(super) fn answer(reply: Reply, hears: impl FnOnce() -> bool) -> ParseResult<Answer> {
    let mut fields = reply.fields()?;
    match fields.text()?.as_str() {
        "granted" => {
            let Grant { token, left, .. } = grant(&mut fields).map_err(|_| ReplyError::Granted)?;
            Ok(Answer::Granted { token, left, others_waiting: false })
        }
        "busy" => {
            let left = fields.signed()?;
            let holder = holders(&mut fields)?.pop().map(|(_, holder)| holder);
            let longest = if hears() { LOOK } else { LOOK_UNHEARD };
            let left = u64::try_from(left).map_or(longest, Duration::from_millis);
            let retry_after = left.clamp(SHORTEST_RETRY, longest);
            Ok(Answer::Busy { retry_after, ahead: 0, holder, position: None })
        }
        word => Err(refusal(word)),
    }
}

pub(super) fn taken_over(reply: Reply) -> ParseResult<TakenOver> {
    let mut fields = reply.fields()?;
    match fields.text()?.as_str() {
        "granted" => grant(&mut fields).map(TakenOver::Granted).map_err(|_| ReplyError::Granted),
        "not-held" => Ok(TakenOver::NotHeld),
        word => Err(refusal(word)),
    }
}

/// What became of a release, and how many clients heard of it.
pub(super) fn released(reply: Reply) -> ParseResult<(Released, u64)> {
    let mut fields = reply.fields()?;
    match fields.text()?.as_str() {
        "released" => Ok((Released::Released, fields.number()?)),
        "not-held" => Ok((Released::NotHeld, 0)),
        word => Err(refusal(word)),
    }
}

/// Who holds it, with the field of each.
pub(super) fn seen(reply: Reply) -> ParseResult<Vec<(String, Contender)>> {
    let mut fields = reply.fields()?;
    match fields.text()?.as_str() {
        "seen" | "evicted" => holders(&mut fields),
        word => Err(refusal(word)),
    }
}

fn grant(fields: &mut ReplyFields) -> ParseResult<Grant> {
    let (token, _): (Token, _) = holder::token_of(&fields.text()?)?;
    let left = Duration::from_millis(fields.number()?);
    Ok(Grant { token, left, others_waiting: false })
}

fn holders(fields: &mut ReplyFields) -> ParseResult<Vec<(String, Contender)>> {
    let mut seen = Vec::new();
    for row in fields.rows()?.0 {
        let mut row = rows(row)?;
        let (field, left) = (row.lossy_text()?, row.signed()?);
        let kind = match row.text()?.as_str() {
            "x" => HoldKind::Alone,
            "w" => HoldKind::Writes,
            "s" => HoldKind::Reads,
            _ => return Err(ReplyError::Corrupt),
        };
        let holder = holder::holder(&field, kind, &row.lossy_text()?, left);
        seen.push((field, holder));
    }
    seen.sort_by_key(|(_, holder)| holder.token);
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Value, protocol::echo::strip_echo};

    fn text(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
    }

    fn reply(fields: Vec<Value>) -> Reply {
        let fields = [text("owner")].into_iter().chain(fields).collect();
        Reply::from(strip_echo(b"owner", Value::Array(fields)).unwrap())
    }

    #[test]
    fn a_grant_has_a_time_or_a_number() {
        let token = |number| {
            let fields = vec![text("granted"), text(number), Value::Int(250)];
            let Answer::Granted { token, left, .. } = answer(reply(fields), || true).unwrap()
            else {
                panic!()
            };
            assert_eq!(left, Duration::from_millis(250));
            token.get()
        };
        assert_eq!(token("1700000000000000"), 1_700_000_000_000_000 << 10);
        assert_eq!(token("=17"), 17);
        for number in ["", "=", "=0", "x", "9007199254740992"] {
            let fields = vec![text("granted"), text(number), Value::Int(250)];
            assert!(matches!(answer(reply(fields), || true), Err(ReplyError::Granted)), "{number}");
        }
    }

    #[test]
    fn a_waiter_that_hears_of_releases_looks_less_often() {
        let retry = |left, heard| {
            let row = vec![text("a:1"), Value::Int(left), text("x"), text("")];
            let fields =
                vec![text("busy"), Value::Int(left), Value::Array(vec![Value::Array(row)])];
            let Answer::Busy { retry_after, holder, .. } = answer(reply(fields), || heard).unwrap()
            else {
                panic!()
            };
            assert_eq!(holder.unwrap().label, "(Redisson) a:1");
            retry_after
        };
        assert_eq!(retry(30_000, true), LOOK);
        assert_eq!(retry(-1, true), LOOK);
        assert_eq!(retry(30_000, false), LOOK_UNHEARD);
        assert_eq!(retry(10, true), Duration::from_millis(10));
        assert_eq!(retry(0, true), SHORTEST_RETRY);
    }

    #[test]
    fn nonsense_is_no_answer() {
        for fields in [
            vec![],
            vec![text("x")],
            vec![text("busy"), Value::Nil],
            vec![text("seen"), Value::Int(1)],
        ] {
            assert!(matches!(answer(reply(fields.clone()), || true), Err(ReplyError::Corrupt)));
            assert!(matches!(seen(reply(fields)), Err(ReplyError::Corrupt)));
        }
    }
}
