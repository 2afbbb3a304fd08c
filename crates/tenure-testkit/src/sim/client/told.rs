//! What the checker is told of a hold.

use std::sync::Weak;

use tenure_core::{LockName, Lost, Token};

use super::{Post, Terms};
use crate::check::{Holding, Told, Watched};

/// Tells the checker of a hold. What it calls it.
pub(in crate::sim) async fn acquired(
    post: &Post,
    name: &LockName,
    token: Token,
    terms: &Terms,
    guard: Weak<dyn Holding>,
) -> usize {
    let watched = Watched {
        process: post.number,
        name: name.clone(),
        token,
        mode: terms.mode,
        guard,
        clock: post.clock.clone(),
        ttl: terms.ttl,
        grace: terms.grace,
        hold_at_least: terms.hold_at_least.unwrap_or_default(),
        quiet: post.stage.habits.quiet,
    };
    post.stage.check.acquired(watched).await
}

pub(in crate::sim) fn tell(post: &Post, lost: &Lost) -> Told {
    Told { reason: lost.reason, resumed: post.resumed(), last_trouble: post.last_trouble() }
}
