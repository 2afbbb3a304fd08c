//! Holds: how they begin, what they are worth while they last, and how they end.

use std::sync::Arc;

use tenure_core::{
    Clock, Guard, LockName, LostReason, Timestamp,
    proto::{local::turn, queue::Mode},
};

use super::{
    Checker, LossReport, ReportedHold,
    checker::{State, TICK},
    together::may_be_together,
    view::LeaseSnapshot,
    watched::HoldRecord,
};

impl Checker {
    /// A task got a guard. Answers what the hold is called from then on.
    pub async fn acquired(&self, watched: ReportedHold) -> usize {
        let name = watched.name.clone();
        let hold = self.begins(watched);
        self.look(&name).await;
        hold
    }

    fn begins(&self, watched: ReportedHold) -> usize {
        let now = self.clock.now();
        let mut state = self.lock();
        let (name, token, process) = (watched.name.clone(), watched.token, watched.process);
        let mode = watched.mode;
        state.history.record(now, format_args!("process {process}: holds {name} with {token}"));
        state.counts.holds += 1;
        state.counts.readers += u64::from(mode == Mode::Shared);
        state.counts.permits += u64::from(matches!(mode, Mode::Permits { .. }));
        let hold = HoldRecord {
            watched,
            began: now,
            failed: false,
            gone: false,
            // Who holds several names is told of the first when it has the last.
            orphaned: state.forgotten.has(&name, token),
            ended: None,
            released: None,
        };
        let valid = hold.valid();
        let (lossless, apart) = (self.lossless(&state), self.keeper.tells_readers_apart());
        if let Some(wrong) = state.tokens.begins(&name, token, mode, valid && lossless, apart) {
            self.broken(&mut state, "S2", wrong);
        }
        if let Some(wrong) = state.queues.begins(&hold.watched, now) {
            self.broken(&mut state, "S8", wrong);
        }
        if token.pass() == 0 {
            if !valid {
                self.broken(&mut state, "S3", format!("{token} was over when it was granted"));
            }
            let began = hold.watched.clock.now();
            state.tokens.granted(&name, token, began);
        } else {
            state.counts.passes += 1;
            if let Some(wrong) = too_long(&state, &hold) {
                self.broken(&mut state, "S8", wrong);
            }
        }
        state.holds.push(hold);
        state.holds.len() - 1
    }

    /// Looks at all holds of a name, and at what the store keeps of it.
    pub async fn look(&self, name: &LockName) {
        let snapshot = self.keeper.kept(name).await;
        let now = self.clock.now();
        let view = LeaseSnapshot::new(&snapshot, now);
        let mut state = self.lock();
        let (lossless, apart) = (self.lossless(&state), self.keeper.tells_readers_apart());
        let (mut valid, mut modes) = (Vec::new(), Vec::new());
        let mut wrong = Vec::new();
        for hold in state.holds.iter_mut().filter(|hold| hold.watched.name == *name) {
            if hold.ended.is_some() {
                continue;
            }
            let has = view.has(hold);
            // What has its token may be the hold of another reader.
            let its_own = hold.watched.mode == Mode::Exclusive || apart;
            if has && hold.gone && its_own {
                wrong.push(("S7", format!("the lease of {} came back", hold.watched.token)));
            }
            hold.gone |= !has;
            hold.orphaned |= !has && !lossless;
            if !hold.valid() {
                hold.failed = true;
                continue;
            }
            if hold.failed {
                wrong.push(("S3", format!("the lost hold {} came back", hold.watched.token)));
            }
            if lossless && !hold.orphaned {
                wrong.extend(view.lease_violation(hold).map(|what| ("S3", what)));
            }
            valid.push(hold.watched.token);
            modes.push(hold.watched.mode);
        }
        if !may_be_together(&modes) {
            if lossless {
                wrong.push(("S1", format!("{name} is held together by {valid:?}, {modes:?}")));
            }
            state.counts.overlaps += 1;
        }
        for (promise, what) in wrong {
            self.broken(&mut state, promise, what);
        }
    }

