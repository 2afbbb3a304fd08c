//! Calls of several tasks that are ready together, made to one script.
//!
//! Half of what a short script costs a server is that it is one. So what is wanted while a write is
//! awaited goes out as one script with an answer for each; a call that is ready alone goes alone.

use std::sync::LazyLock;

use tokio::sync::oneshot;

use crate::client::{
    CorrelationId, Failure, HighestEpoch, Script, ScriptCall, ServerError, Value, protocol::call,
};

/// The server does nothing else meanwhile.
const MOST: usize = 32;

/// What a call is told.
#[derive(Debug)]
pub(crate) enum CallReply {
    /// The reply to it.
    Whole(Value),
    /// Its part of the reply to several calls.
    Part(Value),
    /// Why the server did not do what several were to be done by.
    Refused(Box<ServerError>),
}

pub(crate) type CallResult = Result<CallReply, Failure>;

pub(crate) type ReplySender = oneshot::Sender<CallResult>;

/// Calls that one script can make together.
#[derive(Debug)]
pub(crate) struct BatchKind {
    /// When it is written, among those of one connection.
    pub(crate) order: usize,
    /// What a call runs that is alone.
    pub(crate) alone: &'static LazyLock<Script>,
    /// What several run together.
    pub(crate) together: &'static LazyLock<Script>,
}

impl BatchKind {
    /// How many there are.
    pub(crate) const COUNT: usize = 2;
}

/// Calls of one kind that nobody has written yet.
#[derive(Default)]
pub(crate) struct Batch {
    kind: Option<&'static BatchKind>,
    calls: ScriptCall,
    /// Of the first of them.
    echo: CorrelationId,
    answers: Vec<ReplySender>,
}

impl Batch {
    pub(crate) fn add(
        &mut self,
        kind: &'static BatchKind,
        call: &ScriptCall,
        echo: &CorrelationId,
        answer: ReplySender,
    ) {
        self.kind = Some(kind);
        if self.answers.is_empty() {
            self.echo = *echo;
        }
        self.calls.append(call);
        self.answers.push(answer);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.answers.len() >= MOST
    }

    /// Writes them, and says whose answers are to come; `None` when there are none. `epoch` is for scripts
    /// that make tokens.
    pub(crate) fn write(
        &mut self,
        epoch: Option<&HighestEpoch>,
        out: &mut Vec<u8>,
    ) -> Option<ReplyRecipients> {
        let alone = self.answers.len() <= 1;
        let kind = self.kind?;
        let script = if alone { kind.alone } else { kind.together };
        let expected = if alone {
            ReplyRecipients::One(self.answers.pop()?)
        } else {
            ReplyRecipients::Many(self.echo, std::mem::take(&mut self.answers))
        };
        let epoch = epoch.filter(|_| script.makes_tokens);
        let ahead = epoch.map(HighestEpoch::argument).unwrap_or_default();
        self.calls.write(call::BY_DIGEST, &script.digest, &ahead, out);
        self.calls.clear();
        Some(expected)
    }

    /// Those who wait, when nothing will be written any more.
    pub(crate) fn give_up(&mut self) -> Vec<ReplySender> {
        std::mem::take(&mut self.answers)
    }
}

/// Whom a reply is for.
pub(crate) enum ReplyRecipients {
    One(ReplySender),
    /// The reply begins with this owner and has a part for each.
    Many(CorrelationId, Vec<ReplySender>),
}

