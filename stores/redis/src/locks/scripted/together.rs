//! Several names in one script: all of them are granted, or none is.

use std::time::Duration;

use tenure_core::{
    Fault, LockName,
    proto::{
        queue::{Ask, Grant, Mode, Together},
        time::ceil_millis,
    },
    store::check_together,
};

use crate::{
    client::{HashTag, ScriptCall},
    locks::{
        layout::{
            fields::{ParseResult, ReplyError, ReplyFields},
            keys::Key,
            reply::Reply,
            wire,
        },
        scripted::ScriptedMethod,
        scripts,
    },
};

/// What the script answers.
#[derive(Debug, PartialEq, Eq)]
enum TogetherReply {
    Now(Together),
    /// Several have or want the name with this index, or what is kept there is odd.
    Apart(usize),
}

impl ScriptedMethod {
    /// Asks for names that at most one holder has.
    pub(crate) async fn ask_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        check_together(asks)?;
        let Some((name, first)) = asks.first() else { return Ok(Together::Apart) };
        // A holder of permits is never alone, not even the first.
        if asks.iter().any(|(_, ask)| matches!(ask.mode, Mode::Permits { .. })) {
            return Ok(Together::Apart);
        }
        let tag = HashTag::of(name);
        if self.0.in_cluster()
            && asks.iter().any(|(name, _)| HashTag::of(name).slot() != tag.slot())
        {
            return Ok(Together::Apart);
        }
        let mut call = ScriptCall::new(tag);
        for (name, _) in asks {
            let keys = self.0.key_space().keys(name);
            call.key(&keys.parts(Key::Lock)).key(&keys.parts(Key::Clock));
        }
        for (_, ask) in asks {
            call.argument(&[&wire::owner(&ask.owner), wire::mark(ask).as_bytes()]);
            call.number(ceil_millis(ask.ttl)).argument(&[b" ", ask.label.as_bytes()]);
        }
        let reply =
            self.0.run(&scripts::ACQUIRE_TOGETHER, &wire::owner(&first.owner), call).await?;
        match decided(reply, asks.len()).map_err(|refused| self.0.refused(refused))? {
            TogetherReply::Now(answer) => {
                if matches!(answer, Together::Granted(_)) {
                    self.0.listen();
                }
                Ok(answer)
            }
            TogetherReply::Apart(index) => {
                if let Some((name, _)) = asks.get(index) {
                    self.0.mark_crowded(name);
                }
                Ok(Together::Apart)
            }
        }
    }
}

/// The reply to an ask for so many names.
fn decided(reply: Reply, count: usize) -> ParseResult<TogetherReply> {
    let mut fields = reply.fields()?;
    match fields.text()?.as_str() {
        "granted" => {
            let grants = (0..count).map(|_| grant(&mut fields)).collect::<ParseResult<_>>();
            let grants = grants.map_err(|_| ReplyError::Granted)?;
            Ok(TogetherReply::Now(Together::Granted(grants)))
        }
        "busy" => {
            let index = index(&mut fields, count)?;
            let holder = Some(fields.contender()?);
            Ok(TogetherReply::Now(Together::Busy { index, ahead: 0, holder }))
        }
        "apart" => Ok(TogetherReply::Apart(index(&mut fields, count)?)),
        _ => Err(ReplyError::Corrupt),
    }
}

/// Nobody waits for a name that one holder has alone.
fn grant(fields: &mut ReplyFields) -> ParseResult<Grant> {
    let (token, _) = fields.grant()?;
    let left = Duration::from_millis(fields.number()?);
    Ok(Grant { token, left, others_waiting: false })
}

fn index(fields: &mut ReplyFields, count: usize) -> ParseResult<usize> {
    let index = usize::try_from(fields.number()?).ok();
    index.filter(|index| *index < count).ok_or(ReplyError::Corrupt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Value, protocol::echo::strip_echo};

    fn text(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
    }

    fn reply(fields: Vec<Value>) -> ParseResult<TogetherReply> {
        let fields = [text("owner")].into_iter().chain(fields).collect();
        decided(Reply::from(strip_echo(b"owner", Value::Array(fields)).unwrap()), 2)
    }

    #[test]
    fn each_name_has_its_grant() {
        let fields = ["granted", "1700000000000000"].map(text).into_iter();
        let fields = fields.chain([Value::Int(30), text("1700000000000001/1740800000000001030")]);
        let Ok(TogetherReply::Now(Together::Granted(grants))) =
            reply(fields.chain([Value::Int(0)]).collect())
        else {
            panic!()
        };
        let seen: Vec<_> = grants.iter().map(|grant| (grant.token.get(), grant.left)).collect();
        let first = 1_700_000_000_000_000 << 10;
        let left = Duration::from_millis(30);
        assert_eq!(seen, [(first, left), (1_740_800_000_000_001_030, Duration::ZERO)]);
    }

    #[test]
    fn a_busy_name_says_which_it_is_and_who_has_it() {
        let fields = vec![
            text("busy"),
            Value::Int(1),
            text("s"),
            text("1700000000000000"),
            Value::Int(250),
            Value::Int(0),
            text("a label"),
            text("r"),
        ];
        let Ok(TogetherReply::Now(Together::Busy { index: 1, ahead: 0, holder: Some(holder) })) =
            reply(fields)
        else {
            panic!()
        };
        assert_eq!((holder.label.as_str(), holder.mode), ("a label", Mode::Shared));
        assert_eq!(holder.kind, Some(tenure_core::proto::queue::Kind::ReadWrite));
        assert_eq!(holder.left, Some(Duration::from_millis(250)));
    }

    #[test]
    fn grants_that_cannot_be_read_may_be_some() {
        let time = || text("1700000000000000");
        for fields in [
            vec![text("granted")],
            vec![text("granted"), time(), Value::Int(1)],
            vec![text("granted"), time(), Value::Int(1), time(), text("x")],
        ] {
            assert!(matches!(reply(fields), Err(ReplyError::Granted)));
        }
    }

    #[test]
    fn nonsense_is_no_answer() {
        for fields in [
            vec![],
            vec![text("busy"), Value::Int(0)],
            vec![text("apart")],
            vec![text("apart"), Value::Int(2)],
            vec![text("corrupt")],
            vec![Value::Int(3)],
        ] {
            assert!(matches!(reply(fields), Err(ReplyError::Corrupt)));
        }
    }
}
