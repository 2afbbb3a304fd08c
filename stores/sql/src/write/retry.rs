//! How a call goes on that others came before, until it has its turn.

use std::time::Duration;

use tenure_core::{LockName, proto::queue::NameState};
use tokio::time::{Instant, sleep};

use crate::{
    Database,
    random::random_part,
    row::reservation::Reservation,
    write::turn_policy::{RetryStep, RowReadTime, TurnPolicy},
};

/// One call among others that want to write the same row: what the policy says, carried out.
#[derive(Debug)]
pub(crate) struct WriteRetry(pub(crate) TurnPolicy);

impl WriteRetry {
    /// A call that ends by this time, and leaves the row to others until that one.
    pub(crate) fn new(until: Instant, yields_until: Instant) -> Self {
        Self(TurnPolicy::new(Instant::now(), until, yields_until))
    }

    /// How long to leave the row to others that come before this call, if it has to.
    pub(crate) fn yields_for(&self, reservations: &[Reservation], server: i64) -> Option<Duration> {
        self.0.yields_for(reservations, row_read_time(server))
    }

    /// It is left to others: how long until the next look, at once where it is reserved by now since that was so
    /// often enough.
    pub(crate) async fn after_yield<D: Database + ?Sized>(
        &mut self,
        (database, name): (&D, &LockName),
        reservations: &[Reservation],
        server: i64,
        took: (Duration, Duration),
    ) -> Duration {
        let step = self.0.after_yield(reservations, row_read_time(server), took);
        self.carry_out(step, (database, name), reservations, server).await
    }

    /// What was decided could not be written, and that took so long: how long until the next look.
    pub(crate) async fn after_loss<D: Database + ?Sized>(
        &mut self,
        (database, name): (&D, &LockName),
        reservations: &[Reservation],
        server: i64,
        took: Duration,
    ) -> Duration {
        let step = self.0.after_loss(reservations, row_read_time(server), took);
        self.carry_out(step, (database, name), reservations, server).await
    }

    /// The same for several rows, of which none is reserved. Whether to try again.
    pub(crate) async fn may_retry_several(&mut self, yields_for: Option<Duration>) -> bool {
        let Some(pause) = self.0.after_loss_of_several(Instant::now(), random_part()) else {
            return false;
        };
        sleep(yields_for.unwrap_or(pause)).await;
        true
    }

    /// What becomes of a reservation shows by the next look: it decides nothing, so a failure is no harm.
    async fn carry_out<D: Database + ?Sized>(
        &mut self,
        step: RetryStep,
        (database, name): (&D, &LockName),
        reservations: &[Reservation],
        server: i64,
    ) -> Duration {
        if let RetryStep::Retry(pause) = step {
            return pause;
        }
        let mut id = [0; 16];
        if self.0.has_id() || getrandom::fill(&mut id).is_ok() {
            let turn = self.0.reserve(reservations, server, id);
            let mut empty = Vec::new();
            NameState::default().write_to(&mut empty);
            let began = Instant::now();
            let _ = database.append(name, &empty, &turn.bytes()).await;
            self.0.note_reserving(began.elapsed());
        }
        Duration::ZERO
    }
}

fn row_read_time(server: i64) -> RowReadTime {
    RowReadTime { server, here: Instant::now(), random: random_part() }
}
