//! Whether a line has room: who comes where others were just refused looks before a node is made.

use std::time::Duration;

use tenure_core::{Clock, Fault, SystemClock, Timestamp, proto::queue::Kind};

use crate::{asking::Asking, error, full::Room, line::Line, node::Base};

/// How long the number of a directory's children tells how many wait there, once these were seen to be contenders.
const COUNTS: Duration = Duration::from_secs(1);

impl Asking<'_> {
    /// Refuses one who has no place yet, without making a node, where others were refused a moment ago and the line is
    /// still full.
    pub(crate) async fn refuse_if_full(&self) -> Result<(), Fault> {
        let (dir, kind) = (self.place.line(self.base), self.base.kind());
        let lines = &self.shared.full;
        let Some(line) = lines.remembered(&dir, kind, SystemClock.now()) else { return Ok(()) };
        if line.has_room(|counts_until| self.look_for_room(&dir, counts_until)).await? {
            return Ok(());
        }
        line.refuses(SystemClock.now());
        Err(error::full(self.shared.options.max_waiters))
    }

    /// Takes the place back of one who found the line full.
    pub(crate) async fn is_full(&self) -> Fault {
        self.shared.full.remember(&self.place.line(self.base), self.base.kind(), SystemClock.now());
        match self.shared.let_go(self.session, &self.ask.owner).await {
            Ok(()) => error::full(self.shared.options.max_waiters),
            Err(fault) => fault,
        }
    }

    /// How much room there is, and until when the number of children tells that.
    async fn look_for_room(
        &self,
        dir: &str,
        counts_until: Timestamp,
    ) -> Result<(Room, Timestamp), Fault> {
        let max_waiters = self.shared.options.max_waiters;
        let Some(stat) = self.session.stat(dir).await? else {
            return Ok((Room::ForAll, counts_until));
        };
        let children = usize::try_from(stat.num_children).unwrap_or(0);
        let now = SystemClock.now();
        if now < counts_until {
            let waiting =
                if self.base == Base::Lease { children } else { children.saturating_sub(1) };
            return Ok((Room::of(waiting, max_waiters), counts_until));
        }
        let line = self.list(dir).await?;
        // The inner mutex of a semaphore is a mutex.
        let kind = if self.base == Base::Lease { Kind::Mutex } else { self.base.kind() };
        if !line.unknown().is_empty() || line.other_than(kind).is_some() {
            return Ok((Room::ForAll, counts_until));
        }
        // Others hold a name together.
        let counts = kind != Kind::ReadWrite && !line.has_permits();
        let until = if counts { now.saturating_add(COUNTS) } else { now };
        Ok((Room::of(self.waiting_in(&line), max_waiters), until))
    }

    /// How many wait; who has the inner mutex of a semaphore waits, too.
    fn waiting_in(&self, line: &Line) -> usize {
        if self.base == Base::Lease { line.nodes().len() } else { line.waiting().len() }
    }
}
