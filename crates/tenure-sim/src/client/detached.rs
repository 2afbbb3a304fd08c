//! Holds that leave their process.

use std::{
    sync::{Arc, OnceLock, atomic::AtomicU64},
    time::Duration,
};

use tenure_core::{DetachError, Guard, detached::Detached};

use super::{ProcessContext, Terms, handles::DetachedHold, told::report_hold};
use crate::{PollLimit, check::GuardStatus};
use tenure_testkit::{Random, fault::Kind};

/// The lengths of their leases: short beside the time in which all must be free again.
pub(super) const LEASES: &[u64] = &[60, 200, 500, 1_000, 2_000];

/// Detaches `guard`, which was `valid`, and leaves the handle for whoever finds it.
pub(super) async fn detach(
    context: &ProcessContext,
    guard: Guard,
    valid: bool,
    terms: &Terms,
    random: &mut Random,
) {
    let (stage, habits) = (&context.stage, &context.stage.habits);
    let lease = Duration::from_millis(*random.choose(LEASES)).min(habits.longest_detached);
    context.note(&format!("detaches {} for {lease:?}", guard.token()));
    let polls = random.happens(habits.drops).then(|| random.below(habits.release_polls));
    let (name, token) = (guard.name().clone(), guard.token());
    // A call that was not heard of may have detached it, for a lease that is over by now.
    let deadline = context.clock.true_at(guard.deadline()).min(stage.now().saturating_add(lease));
    let detaching = Box::pin(IntoFuture::into_future(guard.detach().lease(lease)));
    match PollLimit::new(detaching, polls).await {
        None => stage.tally.count(Kind::DetachDropped),
        Some(Ok(Detached { handle, token, deadline, .. })) => {
            let terms = Terms { ttl: lease, grace: Duration::ZERO, max_hold: None, ..*terms };
            let clock = context.clock.clone();
            let (hold, touches) = (OnceLock::new(), AtomicU64::new(0));
            let left = DetachedHold { handle, terms, token, deadline, clock, hold, touches };
            let left = Arc::new(left);
            let weak = Arc::downgrade(&left);
            // The answer may have come so late that it is over.
            if left.is_held() {
                stage.check.detached();
                let hold = report_hold(context, &name, token, &terms, weak).await;
                let _ = left.hold.set(hold);
                stage.handles.leave(left);
            }
        }
        Some(Err(DetachError::Lost(_))) => {
            context.note("had lost before it detached");
            if valid && !habits.unseen_losses {
                stage.check.release_lost(token, deadline);
            }
        }
        Some(Err(_)) => context.note("is in doubt about its detaching"),
    }
}
