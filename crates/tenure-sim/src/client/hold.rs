//! One hold: it works, is watched, and ends in one of many ways.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    Clock, DowngradeError, Guard, LockName, ReleaseError, Token, WriteGuard, proto::queue::Mode,
};

use super::{
    CrashPoint, LockKind, ProcessContext, Terms,
    detached::detach,
    told::{loss_report, report_hold},
};
use crate::PollLimit;
use tenure_testkit::{Random, fault::Kind};

pub(crate) const STEP: Duration = Duration::from_millis(2);
const MOST: Duration = Duration::from_secs(1);

/// Holds all of `guards` for a while each and lets them go. A stage has two names at most.
pub async fn hold_both(
    context: &ProcessContext,
    guards: Vec<Guard>,
    terms: &Terms,
    random: &mut Random,
) {
    let mut guards = guards.into_iter();
    let (one, other, mut apart) = (guards.next(), guards.next(), random.split());
    tokio::join!(
        hold_if_some(context, one, terms, random),
        hold_if_some(context, other, terms, &mut apart)
    );
}

async fn hold_if_some(
    context: &ProcessContext,
    guard: Option<Guard>,
    terms: &Terms,
    random: &mut Random,
) {
    if let Some(guard) = guard {
        hold(context, guard, terms, random).await;
    }
}

/// Holds `guard` for a while and lets it go.
pub async fn hold(context: &ProcessContext, guard: Guard, terms: &Terms, random: &mut Random) {
    let (stage, habits) = (&context.stage, &context.stage.habits);
    let (mut guard, mut terms) = (Arc::new(guard), *terms);
    context.ground.won(guard.name(), guard.token());
    let watched = Arc::downgrade(&guard);
    let hold = report_hold(context, guard.name(), guard.token(), &terms, watched).await;
    if habits.runs > 0 && random.happens(habits.runs) {
        run(context, &guard, hold, random).await;
    } else {
        stay(context, &guard, hold, &terms, random).await;
    }
    let writes = terms.mode == Mode::Exclusive && habits.locks == LockKind::ReadWrite;
    if writes && random.happens(400) && guard.check().is_ok() {
        let Some(still) = downgrade(context, guard, hold, random).await else { return };
        (guard, terms.mode) = still;
        stay(context, &guard, hold, &terms, random).await;
    }
    let valid = stage.check.ended(hold);
    if let Ok(guard) = Arc::try_unwrap(guard) {
        leave(context, guard, (hold, valid), &terms, random).await;
    }
}

/// Lets readers in. What the hold is after that, if there still is one.
async fn downgrade(
    context: &ProcessContext,
    guard: Arc<Guard>,
    hold: usize,
    random: &mut Random,
) -> Option<(Arc<Guard>, Mode)> {
    let (stage, habits) = (&context.stage, &context.stage.habits);
    stage.check.downgrades(hold);
    context.note("lets readers in");
    let polls = random.happens(habits.drops).then(|| random.below(habits.release_polls));
    let writer = WriteGuard::from(Arc::into_inner(guard)?);
    let (guard, mode) = match PollLimit::new(Box::pin(writer.downgrade()), polls).await {
        None => {
            stage.tally.count(Kind::DowngradeDropped);
            return None;
        }
        Some(Ok(guard)) => {
            context.ground.lets_readers_in(guard.name(), guard.token()).await;
            (guard, Mode::Shared)
        }
        Some(Err(DowngradeError::InDoubt { guard, .. })) => {
            context.note("is in doubt about its downgrade");
            (guard, Mode::Shared)
        }
        Some(Err(DowngradeError::StillWriting { guard, .. })) => {
            context.note("goes on writing");
            (guard.into(), Mode::Exclusive)
        }
        Some(Err(DowngradeError::Lost(lost))) => {
            stage.check.told(hold, loss_report(context, &lost));
            return None;
        }
        Some(Err(other)) => unreachable!("the simulation knows no such end: {other}"),
    };
    let guard = Arc::new(guard);
    stage.check.goes_on(hold, &guard, mode).await;
    Some((guard, mode))
}

