//! Asking for a name: by the script for one that nobody else is at, and by the larger one when somebody is.

use std::time::Duration;

use tenure_core::{
    Fault, LockName,
    proto::{
        queue::{Answer, Ask, Intent, Mode, QueueError},
        time::ceil_millis,
    },
};

use crate::{
    locks::{
        layout::{
            keys::{self, Key},
            reply::{Reply, part_granted},
            wire::{self, OwnerText},
        },
        optimistic,
        scripted::ScriptedMethod,
        scripts,
    },
    servers::BatchedReply,
};

impl ScriptedMethod {
    pub(crate) async fn ask(
        &self,
        name: &LockName,
        ask: &Ask,
        old: Option<&OwnerText>,
    ) -> Result<Answer, Fault> {
        if let Mode::Permits { take, of } = ask.mode
            && (take == 0 || take > of)
        {
            return Err(QueueError::Permits { take, of }.into());
        }
        let first =
            old.is_none() && matches!(ask.intent, Intent::Try | Intent::Wait { position: None });
        let crowded_names = &self.0.shared.crowded_names;
        if first && !crowded_names.contains(name) {
            let owner = wire::owner(&ask.owner);
            let mut call = self.0.call(name, &[Key::Lock, Key::Clock]);
            wire::add_ask_arguments(&mut call, &owner, ask);
            let answer = if matches!(ask.intent, Intent::Try) {
                // Who does not wait is told here who has it.
                call.argument(&[wire::encode_order_intent(ask).as_bytes()]);
                BatchedReply::Whole(self.0.run(&scripts::ACQUIRE_ALONE, &owner, call).await?)
            } else {
                self.0.run_batched(&scripts::ACQUIRES, &owner, call).await?
            };
            if let Some(answer) = self.answer_alone(ask, answer)? {
                return Ok(answer);
            }
            self.0.mark_crowded(name);
        }
        // Rarer and larger: in a box of its own it does not make every call large.
        Box::pin(self.ask_crowd(name, ask, old, first)).await
    }

    /// What an ask was answered that knew of nobody else; `None` when it met others.
    fn answer_alone(
        &self,
        ask: &Ask,
        answer: BatchedReply<Reply>,
    ) -> Result<Option<Answer>, Fault> {
        let refused = |refused| self.0.refused(refused);
        let (alone, mut answer) = match answer {
            BatchedReply::Whole(reply) if reply.is_crowd() => return Ok(None),
            BatchedReply::Whole(reply) => {
                (reply.is_alone(), reply.answer(ask.ttl).map_err(refused)?)
            }
            BatchedReply::Part(part) => match part_granted(part).map_err(refused)? {
                Some(token) => {
                    let left = Duration::from_millis(ceil_millis(ask.ttl));
                    (true, Answer::Granted { token, left, others_waiting: false })
                }
                None => return Ok(None),
            },
        };
        self.adjust_busy_answer(ask, &mut answer);
        if let Answer::Granted { token, .. } = answer {
            if alone && self.0.transport.compares() {
                self.0.shared.records.insert(ask, token);
            }
            self.0.listen();
        }
        Ok(Some(answer))
    }

    /// What an answer says of the holder, and when to ask again.
    fn adjust_busy_answer(&self, ask: &Ask, answer: &mut Answer) {
        let Answer::Busy { holder, retry_after, position, .. } = answer else { return };
        self.0.correct_grant_times(&mut *holder);
        // It has no position behind one without scripts, which tells nobody, and whose lease may be endless.
        if position.is_none() && matches!(ask.intent, Intent::Wait { .. }) {
            let ends = holder.as_ref().is_none_or(|holder| holder.left.is_some());
            *retry_after = if ends { optimistic::LOOK.min(*retry_after) } else { optimistic::LOOK };
        }
    }

    async fn ask_crowd(
        &self,
        name: &LockName,
        ask: &Ask,
        old: Option<&OwnerText>,
        first: bool,
    ) -> Result<Answer, Fault> {
        let owner = wire::owner(&ask.owner);
        let mut call = self.0.call(name, &keys::ALL);
        wire::add_ask_arguments(&mut call, &owner, ask)
            .argument(&[wire::encode_order_intent(ask).as_bytes()]);
        call.argument(&[wire::mode(ask.mode).as_bytes()]);
        call.argument(&[wire::encode_position(ask.intent).as_bytes()]);
        // Nobody is told who does not wait.
        let waits = matches!(ask.intent, Intent::Wait { .. });
        let channel = if waits { self.0.shared.watch.channel_of_waiters() } else { "" };
        call.argument(&[channel.as_bytes()]).argument(&[self.0.limits().as_bytes()]);
        if let Some(old) = old {
            call.argument(&[old]);
        }
        let reply = self.0.run(&scripts::ASK, &owner, call).await?;
        let (alone, finds_nobody) = (reply.is_alone(), reply.finds_nobody());
        let mut answer = reply.answer(ask.ttl).map_err(|refused| self.0.refused(refused))?;
        self.adjust_busy_answer(ask, &mut answer);
        if let Answer::Granted { .. } = answer {
            if !alone {
                self.0.shared.crowded_holds.insert(ask.owner);
            }
            if first && finds_nobody {
                self.0.shared.crowded_names.remove(name);
            }
        }
        if !matches!(answer, Answer::Busy { position: None, .. }) {
            self.0.listen();
        }
        Ok(answer)
    }
}
