//! What the checker is told of a hold.

use std::sync::Weak;

use tenure_core::{LockName, Lost, Token};

use super::{Context, Terms};
use crate::check::{Holding, Told, Watched};

/// Tells the checker of a hold. What it calls it.
pub(crate) async fn acquired(
    context: &Context,
    name: &LockName,
    token: Token,
    terms: &Terms,
    guard: Weak<dyn Holding>,
) -> usize {
    let watched = Watched {
        process: context.number,
        name: name.clone(),
        token,
        mode: terms.mode,
        guard,
        clock: context.clock.clone(),
        ttl: terms.ttl,
        grace: terms.grace,
        hold_at_least: terms.hold_at_least.unwrap_or_default(),
        quiet: context.stage.habits.quiet,
    };
    context.stage.check.acquired(watched).await
}

pub(crate) fn tell(context: &Context, lost: &Lost) -> Told {
    Told { reason: lost.reason, resumed: context.resumed(), last_trouble: context.last_trouble() }
}
