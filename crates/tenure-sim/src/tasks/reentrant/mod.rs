//! Scopes that enter a reentrant mutex again: from nested work, from tasks that carry the scope
//! over, and through a scope nested in another.

mod inside;
mod levels;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tenure_core::{
    AcquireError, Clock, LockName, ReleaseError, Scope,
    kinds::{Reentrant, ReentrantGuard},
    scope,
};
use tokio::task::JoinHandle;

use self::inside::ScopeContext;
use crate::check::GuardStatus;
use crate::{
    client::{AskIdentity, ProcessContext, STEP, Terms, acquire, loss_report, with_terms, write},
    limited::PollLimit,
};
use tenure_testkit::{Random, fault::Kind};

/// A scope acquires the name, enters it again in many ways, and lets it go level by level.
pub(super) async fn round(
    context: &Arc<ProcessContext>,
    index: u64,
    name: &LockName,
    terms: &Terms,
    random: &mut Random,
) {
    let lock = context.tenure.mutex(name.as_str()).reentrant();
    if random.happens(100) {
        let answer = lock.lock().await.map(drop);
        return context.stage.check.asked_without_scope(name, &answer);
    }
    let scope = Scope::new();
    // Some name the scope, the others run in it.
    let named = random.happens(500);
    let inside = Arc::new(ScopeContext {
        context: context.clone(),
        asked: AskIdentity::new(context, index, name),
        terms: *terms,
        lock: if named { lock.within(&scope) } else { lock },
        scope: scope.clone(),
        holds: Mutex::default(),
        outer: None,
    });
    let work = inside.begin(random);
    if named {
        work.await
    } else {
        scope.clone().run(work).await
    }
    context.stage.check.scope_is_empty(context.number, scope.holds());
}

impl ScopeContext {
    async fn begin(self: &Arc<Self>, random: &mut Random) {
        let (asked, mut apart) = (&self.asked, random.split());
        let first = async {
            let lock = with_terms!(self.lock.clone(), self.terms, &asked.label);
            let asking = ask(lock, self.terms.tries);
            let guard = acquire(&self.context, asked, &self.terms, asking, random).await;
            if let Some(guard) = guard {
                self.admit(guard, &self.terms).await;
            }
        };
        if apart.happens(200) {
            // Of two that ask at a time one asks the store, and the other enters.
            tokio::join!(first, self.enter(&mut apart));
        } else {
            first.await;
        }
        let mut tasks = Vec::new();
        for _ in 0..apart.below(6) {
            if self.holds().is_empty() {
                break;
            }
            match apart.below(8) {
                0..=2 => self.enter(&mut apart).await,
                3 => self.leave(&mut apart).await,
                4 => tasks.push(self.carry_over(&mut apart)),
                5 => self.others_are_kept_out(&mut apart).await,
                _ => self.stay(&mut apart).await,
            }
        }
        self.let_go(&mut apart).await;
        for task in tasks {
            let _ = task.await;
        }
    }

    /// Enters the lock again, or acquires it if the hold was lost meanwhile.
    async fn enter(&self, random: &mut Random) {
        let stage = &self.context.stage;
        let terms = self.inner_terms(random);
        let lock = with_terms!(self.lock.clone(), terms, &self.asked.label);
        let asking = ask(lock, terms.tries);
        let polls = random.happens(stage.habits.drops).then(|| random.below(8));
        let standing = self.standing();
        let Some(outcome) = PollLimit::new(Box::pin(asking), polls).await else {
            return stage.tally.count(Kind::EntryDropped);
        };
        if let Some((levels, before)) = standing {
            let entered = outcome.as_ref().ok().and_then(Option::as_ref);
            let entered = entered.map(|guard| (guard.token(), guard.deadline()));
            stage.check.entered(levels.hold(), before, entered);
        }
        match outcome {
            Ok(Some(guard)) => {
                stage.check.may_be_entered(guard.token(), guard.check().is_ok());
                self.admit(guard, &terms).await;
            }
            Ok(None) => {}
            Err(error) => stage.check.refused(&error),
        }
    }

    /// What an inner acquisition asks for: mostly less than the outer one.
    fn inner_terms(&self, random: &mut Random) -> Terms {
        let short = |random: &mut Random| Duration::from_millis(10 + random.below(50));
        let mut terms = Terms { fair: false, tries: random.happens(300), ..self.terms };
        if random.happens(500) {
            (terms.ttl, terms.max_hold) = (short(random), Some(short(random)));
            (terms.grace, terms.hold_at_least) = (Duration::ZERO, None);
        }
        terms
    }

