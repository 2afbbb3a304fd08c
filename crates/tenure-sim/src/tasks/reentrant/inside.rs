//! What happens in one scope, and what it holds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::{
    Scope, Timestamp,
    kinds::{Reentrant, ReentrantGuard},
};

use super::levels::ReentrantGuards;
use crate::check::GuardStatus;
use crate::client::{AskIdentity, ProcessContext, Terms, report_hold};
use tenure_testkit::Random;

/// What happens in one scope.
pub(super) struct ScopeContext {
    pub(super) context: Arc<ProcessContext>,
    pub(super) asked: AskIdentity,
    pub(super) terms: Terms,
    pub(super) scope: Scope,
    pub(super) lock: Reentrant,
    pub(super) holds: Mutex<Vec<Arc<ReentrantGuards>>>,
    pub(super) outer: Option<Arc<Self>>,
}

impl ScopeContext {
    /// The hold that this scope would enter now, with its deadline.
    pub(super) fn standing(&self) -> Option<(Arc<ReentrantGuards>, Timestamp)> {
        let own = self.holds().iter().find(|levels| levels.is_held()).cloned();
        let Some(levels) = own else { return self.outer.as_ref()?.standing() };
        let deadline = levels.deadline()?;
        Some((levels, deadline))
    }

    /// A guard was acquired with `terms`, or another level of a hold was entered.
    pub(super) async fn admit(&self, guard: ReentrantGuard, terms: &Terms) {
        let token = guard.token();
        let mut scope = Some(self);
        while let Some(inside) = scope {
            let known = inside.holds().iter().find(|levels| levels.token == token).cloned();
            if let Some(levels) = known {
                return levels.lock().push(guard);
            }
            scope = inside.outer.as_deref();
        }
        let levels = Arc::new(ReentrantGuards::new(guard));
        self.holds().push(levels.clone());
        let watched = Arc::downgrade(&levels);
        let hold = report_hold(&self.context, &self.asked.name, token, terms, watched).await;
        let _ = levels.hold.set(hold);
    }

    pub(super) fn holds(&self) -> MutexGuard<'_, Vec<Arc<ReentrantGuards>>> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of the holds of this scope.
    pub(super) fn any_hold(&self, random: &mut Random) -> Option<Arc<ReentrantGuards>> {
        let holds = self.holds();
        let index = usize::try_from(random.below(holds.len() as u64)).ok()?;
        holds.get(index).cloned()
    }
}
