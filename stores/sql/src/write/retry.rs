//! How a call goes on that others came before, until it has its turn.

use std::time::Duration;

use tenure_core::{LockName, proto::queue::NameState};
use tokio::time::{Instant, sleep};

use crate::{
    Database, RowSnapshot,
    random::random_part,
    row::reservation::{HORIZON, Reservation, moved_up},
};

/// So often, and for this part of the time that it has, a call is content to lose, or to leave the row to others,
/// before it reserves it. Among those who are as near as it is, each gets through sooner: a line, where one after the
/// other looks and writes, is slower for all of them, and would never end if those who stand in it joined it again.
const CONTENT: (u32, u32) = (4, 4);
/// The longest that this is, however much time it has.
const LONG: Duration = Duration::from_secs(2);
/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest pause while the row is reserved for others.
const LOOK: Duration = Duration::from_millis(100);
/// For how long a call leaves the row to others, whatever the server's clock does meanwhile.
pub(crate) const YIELDS: Duration = Duration::from_secs(3);
/// A turn is so many times as long as a look and a write together took at the shortest: what comes on top where many
/// are in each other's way is less while they leave the row alone.
const TIMES: u32 = 4;
const SHORTEST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);
/// How often a call reserves the row: once more where its first turn was over before it was there. A reservation waits
/// for whoever writes, and one write after the other of those who only want to write would be all that is written.
const RESERVES: u32 = 2;
/// Nobody joins a line that is longer.
const LINE: usize = 8;

/// One call among others that want to write the same row.
#[derive(Debug)]
pub(crate) struct WriteRetry {
    began: Instant,
    until: Instant,
    /// Until when it leaves the row to those for whom it is reserved.
    yields_until: Instant,
    /// How often it was in vain.
    tries: u32,
    /// How long a look and a write took at the shortest.
    took: Option<Duration>,
    /// How long its own reservation took to be there.
    reserving: Duration,
    /// How often it has reserved the row.
    reserved: u32,
    id: Option<[u8; 16]>,
}

impl WriteRetry {
    /// A call that ends by this time, and leaves the row to others until that one.
    pub(crate) fn new(until: Instant, yields_until: Instant) -> Self {
        Self {
            began: Instant::now(),
            until,
            yields_until,
            tries: 0,
            took: None,
            reserving: Duration::ZERO,
            reserved: 0,
            id: None,
        }
    }

    /// The same for others, who end by this time.
    pub(crate) fn ends_by(&mut self, until: Instant) {
        self.until = until;
    }

    /// The same for another call, which leaves the row to others until this time and has lost nothing yet.
    pub(crate) fn begins_again(&mut self, yields_until: Instant) {
        (self.began, self.yields_until) = (Instant::now(), yields_until);
        (self.tries, self.reserved) = (0, 0);
    }

    fn is_own(&self, turn: &Reservation) -> bool {
        self.id == Some(turn.id)
    }

    /// Whether the row is reserved for this very call, so that nothing of it must be left.
    pub(crate) fn has_reserved(&self, line: &[Reservation]) -> bool {
        line.iter().any(|turn| self.is_own(turn))
    }

    /// The others for whom it stays reserved.
    pub(crate) fn others(&self, line: &[Reservation], now: i64) -> Vec<Reservation> {
        moved_up(line, now, |turn| !self.is_own(turn))
    }

    /// How long to leave it to others that stand before this call, if it has to.
    pub(crate) fn leaves(&self, line: &[Reservation], now: i64) -> Option<Duration> {
        if Instant::now() >= self.yields_until {
            return None;
        }
        let before = line
            .iter()
            .filter(|turn| turn.is_live(now))
            .take_while(|turn| !self.is_own(turn))
            .map(|turn| Duration::from_micros(turn.length.into()));
        // They take a part of their turns if all goes well. Who comes later need not look that often.
        let before: Duration = before.sum();
        (!before.is_zero()).then(|| {
            let pause = (before / (2 * TIMES)).mul_f64(0.5 + random_part());
            pause.clamp(Duration::from_millis(1), LOOK)
        })
    }

    /// It is left to others: how long until the next look, at once where it stands in line by now since that was so
    /// often enough.
    pub(crate) async fn leave<D: Database + ?Sized>(
        &mut self,
        database: &D,
        name: &LockName,
        snapshot: &RowSnapshot,
        line: &[Reservation],
        (looked, pause): (Duration, Duration),
    ) -> Duration {
        self.tries += 1;
        // Of the first try the look was made before.
        if self.tries > 1 {
            self.note_fastest(looked * 2);
        }
        if self.may_reserve(line, snapshot.now) {
            self.reserve(database, name, line, snapshot.now).await;
            return Duration::ZERO;
        }
        pause
    }

    /// What was decided could not be written, and that took so long: how long until the next look.
    pub(crate) async fn lost<D: Database + ?Sized>(
        &mut self,
        database: &D,
        name: &LockName,
        snapshot: &RowSnapshot,
        line: &[Reservation],
        took: Duration,
    ) -> Duration {
        self.tries += 1;
        if self.tries > 1 {
            self.note_fastest(took);
        }
        if self.may_reserve(line, snapshot.now) {
            self.reserve(database, name, line, snapshot.now).await;
            return Duration::ZERO;
        }
        self.pause()
    }

    /// The same, for several rows, of which none is reserved. Whether to try again.
    pub(crate) async fn again(&mut self, pause: Option<Duration>) -> bool {
        self.tries += 1;
        if self.tries >= 2 * CONTENT.0 || Instant::now() >= self.until {
            return false;
        }
        sleep(pause.unwrap_or_else(|| self.pause())).await;
        true
    }

    fn note_fastest(&mut self, took: Duration) {
        self.took = Some(self.took.map_or(took, |shortest| shortest.min(took)));
    }

    fn may_reserve(&self, line: &[Reservation], now: i64) -> bool {
        let (times, part) = CONTENT;
        let content = LONG.min((self.until - self.began) / part);
        let has_lost_enough = self.tries >= times && self.began.elapsed() >= content;
        has_lost_enough && self.reserved < RESERVES && line.len() < LINE && !self.stands(line, now)
    }

    fn stands(&self, line: &[Reservation], now: i64) -> bool {
        line.iter().any(|turn| self.is_own(turn) && turn.is_live(now))
    }

    /// Ever longer, and never the same for two who met.
    fn pause(&self) -> Duration {
        if self.tries <= 1 {
            return Duration::ZERO;
        }
        PAUSE.min(Duration::from_millis(1) * self.tries).mul_f64(random_part())
    }

    /// What becomes of it shows by the next look: it decides nothing, so a failure is no harm.
    async fn reserve<D: Database + ?Sized>(
        &mut self,
        database: &D,
        name: &LockName,
        line: &[Reservation],
        now: i64,
    ) {
        let mut id = self.id.unwrap_or_default();
        if self.id.is_none() && getrandom::fill(&mut id).is_err() {
            return;
        }
        // A try that was lost says nothing of how long a write takes to be on the disk.
        let took = self.took.unwrap_or_default().max(self.reserving);
        let length = (took * TIMES).clamp(SHORTEST, LONGEST.min(HORIZON));
        let turn = Reservation::behind(line, id, now, length);
        let mut empty = Vec::new();
        NameState::default().write_to(&mut empty);
        // Also where no answer comes: it may be there.
        self.id = Some(id);
        self.reserved += 1;
        let began = Instant::now();
        let _ = database.append(name, &empty, &turn.bytes()).await;
        self.reserving = began.elapsed();
    }
}
