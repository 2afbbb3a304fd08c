//! Who writes a row that many want to write, who yields to whom, and for how long. Pure.
//!
//! 1. Every call reads the row, decides, and writes on the condition that nobody wrote meanwhile. Whoever is nearest to
//!    the database wins, and the others try again after a short pause. That is the fastest for all while nobody starves.
//! 2. A call that has lost [`TOLERATED`] tries, for a [`PART`] of its time, **reserves** the row by a write that cannot lose.
//! 3. Whoever reads a reservation before its own **yields**: it writes nothing, and looks again in a while. Only a change
//!    that others wait for does not yield.
//! 4. A turn is as long as [`TIMES`] of the call's fastest tries, so that one that died delays the others by that alone. The
//!    next turn of a call that lost its own is twice as long.
//! 5. No call yields for longer than [`YIELDS`], whatever the server's clock does.
//!
//! A reservation does what `SELECT … FOR UPDATE` would, and leaves no transaction open between two statements: a client
//! that freezes or dies would keep the row locked for all until the server notices.
//!
//! In the simulation beside this file no call loses for as long as its limit, at 2, 16 and 64 writers near and far, over ways
//! that always take as long and over ways that do not. It fails where no call reserves, or only once or twice, where none
//! yields, where a turn is as long as one try, and where the next turn is no longer.

use std::time::Duration;

use tokio::time::Instant;

use crate::row::reservation::{HORIZON, Reservation, retain_and_advance};

#[cfg(test)]
mod simulation;

/// How many tries a call loses before it reserves the row.
const TOLERATED: u32 = 4;
/// It loses for this part of its time, too, and at most for so long: a queue of turns is slower for all than tries are.
const PART: u32 = 4;
const TOLERATED_FOR: Duration = Duration::from_secs(2);
/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest pause while the row is reserved for others.
const LOOK: Duration = Duration::from_millis(100);
/// For how long a call leaves the row to others, whatever the server's clock does meanwhile.
pub(crate) const YIELDS: Duration = Duration::from_secs(3);
/// A turn is so many times as long as a look and a write together took at the shortest: what comes on top where many
/// are in each other's way is less while they leave the row alone.
const TIMES: u32 = 4;
/// A turn is within these: what a quick call is held up by on a busy machine, and what one that died may cost the others.
const TURN: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];
/// How often a call reserves the row, each time for twice as long: its turn was over before it was there, as where ways
/// take longer than they did at the shortest. A reservation waits for whoever writes, and one write after the other of
/// those who only want to write would be all that is written.
const RESERVES: u32 = 3;
/// No call reserves a row that so many have reserved.
const RESERVED: usize = 8;

/// What a call does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryStep {
    /// It tries again after this pause.
    Retry(Duration),
    /// It reserves the row, and tries again at once.
    Reserve,
}

/// When an attempt looked at the row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowReadTime {
    /// By the server's clock, in microseconds since 1970.
    pub(crate) server: i64,
    pub(crate) here: Instant,
    /// From zero to one: no two calls that met pause for as long.
    pub(crate) random: f64,
}

/// One call among others that want to write the same row.
#[derive(Debug)]
pub(crate) struct TurnPolicy {
    began: Instant,
    until: Instant,
    /// Until when it leaves the row to those for whom it is reserved.
    yields_until: Instant,
    /// How often it was in vain.
    tries: u32,
    /// How long a look and a write took at the shortest.
    fastest: Option<Duration>,
    /// How long its own reservation took to be there.
    reserving: Duration,
    /// How often it has reserved the row.
    reserved: u32,
    /// How often its next turn is doubled.
    doubled: u32,
    id: Option<[u8; 16]>,
}

impl TurnPolicy {
    /// A call that ends by this time, and leaves the row to others until that one.
    pub(crate) const fn new(began: Instant, until: Instant, yields_until: Instant) -> Self {
        Self {
            began,
            until,
            yields_until,
            tries: 0,
            fastest: None,
            reserving: Duration::ZERO,
            reserved: 0,
            doubled: 0,
            id: None,
        }
    }

    /// The same for others, who end by this time.
    pub(crate) const fn set_end(&mut self, until: Instant) {
        self.until = until;
    }

    /// The same for another call, which began at this time and was tried together with the one before. What they lost
    /// together counts: in a process whose calls come all the time, each has only a moment left when the one before fails.
    pub(crate) const fn go_on_for(&mut self, began: Instant, yields_until: Instant) {
        (self.began, self.yields_until) = (began, yields_until);
        self.reserved = 0;
    }

