//! The election: several candidates, of which at most one leads.

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

/// Candidates that campaign under one name, of which at most one leads at a time. This is a handle: making, cloning and
/// dropping it is cheap.
///
/// If the store keeps a queue, candidates lead in the order in which they ask, including those of one process. To
/// publish something about a candidate, such as its address, use the [`label`](Election::label).
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
        // Even within one process, each term is one of the store's: observers see no other.
        let apart = kept(Rule::TermNotHandedOver);
        let options = Options { apart, ..Options::default() };
        Self { target: LockTarget::new(acquirer, name, Kind::Election), options }
    }

    setters!();

    /// Campaigns, and waits until it is elected. Await the returned value.
    ///
    /// # Errors
    /// See [`AcquireError`](crate::AcquireError). Transient faults are retried for up to one ttl.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the candidate. Nothing remains for longer than one ttl (promise
    /// [S5](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s5-nothing-leaks)).
    pub fn campaign(&self) -> Lock<Leadership> {
        Lock::new(self.target.clone(), Mode::Exclusive, self.options.clone())
    }

    /// Becomes leader if there is none and no other candidate comes first. Await the returned value, which is `None`
    /// otherwise.
    ///
    /// # Errors
    /// As for [`Election::campaign`]. A missing answer is an error, never `None`.
    ///
    /// # Cancel safety
    /// As for [`Election::campaign`].
    pub fn try_campaign(&self) -> TryLock<Leadership> {
        TryLock::new(self.target.clone(), Mode::Exclusive, self.options.clone())
    }

    inspect!(target);

    /// Returns the leader, by the store's state at this moment. [`Election::inspect`] also shows the candidates: they
    /// are its waiters, in the order of their queue.
    ///
    /// # Errors
    /// [`InspectError`] if the store cannot be asked. Transient faults are retried for up to 30 s.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub async fn leader(&self) -> Result<Option<Leader>, InspectError> {
        Ok(election::leader(&self.target.inspect().await?))
    }

    /// Observes the election: first the current leader, then every change that is seen.
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

/// One term as leader: a [`Guard`] with all its methods, under the names of an election.
///
/// It ends when it resigns, is dropped, or is [lost](Guard::lost), at its deadline at the latest. A program that lost
/// it can campaign again. Until the old leader notices, two programs may believe that they lead. A resource that
/// compares [terms](Leadership::term) refuses the older one.
#[derive(Debug)]
#[must_use = "a leader resigns as soon as this is dropped"]
pub struct Leadership {
    guard: Guard,
}

impl Leadership {
    /// Returns the term: the fencing token, which is greater than that of every earlier leader.
    #[must_use]
    pub fn term(&self) -> Token {
        self.guard.token()
    }

    /// Resigns, so that the next candidate can lead, and waits for the store's answer.
    ///
    /// # Errors
    /// [`ReleaseError`], as for [`Guard::release`]: the leadership had already been lost, or the store did not answer
    /// within two seconds.
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

/// The successive leaders of an [`Election`], for an observer.
///
/// It asks the store again 20 ms after a change, and at most one second after the last time while nothing changes. So
/// news can be late by up to this time plus the length of a call. You do not see terms that began and ended in between.
#[derive(Debug)]
pub struct Leaders {
    election: Election,
    observed: Observed,
    look: Look,
    /// When to ask the store next.
    due: Timestamp,
}

impl Leaders {
    /// Returns the next news: first the current leader, and then each new term, or `None` when there is no leader any
    /// more.
    ///
    /// # Errors
    /// [`InspectError`] if the store could not be asked for 30 s. You can call `next` again.
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

    /// Turns this into a stream of the same news, which never ends.
    pub fn into_stream(self) -> impl Stream<Item = Result<Option<Leader>, InspectError>> + Send {
        stream::unfold(self, async |mut leaders| {
            let news = leaders.next().await;
            Some((news, leaders))
        })
    }
}