    /// A task was told that its hold is lost.
    pub fn told(&self, hold: usize, told: LossReport) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.counts.losses += 1;
        let Some(lost) = state.holds.get(hold) else { return };
        let token = lost.watched.token;
        let deadline = lost.deadline().unwrap_or(now);
        let (ttl, trouble) = (lost.watched.ttl, told.last_trouble.max(lost.began));
        let orphaned = lost.orphaned;
        state.history.record(now, format_args!("{token} is lost: {:?}", told.reason));
        let resumed_late = told.resumed >= deadline;
        if now > deadline.saturating_add(TICK) && !resumed_late {
            let late = now.since(deadline);
            self.broken(&mut state, "S3", format!("{token} was told lost {late:?} too late"));
        }
        let calm = deadline.since(trouble) > ttl * 6 / 10 + TICK * 10;
        let lossless = self.lossless(&state) && !orphaned;
        if told.reason != LostReason::MaxHold && calm && lossless {
            let why = told.reason;
            let what = format!("{token} was lost ({why:?}) although all went well for long");
            self.broken(&mut state, "S7", what);
        }
    }

    /// A task that waits for the loss of its hold, in a process that was last resumed at `resumed`,
    /// has not been told of any.
    pub fn not_told(&self, hold: usize, resumed: Timestamp) {
        let now = self.clock.now();
        let mut state = self.lock();
        let Some(hold) = state.holds.get(hold) else { return };
        let (token, deadline) = (hold.watched.token, hold.deadline());
        let late =
            |deadline: &Timestamp| resumed < *deadline && now > deadline.saturating_add(TICK);
        if deadline.as_ref().is_some_and(late) {
            let what = format!("nobody was told that {token} is lost");
            self.broken(&mut state, "S3", what);
        }
    }

    /// A writer lets readers in. Until it is told what came of that, it does not act.
    pub fn downgrades(&self, hold: usize) {
        let now = self.clock.now();
        let mut state = self.lock();
        if let Some(hold) = state.holds.get_mut(hold) {
            hold.ended = Some(now);
        }
    }

    /// A writer goes on, as a reader or as the writer it was.
    pub async fn goes_on(&self, hold: usize, guard: &Arc<Guard>, mode: Mode) {
        self.change(hold, guard, mode);
        self.look(guard.name()).await;
    }

    fn change(&self, hold: usize, guard: &Arc<Guard>, mode: Mode) {
        let now = self.clock.now();
        let mut state = self.lock();
        let token = guard.token();
        state.history.record(now, format_args!("{token} goes on, {mode:?}"));
        state.counts.downgrades += u64::from(mode == Mode::Shared);
        let Some(hold) = state.holds.get_mut(hold) else { return };
        let before = hold.watched.token;
        hold.watched.guard = Arc::downgrade(guard) as _;
        (hold.watched.mode, hold.ended) = (mode, None);
        if token != before {
            self.broken(&mut state, "S2", format!("{before} became {token} by a downgrade"));
        }
    }

    /// A hold is over. Answers whether it was valid to the end. What is left of the time that it was to last at least, nobody else has the
    /// name.
    pub fn ended(&self, hold: usize) -> bool {
        let now = self.clock.now();
        let mut state = self.lock();
        let State { holds, queues, .. } = &mut *state;
        let Some(hold) = holds.get_mut(hold) else { return false };
        let valid = hold.valid();
        if valid && hold.watched.mode == Mode::Exclusive {
            // A clock that runs fast counts up to 1 % less.
            let kept = hold.watched.hold_at_least * 98 / 100;
            queues.kept_until(&hold.watched.name, hold.began.saturating_add(kept));
        }
        hold.ended = Some(now);
        valid
    }

    /// The release of a hold was confirmed.
    pub fn released(&self, hold: usize) {
        let now = self.clock.now();
        if let Some(hold) = self.lock().holds.get_mut(hold) {
            hold.released = Some(now);
        }
    }
}

/// What is wrong with how long a lease was passed on inside its process, if anything is.
///
/// It was passed on when the hold before it ended. The task may take it later: it has its claim window.
fn too_long(state: &State, hold: &HoldRecord) -> Option<String> {
    let ReportedHold { name, token, clock, .. } = &hold.watched;
    if token.pass() > u64::from(turn::PASSES) {
        return Some(format!("{token} is pass {} of its turn", token.pass()));
    }
    let granted = clock.true_at(state.tokens.granted_at(name, *token)?);
    let before = state.holds.iter().filter(|other| {
        let other = &other.watched;
        other.name == *name && other.token < *token && other.token.time() == token.time()
    });
    let length = before.filter_map(|before| before.ended).max()?.since(granted);
    (length > turn::LENGTH + TICK)
        .then(|| format!("{token} was passed on {length:?} after its turn began"))
}
