//! The election: candidates, of whom one leads.

use std::{fmt, ops::Deref, sync::Arc};

use futures_util::{Stream, stream};
use tenure_proto::{
    Look, Timestamp, Token,
    election::{self, Leader, Observed},
    queue::{Kind, Mode},
    rule::{Rule, kept},
};

use super::{Lock, TryLock, inspect::inspect, target::LockTarget};
use crate::{
    Guard, InspectError, ReleaseError,
    acquire::Acquirer,
    options::{Options, setters},
};

/// Candidates that campaign under one name, of whom at most one leads at a time. A handle: cheap
/// to make, to clone and to drop.
///
/// Candidates lead in the order of asking, those of one process included, where the store keeps a
/// queue. What a candidate wants others to know of it, its address for example, goes in the
/// [`label`](Election::label).
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use tenure_core::{MemoryStore, Tenure};
///
/// let tenure = Tenure::new(Arc::new(MemoryStore::new()));
/// let election = tenure.election("scheduler").label("10.0.0.7:9000");
/// let leadership = election.campaign().await?;
/// let leader = election.leader().await?.expect("somebody leads");
/// assert_eq!((leader.label.as_str(), leader.term), ("10.0.0.7:9000", leadership.term()));
/// leadership.resign().await?;
/// assert_eq!(election.leader().await?, None);
/// # Ok::<(), tenure_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until you campaign or ask for the leader"]
pub struct Election {
    target: LockTarget,
    options: Options,
}

impl Election {
    pub(crate) fn new(acquirer: &Arc<Acquirer>, name: &str) -> Self {
        // Within one process, too, each term is one of the store's: observers see no other.
        let apart = kept(Rule::TermNotHandedOver);
        let options = Options { apart, ..Options::default() };
        Self { target: LockTarget::new(acquirer, name, Kind::Election), options }
    }

    setters!();

    /// Campaigns, and waits until it is elected: await the returned value.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the candidate. It leaves nothing behind for longer than one
    /// ttl (promise [S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks)).
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError). Passing faults are ridden out for up to one ttl.
    pub fn campaign(&self) -> Lock<Leadership> {
        Lock::new(self.target.clone(), Mode::Exclusive, self.options.clone())
    }

    /// Leads if nobody does or comes first: await the returned value, which is `None` otherwise.
    ///
    /// # Cancel safety
    /// As for [`Election::campaign`].
    ///
    /// # Errors
    /// As for [`Election::campaign`]. An answer that never came is an error, never `None`.
    pub fn try_campaign(&self) -> TryLock<Leadership> {
        TryLock::new(self.target.clone(), Mode::Exclusive, self.options.clone())
    }

    inspect!(target);

    /// Who leads, by the store's account at this moment. Who would lead next, [`Election::inspect`]
    /// shows: its waiters are the candidates in their line.
    ///
    /// # Errors
    /// [`InspectError`] when the store cannot be asked. Passing faults are ridden out for up to 30 s.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn leader(&self) -> Result<Option<Leader>, InspectError> {
        Ok(election::leader(&self.target.inspect().await?))
    }

    /// Who leads, and from then on every change that is seen.
    pub fn leaders(&self) -> Leaders {
        Leaders {
            election: self.clone(),
            observed: Observed::default(),
            look: Look::new(),
            due: Timestamp::ZERO,
        }
    }
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Election").field("target", &self.target).finish_non_exhaustive()
    }
}

/// A term of leading: a [`Guard`], with its methods, under the names of an election.
///
/// It ends when it resigns, is dropped, or is [lost](Guard::lost), at its deadline at the latest.
/// Whoever lost it campaigns again. Until the old leader notices, two may believe that they lead:
/// a resource that compares [terms](Leadership::term) refuses the older one.
#[derive(Debug)]
#[must_use = "a leader resigns as soon as this is dropped"]
pub struct Leadership {
    guard: Guard,
}

impl Leadership {
    /// The term: the fencing token, greater than that of every leader before it.
    #[must_use]
    pub fn term(&self) -> Token {
        self.guard.token()
    }

    /// Lets the next candidate lead, and returns when the store has said so.
    ///
    /// # Errors
    /// [`ReleaseError`], as for [`Guard::release`]: the lead had been lost before, or the store did
    /// not answer within two seconds.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the rest to the background.
    pub async fn resign(self) -> Result<(), ReleaseError> {
        self.guard.release().await
    }
}

impl Deref for Leadership {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        &self.guard
    }
}

impl From<Guard> for Leadership {
    fn from(guard: Guard) -> Self {
        Self { guard }
    }
}

impl From<Leadership> for Guard {
    fn from(leadership: Leadership) -> Self {
        leadership.guard
    }
}

/// Who leads, again and again: the observer's side of an [`Election`].
///
/// The store is asked again 20 ms after a change, and at most one second after the last look while
/// nothing changes: that, and the length of a call, is how late the news can be. Terms that began
/// and ended in between are not seen.
#[derive(Debug)]
pub struct Leaders {
    election: Election,
    observed: Observed,
    look: Look,
    /// When to look next.
    due: Timestamp,
}

impl Leaders {
    /// The next news: first who leads now, and then whenever another term began, or nobody leads
    /// any more.
    ///
    /// # Errors
    /// [`InspectError`] when the store could not be asked for 30 s. Calling again goes on.
    ///
    /// # Cancel safety
    /// Cancel-safe: no news is lost.
    pub async fn next(&mut self) -> Result<Option<Leader>, InspectError> {
        loop {
            let context = self.election.target.context();
            context.clock.sleep_until(self.due).await;
            let found = self.election.leader().await;
            let news = match &found {
                Ok(leader) => self.observed.is_news(leader.as_ref()),
                Err(_) => false,
            };
            let pause = self.look.next(news, context.entropy.jitter());
            self.due = context.now().saturating_add(pause);
            if news || found.is_err() {
                return found;
            }
        }
    }

    /// The same as a stream, which never ends.
    pub fn into_stream(self) -> impl Stream<Item = Result<Option<Leader>, InspectError>> + Send {
        stream::unfold(self, async |mut leaders| {
            let news = leaders.next().await;
            Some((news, leaders))
        })
    }
}
