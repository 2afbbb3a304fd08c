//! The record of a name's slots, in a key beside its lock.

use tenure_core::{
    Fault, LockName, Owner,
    proto::{schedule::SlotRecord, time::ceil_millis},
    store::{SlotsWrite, SlotsWritten, StoredSlots, check_slot_record},
};

use crate::locks::{
    layout::{
        fields::{ParseResult, ReplyError},
        keys::Key,
        reply::Reply,
        wire,
    },
    scripted::ScriptedMethod,
    scripts,
};

/// Some 139 years, in milliseconds. A server refuses ends that it cannot count to.
const LONGEST: u64 = 1 << 42;

impl ScriptedMethod {
    pub(crate) async fn read_record(&self, name: &LockName) -> Result<StoredSlots, Fault> {
        let mut call = self.0.call(name, &[Key::Slots]);
        let echo = self.0.echo();
        call.argument(&[&echo]).number(most());
        let reply = self.0.run(&scripts::READ_SLOTS, &echo, call).await?;
        self.unless_foreign(name, Key::Slots, seen(reply))
    }

    pub(crate) async fn write_record(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        check_slot_record(&write.text)?;
        let owner = wire::owner(owner);
        let mut call = self.0.call(name, &[Key::Lock, Key::Slots]);
        call.argument(&[&owner]).number(most()).argument(&[write.text.as_bytes()]);
        // A server refuses an end that is now.
        call.number(ceil_millis(write.keep).clamp(1, LONGEST));
        match &write.before {
            Some(before) => call.argument(&[b"r", before.as_bytes()]),
            None => call.argument(&[b"n"]),
        };
        let reply = self.0.run(&scripts::WRITE_SLOTS, &owner, call).await?;
        self.unless_foreign(name, Key::Slots, written(reply))
    }
}

/// The length of the longest record.
fn most() -> u64 {
    SlotRecord::MAX as u64
}

/// The record that is kept; `None` where something else is stored.
fn seen(reply: Reply) -> ParseResult<Option<StoredSlots>> {
    let mut fields = reply.fields()?;
    match fields.text()?.as_str() {
        "seen" => {
            let now = fields.number()?;
            if fields.0.len() == 0 {
                return Ok(Some(StoredSlots { text: None, now }));
            }
            // Records are text.
            let text = String::from_utf8(fields.bytes()?).ok();
            Ok(text.map(|text| StoredSlots { text: Some(text), now }))
        }
        "foreign" => Ok(None),
        _ => Err(ReplyError::Corrupt),
    }
}

/// What became of a write; `None` where something else is stored.
fn written(reply: Reply) -> ParseResult<Option<SlotsWritten>> {
    match reply.fields()?.text()?.as_str() {
        "written" => Ok(Some(SlotsWritten::Written)),
        "not-held" => Ok(Some(SlotsWritten::NotHeld)),
        "changed" => Ok(Some(SlotsWritten::Changed)),
        "foreign" => Ok(None),
        _ => Err(ReplyError::Corrupt),
    }
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
    fn a_record_is_seen_with_the_time_of_day() {
        let stored = |text: Option<&str>| {
            Some(StoredSlots { text: text.map(str::to_owned), now: 1_700_000_000_000_000 })
        };
        let now = Value::Int(1_700_000_000_000_000);
        let none = vec![text("seen"), now.clone()];
        assert_eq!(seen(reply(none)).unwrap(), stored(None));
        for kept in ["", "a record\n"] {
            let fields = vec![text("seen"), now.clone(), text(kept)];
            assert_eq!(seen(reply(fields)).unwrap(), stored(Some(kept)));
        }
        let no_text = vec![text("seen"), now, Value::Bytes(vec![0xff])];
        assert_eq!(seen(reply(no_text)).unwrap(), None);
        assert_eq!(seen(reply(vec![text("foreign")])).unwrap(), None);
    }

    #[test]
    fn a_write_is_done_or_not() {
        let told = |word: &str| written(reply(vec![text(word)])).unwrap();
        assert_eq!(told("written"), Some(SlotsWritten::Written));
        assert_eq!(told("not-held"), Some(SlotsWritten::NotHeld));
        assert_eq!(told("changed"), Some(SlotsWritten::Changed));
        assert_eq!(told("foreign"), None);
    }

    #[test]
    fn nonsense_is_no_answer() {
        for fields in [
            vec![],
            vec![text("seen")],
            vec![text("seen"), text("now")],
            vec![text("seen"), Value::Int(1), Value::Int(2)],
            vec![text("corrupt")],
            vec![Value::Int(3)],
        ] {
            assert!(matches!(seen(reply(fields.clone())), Err(ReplyError::Corrupt)));
            assert!(matches!(written(reply(fields)), Err(ReplyError::Corrupt)));
        }
    }
}
