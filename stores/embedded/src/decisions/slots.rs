//! Reading and writing the record of a name's slots.

use std::time::Duration;

use tenure_core::{
    Fault, LockName,
    proto::{
        Owner,
        queue::{DecisionContext, NameState},
    },
    store::{SlotsWrite, SlotsWritten, StoredSlots},
};

use crate::{
    decisions::decide::{CancelFlag, Decision, DecisionResult},
    disk::{patience::Backoff, slots::ReadBuffer},
    files::slot_records::{self, RecordPlace, RecordReplacement},
    inner::Inner,
};

/// How long a record may stay locked. Removing it takes microseconds.
const PATIENCE: Duration = Duration::from_secs(2);

impl Inner {
    /// Reads the record under the lock of its name, so that a write that was given up is over, or never happens.
    pub(crate) fn read_slots(
        &self,
        name: &LockName,
        given_up: &CancelFlag,
    ) -> Result<StoredSlots, Fault> {
        let ground = self.store_context();
        let read = Decision {
            decide: |_: &mut NameState, at: &DecisionContext<'_>| {
                let mut room = ReadBuffer::new();
                let read = slot_records::read(&ground, name, &mut room).map(|record| {
                    let kept = record.filter(|record| record.until > at.wall);
                    StoredSlots { text: kept.map(|record| record.text.to_owned()), now: at.wall }
                });
                Ok((read, Vec::new()))
            },
            creates: false,
            repairs: false,
        };
        self.decide_blocking(name, &read, given_up)?
    }

    /// Replaces the record of a name that `owner` holds alone. Blocks the thread while the disk syncs.
    pub(crate) fn write_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
        given_up: &CancelFlag,
    ) -> Result<SlotsWritten, Fault> {
        // Nothing is created for an owner that does not hold the name.
        let holds = self.decide_blocking(name, &when_held(owner, |_| ()), given_up)?;
        if holds.is_none() {
            return Ok(SlotsWritten::NotHeld);
        }
        let keep = u64::try_from(write.keep.as_micros()).unwrap_or(u64::MAX);
        let until = self.machine.clock().wall().saturating_add(keep);
        let place = RecordPlace::prepare(self.store_context(), name)?;
        let record = place.write(until, &write.text)?;
        let mut patience = Backoff::of(PATIENCE);
        loop {
            let replace = when_held(owner, |now| place.replace(&record, write, now));
            match self.decide_blocking(name, &replace, given_up)?.transpose()? {
                None => return Ok(SlotsWritten::NotHeld),
                Some(RecordReplacement::Done) => break,
                Some(RecordReplacement::Changed) => return Ok(SlotsWritten::Changed),
                Some(RecordReplacement::Locked) => {
                    let pause = patience.pause().ok_or_else(|| place.stays_locked())?;
                    std::thread::sleep(pause);
                }
            }
        }
        place.sync()?;
        Ok(SlotsWritten::Written)
    }
}

/// Does `work`, at this time of day, under the lock of a name that `owner` holds alone, and nothing otherwise.
fn when_held<T>(
    owner: &Owner,
    work: impl Fn(u64) -> T,
) -> Decision<impl Fn(&mut NameState, &DecisionContext<'_>) -> DecisionResult<Option<T>>> {
    Decision {
        decide: move |state: &mut NameState, at: &DecisionContext<'_>| {
            // The state stays as it is, so after the work there is nothing to write that can fail.
            let holds = state.clone().holds_alone(owner, at);
            Ok((holds.then(|| work(at.wall)), Vec::new()))
        },
        creates: false,
        repairs: false,
    }
}
