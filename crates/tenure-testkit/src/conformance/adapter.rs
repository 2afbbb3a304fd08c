//! What a store tells the suite about itself.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use tenure_core::Store;

/// One fresh place of a store: a directory, a prefix, a database. Each case makes its own and
/// shares it with no other case.
///
/// Where a store's place ttl and claim window can be chosen, choose short ones: cases wait for
/// their end. Not below 300 ms, for machines that are slow now and then.
#[async_trait]
pub trait Adapter: fmt::Debug + Send + Sync + 'static {
    /// A client of this place, as one more process would have. All clients see the same locks.
    async fn open(&self) -> Arc<dyn Store>;

    /// Lets at least `length` of the store's time pass. For a store on a manual clock this moves
    /// the clock.
    async fn pass(&self, length: Duration) {
        tokio::time::sleep(length).await;
    }

    /// Returns when no call is under way any more, those included whose callers gave them up.
    async fn settle(&self) {}

    /// Makes the store lose what it keeps, as far as it can lose anything. `false` when that
    /// cannot be shown here.
    async fn lose_data(&self) -> bool {
        false
    }

    /// Whether [`Adapter::lose_data`] is a loss as the store itself has them. `false` where it
    /// deletes from outside, which no store can tell from what users want.
    fn loss_shows(&self) -> bool {
        true
    }

    /// Whether this store has to refuse a name that others take, by what other programs make of it.
    fn refuses_name(&self, _name: &str) -> bool {
        false
    }

    /// Whether wake-ups reach all who wait. `false` where their connections break at any moment: a
    /// store that notices so passes over whoever it cannot reach, and no order can be shown.
    fn reaches_waiters(&self) -> bool {
        true
    }

    /// Ends a client as `kill -9` ends its process. `false` when that cannot be shown here.
    async fn kill(&self, client: Arc<dyn Store>) -> bool {
        drop(client);
        false
    }
}
