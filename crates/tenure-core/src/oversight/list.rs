//! Lists the names in use.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
};

use tenure_proto::quorum::is_reserved;

use crate::{
    LockName,
    context::StoreContext,
    error::StoreError,
    retry_until::{PATIENCE, ask_once, check_not_forked},
    store::Listing,
};

const QUORUM: &str = "this store is a member of a quorum, whose own entries are left out; list the quorum to see \
                      its locks as a majority has them";

/// A list of the locks in use whose names begin with a prefix. Nothing happens until you await it.
///
/// # Errors
/// [`StoreError`] if the store cannot be asked, or did not answer within 30 s. The store is asked once.
///
/// # Cancel safety
/// Cancel-safe: the call changes nothing.
#[must_use = "nothing is listed until this is awaited"]
pub struct List {
    context: Arc<StoreContext>,
    prefix: String,
    limit: usize,
}

impl List {
    /// The default for the maximum number of names.
    pub const LIMIT: usize = 1_000;

    pub(crate) fn new(context: &Arc<StoreContext>, prefix: &str) -> Self {
        Self { context: context.clone(), prefix: prefix.to_owned(), limit: Self::LIMIT }
    }

    /// Sets the maximum number of names to list. [`Listing::more`] says whether there are others. Default:
    /// [1,000](List::LIMIT).
    pub const fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    async fn run(self) -> Result<Listing, StoreError> {
        let Self { context, prefix, limit } = self;
        let failed = |fault| StoreError::new(context.store.location(), fault);
        if !prefix.is_empty() && LockName::new(&prefix).is_err() {
            // No name begins with this, and a store may fail on it.
            check_not_forked(&context).map_err(failed)?;
            return Ok(Listing::default());
        }
        let asked = ask_once(&context, PATIENCE, context.store.list(&prefix, limit)).await;
        asked.map(without_notes).map_err(failed)
    }
}

/// The same list without the notes that a quorum keeps at its members, which are not locks of any program.
fn without_notes(mut listing: Listing) -> Listing {
    let all = listing.names.len();
    listing.names.retain(|(name, _)| !is_reserved(name.as_str()));
    if listing.names.len() < all {
        listing.missing.push(QUORUM.to_owned());
    }
    listing
}

impl IntoFuture for List {
    type Output = Result<Listing, StoreError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prefix, limit, .. } = self;
        f.debug_struct("List").field("prefix", prefix).field("limit", limit).finish_non_exhaustive()
    }
}
