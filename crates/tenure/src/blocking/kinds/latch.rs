//! The latch: it opens after a number of arrivals.

use std::{future::IntoFuture, time::Duration};

use tenure_core::LatchError;

use crate::blocking::context::BlockingContext;

/// A latch that opens after a number of arrivals: [`crate::Latch`] for blocking callers.
///
/// ```
/// use tenure::blocking::Tenure;
///
/// let ready = Tenure::open("memory:")?.latch("ready", 2);
/// assert_eq!(ready.arrive("one")?, 1);
/// assert_eq!(ready.arrive("other")?, 0);
/// ready.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "a handle does nothing until you arrive or wait"]
pub struct Latch {
    context: BlockingContext,
    pub(in crate::blocking) handle: crate::Latch,
}

impl Latch {
    pub(in crate::blocking) fn new(context: BlockingContext, handle: crate::Latch) -> Self {
        Self { context, handle }
    }

    /// Sets for how long an arrival counts: [`crate::Latch::keep`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// use std::time::Duration;
    ///
    /// let imported = tenure.latch("imported", 1).keep(Duration::from_secs(3600));
    /// assert_eq!(imported.arrive("customers")?, 0);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn keep(mut self, keep: Duration) -> Self {
        self.handle = self.handle.keep(keep);
        self
    }

    /// Records the arrival of `who`, which counts once. Returns how many arrivals are missing.
    ///
    /// # Errors
    /// As for [`crate::Latch::arrive`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// assert_eq!(tenure.latch("imported", 2).arrive("customers")?, 1);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn arrive(&self, who: impl Into<String>) -> Result<u32, LatchError> {
        let (handle, who) = (self.handle.clone(), who.into());
        self.context.call_store(async move { handle.arrive(&who).await })
    }

    /// Blocks until all have arrived. Without all arrivals, it never returns.
    ///
    /// # Errors
    /// As for [`crate::Latch::wait`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let imported = tenure.latch("imported", 1);
    /// imported.arrive("customers")?;
    /// imported.wait()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn wait(&self) -> Result<(), LatchError> {
        self.context.call_store(self.handle.wait().into_future())
    }

    /// Blocks until all have arrived, or for `within`.
    ///
    /// # Errors
    /// As for [`Latch::wait`], and [`LatchError::TimedOut`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// use std::time::Duration;
    ///
    /// let imported = tenure.latch("imported", 1);
    /// assert!(imported.wait_within(Duration::from_millis(20)).is_err());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn wait_within(&self, within: Duration) -> Result<(), LatchError> {
        self.context.call_store(self.handle.wait().within(within).into_future())
    }

    /// Returns how many arrivals are missing.
    ///
    /// # Errors
    /// As for [`crate::Latch::remaining`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// assert_eq!(tenure.latch("imported", 2).remaining()?, 2);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn remaining(&self) -> Result<u32, LatchError> {
        let handle = self.handle.clone();
        self.context.call_store(async move { handle.remaining().await })
    }

    /// Returns the names of the arrivals.
    ///
    /// # Errors
    /// As for [`crate::Latch::arrived`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let imported = tenure.latch("imported", 2);
    /// imported.arrive("customers")?;
    /// assert_eq!(imported.arrived()?, ["customers"]);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn arrived(&self) -> Result<Vec<String>, LatchError> {
        let handle = self.handle.clone();
        self.context.call_store(async move { handle.arrived().await })
    }

    /// Forgets all arrivals.
    ///
    /// # Errors
    /// As for [`crate::Latch::reset`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let imported = tenure.latch("imported", 1);
    /// imported.arrive("customers")?;
    /// imported.reset()?;
    /// assert_eq!(imported.remaining()?, 1);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn reset(&self) -> Result<(), LatchError> {
        let handle = self.handle.clone();
        self.context.call_store(async move { handle.reset().await })
    }
}