impl ReplyRecipients {
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(_, answers) => answers.len(),
        }
    }

    /// Those who wait for it.
    pub(crate) fn answers(self) -> Vec<ReplySender> {
        match self {
            Self::One(answer) => vec![answer],
            Self::Many(_, answers) => answers,
        }
    }

    /// Tells each that it failed.
    pub(crate) fn fail(self, failure: &Failure) {
        for answer in self.answers() {
            // Whoever asked may be gone.
            let _ = answer.send(Err(failure.clone()));
        }
    }

    /// Gives each what is meant for it; `false` when the reply is to another call.
    pub(crate) fn tell(self, reply: Value) -> bool {
        // Whoever asked may be gone.
        match (self, reply) {
            (Self::One(answer), reply) => drop(answer.send(Ok(CallReply::Whole(reply)))),
            (Self::Many(_, answers), Value::Error(error)) => {
                for answer in answers {
                    let _ = answer.send(Ok(CallReply::Refused(error.clone())));
                }
            }
            (Self::Many(echo, answers), Value::Array(parts)) => {
                let ours = matches!(parts.first(), Some(Value::Bytes(told)) if *told == echo);
                if !ours || parts.len() != answers.len() + 1 {
                    return false;
                }
                for (answer, part) in answers.into_iter().zip(parts.into_iter().skip(1)) {
                    let _ = answer.send(Ok(CallReply::Part(part)));
                }
            }
            (Self::Many(..), _) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        client::HashTag,
        locks::scripts::{ACQUIRES, RELEASE_ALONE, RELEASE_MANY, RELEASES},
    };

    fn bytes(text: &[u8]) -> Value {
        Value::Bytes(text.to_vec())
    }

    fn gathered(
        kind: &'static BatchKind,
        count: u8,
    ) -> (Batch, Vec<oneshot::Receiver<CallResult>>) {
        let mut all = Batch::default();
        let told = (0..count).map(|number| {
            let (sender, told) = oneshot::channel();
            let mut call = ScriptCall::new(HashTag::default());
            call.key(&[b"key", &[b'0' + number]]).argument(&[b"argument", &[b'0' + number]]);
            all.add(kind, &call, &[b'0' + number; 32], sender);
            told
        });
        let told = told.collect();
        (all, told)
    }

    #[test]
    fn one_alone_is_written_as_if_nothing_were_gathered() {
        let (mut all, _told) = gathered(&RELEASES, 1);
        let mut out = Vec::new();
        assert!(matches!(all.write(None, &mut out), Some(ReplyRecipients::One(_))));
        let mut call = ScriptCall::new(HashTag::default());
        call.key(&[b"key0"]).argument(&[b"argument0"]);
        let mut alone = Vec::new();
        call.write("EVALSHA", &RELEASE_ALONE.digest, "", &mut alone);
        assert_eq!(out, alone);
        assert!(all.is_empty() && all.write(None, &mut out).is_none());
        assert_eq!(out, alone);
    }

    #[test]
    fn several_are_one_call_with_all_keys_before_all_arguments() {
        let (mut all, _told) = gathered(&RELEASES, 2);
        let mut out = Vec::new();
        assert_eq!(all.write(None, &mut out).map(|expected| expected.count()), Some(2));
        let mut call = ScriptCall::new(HashTag::default());
        call.key(&[b"key0"]).key(&[b"key1"]).argument(&[b"argument0"]).argument(&[b"argument1"]);
        let mut together = Vec::new();
        call.write("EVALSHA", &RELEASE_MANY.digest, "", &mut together);
        assert_eq!(out, together);
    }

    #[test]
    fn each_is_told_its_part() {
        let (mut all, told) = gathered(&ACQUIRES, 2);
        let expected = all.write(None, &mut Vec::new()).unwrap();
        let reply = Value::Array(vec![bytes(&[b'0'; 32]), bytes(b"12"), Value::Nil]);
        assert!(expected.tell(reply));
        let told: Vec<_> = told.into_iter().map(|mut told| told.try_recv().unwrap()).collect();
        assert!(matches!(&told[0], Ok(CallReply::Part(part)) if *part == bytes(b"12")));
        assert!(matches!(&told[1], Ok(CallReply::Part(Value::Nil))));
    }

    #[test]
    fn a_reply_to_others_is_for_nobody() {
        let echo = || bytes(&[b'0'; 32]);
        for reply in [
            Value::Array(vec![bytes(&[b'1'; 32]), bytes(b"12"), Value::Nil]),
            Value::Array(vec![echo(), bytes(b"12")]),
            Value::Array(vec![echo(), bytes(b"12"), Value::Nil, Value::Nil]),
            Value::Array(vec![]),
            echo(),
            Value::Int(1),
        ] {
            let (mut all, told) = gathered(&ACQUIRES, 2);
            let expected = all.write(None, &mut Vec::new()).unwrap();
            assert!(!expected.tell(reply));
            for mut told in told {
                assert!(told.try_recv().is_err());
            }
        }
    }
}