/// Works step by step, watching for the loss of the hold and writing now and then.
pub(crate) async fn stay(
    context: &ProcessContext,
    guard: &Guard,
    hold: usize,
    terms: &Terms,
    random: &mut Random,
) {
    let (stage, habits) = (&context.stage, &context.stage.habits);
    let longest = if habits.quick && random.happens(900) {
        Duration::from_millis(6)
    } else {
        habits.longest_stay / (1 << random.below(habits.halvings))
    };
    let mut until = context.clock.now().saturating_add(random.length(Duration::ZERO, longest));
    let lost = guard.lost();
    tokio::pin!(lost);
    let mut told = false;
    loop {
        let now = context.clock.now();
        if now >= until || (stage.calm() && !told) {
            return;
        }
        let step = random.length(STEP / 2, terms.ttl.min(longest) / 3 + STEP);
        let next = until.min(now.saturating_add(step));
        tokio::select! {
            biased;
            why = &mut lost, if !told => {
                told = true;
                stage.check.told(hold, loss_report(context, &why));
                // Some do not stop when they are told, so that a hold that comes back is seen.
                until = context.clock.now().saturating_add(random.length(Duration::ZERO, MOST));
            }
            () = context.clock.sleep_until(next) => {}
        }
        if habits.alone && !told {
            stage.check.not_told(hold, context.resumed());
        }
        stage.check.look(guard.name()).await;
        let token = guard.check().ok().filter(|_| terms.mode == Mode::Exclusive);
        write(context, guard.name(), token, terms.ttl, random);
    }
}

/// Writes with the token, if there is one to be counted on. Some writes are long under way.
pub(crate) fn write(
    context: &ProcessContext,
    name: &LockName,
    token: Option<Token>,
    ttl: Duration,
    random: &mut Random,
) {
    let (late, length) = (random.happens(300), random.length(Duration::ZERO, ttl.min(MOST) * 2));
    let Some(token) = token else { return };
    let (stage, name) = (context.stage.clone(), name.clone());
    if !late {
        stage.write(&name, token);
        return;
    }
    tokio::spawn(async move {
        tokio::time::sleep(length).await;
        stage.write(&name, token);
    });
}

/// Works inside [`Guard::run`].
async fn run(context: &ProcessContext, guard: &Guard, hold: usize, random: &mut Random) {
    let stage = &context.stage;
    let steps = random.below(4);
    let step = random.length(Duration::from_millis(1), Duration::from_millis(100));
    let work = async {
        for _ in 0..steps {
            context.sleep(step).await;
            stage.check.look(guard.name()).await;
        }
    };
    let polls = random.happens(stage.habits.drops).then(|| random.below(6));
    match PollLimit::new(guard.run(work), polls).await {
        None => stage.tally.count(Kind::RunDropped),
        Some(Ok(())) => {}
        Some(Err(lost)) => stage.check.told(hold, loss_report(context, &lost)),
    }
}

pub(crate) async fn leave(
    context: &ProcessContext,
    guard: Guard,
    (hold, valid): (usize, bool),
    terms: &Terms,
    random: &mut Random,
) {
    let (stage, habits) = (&context.stage, &context.stage.habits);
    // A handle knows of no time that the name is to stay taken.
    if random.happens(habits.detaches) && terms.hold_at_least.is_none() && !stage.calm() {
        return detach(context, guard, valid, terms, random).await;
    }
    match random.below(10) {
        0..=5 => release(context, guard, (hold, valid), random).await,
        // Nobody would have the name again before the end of a long lease.
        6 if terms.ttl <= MOST * 2 && !stage.calm() && !habits.quiet => {
            context.note("leaves its lease to expire");
            let _ = guard.leave_to_expire();
        }
        _ => {
            context.note("drops its guard");
            drop(guard);
        }
    }
}

async fn release(
    context: &ProcessContext,
    guard: Guard,
    (hold, valid): (usize, bool),
    random: &mut Random,
) {
    let (check, habits) = (&context.stage.check, &context.stage.habits);
    context.note("releases");
    let cut = context.cut_short(habits.release_polls, random);
    let sent = context.clock.now();
    let (token, deadline) = (guard.token(), context.clock.true_at(guard.deadline()));
    match PollLimit::new(guard.release(), cut.polls).await {
        None if cut.ends => context.end_amid(CrashPoint::Release).await,
        None => context.stage.tally.count(Kind::ReleaseDropped),
        Some(Ok(())) => {
            context.note("has released");
            if habits.alone {
                check.released(hold);
            }
        }
        Some(Err(ReleaseError::InDoubt(_))) => context.note("is in doubt about its release"),
        Some(Err(_)) => {
            context.note("had lost before it released");
            if valid && !habits.unseen_losses {
                check.release_lost(token, deadline);
            }
        }
    }
    let took = context.clock.now().since(sent);
    let sent = context.clock.true_at(sent);
    check.released_within(context.number, took, context.resumed(), sent);
}