    /// Lets go of one level, whichever it is.
    async fn leave(&self, random: &mut Random) {
        let (context, stage) = (&self.context, &self.context.stage);
        let Some(levels) = self.any_hold(random) else { return };
        let last = levels.depth() == 1;
        let held = levels.is_held();
        let valid = if last { stage.check.ended(levels.hold()) } else { held };
        let guard = {
            let mut guards = levels.lock();
            let index = usize::try_from(random.below(guards.len() as u64)).unwrap_or(0);
            guards.swap_remove(index)
        };
        if last {
            self.holds().retain(|other| other.depth() > 0);
        }
        if random.happens(600) {
            let polls = random.happens(stage.habits.drops).then(|| random.below(4));
            let (token, deadline) = (guard.token(), context.clock.true_at(guard.deadline()));
            match PollLimit::new(Box::pin(guard.release()), polls).await {
                None => stage.tally.count(Kind::ReleaseDropped),
                Some(Ok(())) if last => stage.check.released(levels.hold()),
                Some(Err(ReleaseError::Lost(_))) if valid => {
                    stage.check.release_lost(token, deadline);
                }
                Some(_) => {}
            }
        } else {
            drop(guard);
        }
        if !last {
            stage.check.left_a_level(levels.hold(), held, levels.is_held());
        }
    }

    /// Lets go of all levels, with pauses.
    async fn let_go(&self, random: &mut Random) {
        while !self.holds().is_empty() {
            self.leave(random).await;
            if random.happens(300) {
                self.stay(random).await;
            }
        }
    }

    /// A task goes on in this scope, or in one nested in it.
    fn carry_over(self: &Arc<Self>, random: &mut Random) -> JoinHandle<()> {
        let nested = random.happens(500);
        let scope = if nested { self.scope.nested() } else { self.scope.clone() };
        let inside = if nested {
            let lock = self.context.tenure.mutex(self.asked.name.as_str()).reentrant();
            Arc::new(Self {
                context: self.context.clone(),
                asked: AskIdentity::new(&self.context, 0, &self.asked.name),
                terms: self.terms,
                scope: scope.clone(),
                lock,
                holds: Mutex::default(),
                outer: Some(self.clone()),
            })
        } else {
            self.clone()
        };
        let mut random = random.split();
        self.context.spawn(scope.run(async move {
            inside.context.sleep(random.length(Duration::ZERO, Duration::from_millis(4))).await;
            for _ in 0..1 + random.below(2) {
                inside.enter(&mut random).await;
                inside.stay(&mut random).await;
                inside.leave(&mut random).await;
            }
            inside.let_go(&mut random).await;
        }))
    }

    /// Another scope in this one asks, or a plain guard; neither gets the lock while this one has
    /// it.
    async fn others_are_kept_out(&self, random: &mut Random) {
        let (context, stage) = (&self.context, &self.context.stage);
        let name = self.asked.name.as_str();
        let lock = context.tenure.mutex(name).ttl(self.terms.ttl);
        let before = self.standing();
        let got = if random.happens(500) {
            let lock = lock.reentrant();
            scope(async { lock.try_lock().await.map(|got| got.map(|guard| guard.token())) }).await
        } else {
            lock.try_lock().await.map(|got| got.map(|guard| guard.token()))
        };
        let still = before.filter(|(levels, _)| levels.is_held());
        match got {
            Ok(got) => {
                if let Some((levels, _)) = still {
                    stage.check.kept_out(levels.hold(), got);
                }
            }
            Err(error) => stage.check.refused(&error),
        }
    }

    /// Works for a while and watches for the loss of a hold.
    async fn stay(&self, random: &mut Random) {
        let (context, stage) = (&self.context, &self.context.stage);
        let longest = Duration::from_millis(if stage.habits.quick { 6 } else { 300 });
        let mut until = context.clock.now().saturating_add(random.length(Duration::ZERO, longest));
        let Some(levels) = self.any_hold(random) else { return };
        let Some(lost) = levels.lock().last().map(|guard| guard.lost()) else { return };
        tokio::pin!(lost);
        let mut told = levels.told_lost.get().is_some() || !levels.is_held();
        while (told || !stage.calm()) && levels.depth() > 0 && context.clock.now() < until {
            let step = random.length(STEP / 2, longest / 3 + STEP);
            let next = until.min(context.clock.now().saturating_add(step));
            tokio::select! {
                biased;
                why = &mut lost, if !told => {
                    told = true;
                    if levels.told_lost.set(()).is_ok() {
                        stage.check.told(levels.hold(), loss_report(context, &why));
                    }
                    // Some do not stop when they are told, so that a level that comes back is seen.
                    until = context.clock.now().saturating_add(random.length(Duration::ZERO, longest));
                }
                () = context.clock.sleep_until(next) => {}
            }
            if !told {
                stage.check.not_told(levels.hold(), context.resumed());
            }
            stage.check.levels_agree(levels.hold(), levels.agree());
            stage.check.look(&self.asked.name).await;
            let token = levels.is_held().then_some(levels.token);
            write(context, &self.asked.name, token, self.terms.ttl, random);
        }
    }
}

async fn ask(lock: Reentrant, tries: bool) -> Result<Option<ReentrantGuard>, AcquireError> {
    if tries { lock.try_lock().await } else { lock.lock().await.map(Some) }
}
