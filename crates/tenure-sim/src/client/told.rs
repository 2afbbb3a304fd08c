//! What the checker is told of a hold.

use std::sync::Weak;

use tenure_core::{LockName, Lost, Token};

use super::{ProcessContext, Terms};
use crate::check::{GuardStatus, LossReport, ReportedHold};

/// Tells the checker of a hold. What it calls it.
pub(crate) async fn report_hold(
    context: &ProcessContext,
    name: &LockName,
    token: Token,
    terms: &Terms,
    guard: Weak<dyn GuardStatus>,
) -> usize {
    let watched = ReportedHold {
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

pub(crate) fn loss_report(context: &ProcessContext, lost: &Lost) -> LossReport {
    LossReport {
        reason: lost.reason,
        resumed: context.resumed(),
        last_trouble: context.last_trouble(),
    }
}
