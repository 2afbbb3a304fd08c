//! A task that takes several locks together.

use crate::{
    client::{ProcessContext, Terms, hold_both},
    limited::PollLimit,
};
use tenure_testkit::{Random, fault::Kind};

/// Acquires all names of the stage, given in either order, and holds each of them for a while. It
/// never leaves its acquire alone: that would keep what it has for as long.
pub(super) async fn round(
    context: &ProcessContext,
    index: u64,
    terms: &Terms,
    random: &mut Random,
) {
    let stage = &context.stage;
    let label = context.label();
    let mut names = stage.names.clone();
    if random.happens(500) {
        names.reverse();
    }
    let note = |what: &str| context.note(&format!("task {index}, all: {what}"));
    note("asks");
    let asking = terms.ask_all(&context.tenure, &names, &label);
    let polls = random.happens(stage.habits.drops).then(|| random.below(20));
    match PollLimit::new(Box::pin(asking), polls).await {
        None => {
            stage.tally.count(Kind::AcquireDropped);
            note("drops its acquire");
        }
        Some(Ok(Some(guards))) => hold_both(context, guards, terms, random).await,
        Some(Ok(None)) => note("finds one taken"),
        Some(Err(error)) => {
            note("fails");
            stage.check.refused(&error);
        }
    }
}
