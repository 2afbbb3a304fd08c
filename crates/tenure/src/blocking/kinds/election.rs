//! The election: one of its candidates leads.

use std::ops::Deref;

use tenure_core::{AcquireError, InspectError, Leader, ReleaseError, Token};

use super::{inspect::inspect, settings::setters};
use crate::blocking::{Leaders, context::BlockingContext, guard::Guard};

/// An election, in which one candidate at a time leads: [`crate::Election`] for blocking callers.
///
/// ```
/// use tenure::blocking::Tenure;
///
/// let office = Tenure::open("memory:")?.election("scheduler").label("host-1");
/// let leadership = office.campaign()?;
/// assert_eq!(office.leader()?.unwrap().term, leadership.term());
/// leadership.resign()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until you campaign or ask for the leader"]
pub struct Election {
    context: BlockingContext,
    pub(in crate::blocking) handle: crate::Election,
}

impl Election {
    pub(in crate::blocking) fn new(context: BlockingContext, handle: crate::Election) -> Self {
        Self { context, handle }
    }

    setters!();

    inspect!();

    /// Blocks until this candidate leads.
    ///
    /// # Errors
    /// As for [`Mutex::lock`](super::Mutex::lock).
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let leadership = tenure.election("scheduler").campaign()?;
    /// leadership.resign()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn campaign(&self) -> Result<Leadership, AcquireError> {
        self.context.acquire(self.handle.campaign()).map(Leadership)
    }

    /// Becomes the leader if there is no leader and no candidate ahead in the queue.
    ///
    /// # Errors
    /// As for [`Mutex::try_lock`](super::Mutex::try_lock).
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let Some(leadership) = tenure.election("scheduler").try_campaign()? else { return Ok(()) };
    /// leadership.resign()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn try_campaign(&self) -> Result<Option<Leadership>, AcquireError> {
        Ok(self.context.try_acquire(self.handle.try_campaign())?.map(Leadership))
    }

    /// Returns the leader, as the store shows it.
    ///
    /// # Errors
    /// [`InspectError`] if the name cannot be used or the store does not answer.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// assert_eq!(tenure.election("scheduler").leader()?, None);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn leader(&self) -> Result<Option<Leader>, InspectError> {
        let handle = self.handle.clone();
        self.context.call_store(async move { handle.leader().await })
    }

    /// Returns the leader, and from then on every change that is seen.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let mut leaders = tenure.election("scheduler").leaders();
    /// assert_eq!(leaders.next().expect("it has no end")?, None);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn leaders(&self) -> Leaders {
        Leaders::new(self.context.clone(), self.handle.leaders())
    }
}

/// One term of a leader: a [`Guard`] whose token is the number of the term.
#[must_use = "a leader resigns as soon as this is dropped"]
pub struct Leadership(pub(in crate::blocking) Guard);

impl Leadership {
    /// Returns the number of this term. It is greater than that of every earlier term, so it is a fencing token.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let leadership = tenure.election("scheduler").campaign()?;
    /// println!("leading term {}", leadership.term());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn term(&self) -> Token {
        self.0.token()
    }

    /// Ends the term and waits for the store's answer.
    ///
    /// # Errors
    /// As for [`Guard::release`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let leadership = tenure.election("scheduler").campaign()?;
    /// leadership.resign()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn resign(self) -> Result<(), ReleaseError> {
        self.0.release()
    }
}

impl Deref for Leadership {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        &self.0
    }
}

impl From<Leadership> for Guard {
    fn from(leadership: Leadership) -> Self {
        leadership.0
    }
}
