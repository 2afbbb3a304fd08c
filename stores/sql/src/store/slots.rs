//! The records of slots, which a table of their own keeps beside the rows of the locks.

use tenure_core::{Fault, FaultKind, LockName, store::StoredSlots};

use crate::{Database, SlotsSnapshot, SqlStore};

impl<D: Database + ?Sized> SqlStore<D> {
    pub(crate) async fn slots(&self, name: &LockName) -> Result<StoredSlots, Fault> {
        let SlotsSnapshot { now, record } = self.0.read_slots(name).await?;
        let text = record.map(String::from_utf8).transpose().map_err(|_| self.no_text(name))?;
        Ok(StoredSlots { text, now: u64::try_from(now).unwrap_or_default() })
    }

    fn no_text(&self, name: &LockName) -> Fault {
        let (name, location) = (name.as_str(), self.0.location());
        let what = format!(
            "the record of the slots of {name:?} in {location} makes no sense; another program may have written it"
        );
        let help = "inspect it, and delete it if what its slots stand for may run again";
        Fault::new(FaultKind::Corrupt, what, help)
    }
}