    fn is_own(&self, turn: &Reservation) -> bool {
        self.id == Some(turn.id)
    }

    /// Whether the row is reserved for this very call, so that nothing of it must be left.
    pub(crate) fn has_reserved(&self, reservations: &[Reservation]) -> bool {
        reservations.iter().any(|turn| self.is_own(turn))
    }

    /// The others for whom it stays reserved.
    pub(crate) fn others(&self, reservations: &[Reservation], server: i64) -> Vec<Reservation> {
        retain_and_advance(reservations, server, |turn| !self.is_own(turn))
    }

    /// How long to leave it to others whose turn is before that of this call, if it has to.
    pub(crate) fn yields_for(
        &self,
        reservations: &[Reservation],
        look: RowReadTime,
    ) -> Option<Duration> {
        if look.here >= self.yields_until {
            return None;
        }
        let before = reservations
            .iter()
            .filter(|turn| turn.is_live(look.server))
            .take_while(|turn| !self.is_own(turn))
            .map(|turn| Duration::from_micros(turn.length.into()));
        // They take a part of their turns if all goes well. Who comes later need not look that often.
        let before: Duration = before.sum();
        (!before.is_zero()).then(|| {
            let pause = (before / (2 * TIMES)).mul_f64(0.5 + look.random);
            pause.clamp(Duration::from_millis(1), LOOK)
        })
    }

    /// The row was left to others after a look that took so long.
    pub(crate) fn after_yield(
        &mut self,
        reservations: &[Reservation],
        look: RowReadTime,
        (looked, pause): (Duration, Duration),
    ) -> RetryStep {
        self.count(looked * 2);
        if self.may_reserve(reservations, look) {
            RetryStep::Reserve
        } else {
            RetryStep::Retry(pause)
        }
    }

    /// What was decided could not be written, and that took so long.
    pub(crate) fn after_loss(
        &mut self,
        reservations: &[Reservation],
        look: RowReadTime,
        took: Duration,
    ) -> RetryStep {
        self.count(took);
        if self.may_reserve(reservations, look) {
            return RetryStep::Reserve;
        }
        RetryStep::Retry(self.pause(look.random))
    }

    /// The same for several rows, of which none is reserved: the pause, if it is tried again.
    pub(crate) fn after_loss_of_several(&mut self, now: Instant, random: f64) -> Option<Duration> {
        self.tries += 1;
        let is_over = self.tries >= 2 * TOLERATED || now >= self.until;
        (!is_over).then(|| self.pause(random))
    }

    /// Of the first try the look was made before.
    fn count(&mut self, took: Duration) {
        self.tries += 1;
        if self.tries > 1 {
            self.note_fastest(took);
        }
    }

    fn note_fastest(&mut self, took: Duration) {
        self.fastest = Some(self.fastest.map_or(took, |fastest| fastest.min(took)));
    }

    fn may_reserve(&self, reservations: &[Reservation], look: RowReadTime) -> bool {
        let tolerated = TOLERATED_FOR.min((self.until - self.began) / PART);
        let has_lost_enough =
            self.tries >= TOLERATED && look.here.saturating_duration_since(self.began) >= tolerated;
        let has_turn =
            reservations.iter().any(|turn| self.is_own(turn) && turn.is_live(look.server));
        has_lost_enough && self.reserved < RESERVES && reservations.len() < RESERVED && !has_turn
    }

    /// Ever longer, and never the same for two who met.
    fn pause(&self, random: f64) -> Duration {
        if self.tries <= 1 {
            return Duration::ZERO;
        }
        PAUSE.min(Duration::from_millis(1) * self.tries).mul_f64(random)
    }

    /// Whether it has reserved the row before, by an id that stays its own.
    pub(crate) const fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// The reservation to write, by this id unless it has one already.
    pub(crate) fn reserve(
        &mut self,
        reservations: &[Reservation],
        server: i64,
        id: [u8; 16],
    ) -> Reservation {
        // A try that was lost says nothing of how long a write takes to be on the disk.
        let took = self.fastest.unwrap_or_default().max(self.reserving);
        let [shortest, longest] = TURN;
        let length = (took * TIMES * 2_u32.pow(self.doubled)).clamp(shortest, longest.min(HORIZON));
        // Also where no answer comes: it may be there.
        self.reserved += 1;
        self.doubled = (self.doubled + 1).min(RESERVES - 1);
        Reservation::after_all(reservations, *self.id.get_or_insert(id), server, length)
    }

    /// The reservation took so long to be written.
    pub(crate) const fn note_reserving(&mut self, took: Duration) {
        self.reserving = took;
    }
}
