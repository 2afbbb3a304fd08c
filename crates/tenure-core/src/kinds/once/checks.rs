//! What is refused before the work of a slot begins, as it could never do what was asked for.

use std::time::Duration;

use tenure_proto::{
    schedule::{NamedSlot, Period, Slot, SlotId},
    time::in_range,
};

use super::{Once, Overlap};
use crate::{AcquireError, Fault, FaultKind, InspectError, LockName, error::OnceError};

/// The maximum length of a schedule's text in bytes: the longest record has room for it.
const LONGEST_TEXT: usize = 512;
/// The shortest time in which a slot may begin to run: with none, the first run would be too late.
const LEAST_WITHIN: Duration = Duration::from_millis(1);

impl Once {
    /// Refuses what the store cannot do, and settings with which no run could begin.
    pub(super) fn check(&self, name: &LockName) -> Result<(), OnceError> {
        let capabilities = self.target.context().store.capabilities();
        if let Some(reason) = capabilities.missing_slot_records() {
            return Err(self.refused(name, reason.into()).into());
        }
        let text = self.schedule.text();
        if !(1..=LONGEST_TEXT).contains(&text.len()) || text.contains(char::is_control) {
            let what = format!("a schedule cannot have the text {text:?}");
            let help = format!("choose 1 to {LONGEST_TEXT} bytes without control characters");
            let fault = Fault::new(FaultKind::Misconfigured, what, help);
            return Err(self.refused(name, fault).into());
        }
        if self.rules.tries == Some(0) {
            let what = "a slot of which no run may begin is never run";
            let fault = Fault::new(FaultKind::Misconfigured, what, "allow one try or more");
            return Err(self.refused(name, fault).into());
        }
        if let Some(within) = self.rules.retry_within {
            in_range("retry_within", within, LEAST_WITHIN, Period::MAX)
                .map_err(AcquireError::from)?;
        }
        if let Some((early, longest)) = self.early.zip(self.schedule.longest()) {
            in_range("early", early, Duration::ZERO, longest / 2).map_err(AcquireError::from)?;
        }
        Ok(())
    }

    /// Refuses a slot of this name or time, as the record would not be what is meant.
    pub(super) fn check_slot(&self, name: &LockName, slot: &Slot) -> Result<(), OnceError> {
        let fault = match &slot.id {
            SlotId::Named(_) if self.overlap == Overlap::Replace => {
                let what = "slots that have names have no order, so no run of one replaces that of \
                            another";
                let help = "leave out the replacement, or use slots that begin at a time";
                Fault::new(FaultKind::Misconfigured, what, help)
            }
            SlotId::Named(given) => match NamedSlot::new(given) {
                Ok(_) => return Ok(()),
                Err(bad) => {
                    let text = bad.to_string();
                    // The name may have a colon, too.
                    let (what, help) = text.rsplit_once(": ").unwrap_or((&text, ""));
                    Fault::new(FaultKind::Misconfigured, what, help)
                }
            },
            SlotId::At(_) => return Ok(()),
        };
        Err(self.refused(name, fault).into())
    }

    pub(super) fn no_slot(&self, name: &LockName) -> OnceError {
        let what = format!("the schedule {:?} has no slot now", self.schedule.text());
        let help = "choose a schedule that begins in the past, and goes on";
        self.refused(name, Fault::new(FaultKind::Misconfigured, what, help)).into()
    }

    pub(super) fn refused(&self, name: &LockName, fault: Fault) -> InspectError {
        InspectError::store(self.target.context().address(name), fault)
    }
}
