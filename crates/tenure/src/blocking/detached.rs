//! Holds that leave their process, for blocking callers.

use std::{future::IntoFuture, time::Duration};

use tenure_core::{
    AcquireError, DetachError, Handle, HandleError, Timestamp,
    detached::{Attach, Detach, Detached},
    error::LockAddress,
};

use super::{Tenure, WriteGuard, guard::Guard, watch::of_parent};

impl Guard {
    /// Detaches the hold from this process for its ttl. [`Guard::detach_with`] sets another length.
    ///
    /// A program that has the [`Handle`] can attach the hold in any process. No other holder gets the lock in between.
    /// Until then only the lease keeps the hold: it is not renewed, and no program is notified when it is lost.
    ///
    /// # Errors
    /// [`DetachError`]. In each case the guard is gone, and the hold is being released.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::{Handle, blocking::Tenure};
    ///
    /// let tenure = Tenure::open("memory:")?;
    /// let guard = tenure.mutex("nightly").lock()?;
    /// let detached = guard.detach_with(|detach| detach.lease(Duration::from_secs(1800)))?;
    /// let text = detached.handle.expose();                 // a secret: for a file of mode 0600
    ///
    /// let handle: Handle = text.parse()?;                  // in another process
    /// let guard = tenure.attach(&handle)?;
    /// assert!(guard.token() > detached.token);
    /// guard.release()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach(self) -> Result<Detached, DetachError> {
        self.detach_with(|detach| detach)
    }

    /// Detaches the hold with the settings that `choose` sets: see [`Detach`].
    ///
    /// # Errors
    /// As for [`Guard::detach`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// use std::time::Duration;
    ///
    /// let guard = tenure.mutex("job").lock()?;
    /// let detached = guard.detach_with(|detach| detach.lease(Duration::from_secs(60)))?;
    /// tenure.release_detached(&detached.handle)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach_with(
        self,
        choose: impl FnOnce(Detach) -> Detach,
    ) -> Result<Detached, DetachError> {
        let (guard, watch) = self.into_parts();
        let thread = watch.end();
        let (name, token) = (guard.name().clone(), guard.token());
        let detaching = choose(guard.detach()).into_future();
        thread.wait_for(detaching).unwrap_or_else(|| Err(of_parent(name, token).into()))
    }
}

impl WriteGuard {
    /// Detaches the hold, as [`Guard::detach`] does. Attaching it later returns a [`Guard`].
    ///
    /// # Errors
    /// As for [`Guard::detach`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let writing = tenure.rwlock("prices").write()?;
    /// let detached = writing.detach()?;
    /// tenure.release_detached(&detached.handle)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach(self) -> Result<Detached, DetachError> {
        Guard::from(self).detach()
    }

    /// Detaches the hold with settings, as [`Guard::detach_with`] does.
    ///
    /// # Errors
    /// As for [`Guard::detach`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// use std::time::Duration;
    ///
    /// let writing = tenure.rwlock("prices").write()?;
    /// let detached = writing.detach_with(|detach| detach.lease(Duration::from_secs(60)))?;
    /// tenure.release_detached(&detached.handle)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach_with(
        self,
        choose: impl FnOnce(Detach) -> Detach,
    ) -> Result<Detached, DetachError> {
        Guard::from(self).detach_with(choose)
    }
}

impl Tenure {
    /// Attaches a detached hold to this process, with the settings that locks of its name have. Returns an ordinary
    /// guard, with a greater token. If several programs attach with copies of a handle, one gets the hold.
    ///
    /// # Errors
    /// [`HandleError::Lost`] if the handle no longer holds the lock. Transient faults are retried for up to one ttl.
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let handle = tenure.mutex("job").lock()?.detach()?.handle;
    /// let guard = tenure.attach(&handle)?;
    /// guard.release()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attach(&self, handle: &Handle) -> Result<Guard, HandleError> {
        self.attach_with(handle, |attach| attach)
    }

    /// Attaches a detached hold with the settings that `choose` sets: see [`Attach`].
    ///
    /// # Errors
    /// As for [`Tenure::attach`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// use std::time::Duration;
    ///
    /// let handle = tenure.mutex("job").lock()?.detach()?.handle;
    /// let guard = tenure.attach_with(&handle, |attach| attach.ttl(Duration::from_secs(10)))?;
    /// guard.release()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attach_with(
        &self,
        handle: &Handle,
        choose: impl FnOnce(Attach) -> Attach,
    ) -> Result<Guard, HandleError> {
        let attaching = choose(self.as_async().attach(handle)).into_future();
        let attached = self.thread().wait_for(attaching);
        attached
            .unwrap_or_else(|| self.forked(handle))
            .map(|guard| Guard::new(guard, self.thread()))
    }

    /// Extends the detached hold of `handle` so that it lasts for at least `lease` from now. Returns the time until
    /// which you may count on it.
    ///
    /// # Errors
    /// As for [`crate::Tenure::renew_detached`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// use std::time::Duration;
    ///
    /// let handle = tenure.mutex("job").lock()?.detach()?.handle;
    /// tenure.renew_detached(&handle, Duration::from_secs(60))?;
    /// tenure.release_detached(&handle)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn renew_detached(
        &self,
        handle: &Handle,
        lease: Duration,
    ) -> Result<Timestamp, HandleError> {
        let (tenure, own) = (self.as_async().clone(), handle.clone());
        let renewing = async move { tenure.renew_detached(&own, lease).await };
        self.thread().wait_for(renewing).unwrap_or_else(|| self.forked(handle))
    }

    /// Releases the detached hold of `handle`.
    ///
    /// # Errors
    /// As for [`crate::Tenure::release_detached`].
    ///
    /// ```
    /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
    /// let handle = tenure.mutex("job").lock()?.detach()?.handle;
    /// tenure.release_detached(&handle)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release_detached(&self, handle: &Handle) -> Result<(), HandleError> {
        let (tenure, own) = (self.as_async().clone(), handle.clone());
        let releasing = async move { tenure.release_detached(&own).await };
        self.thread().wait_for(releasing).unwrap_or_else(|| self.forked(handle))
    }

    /// The error in a forked child.
    fn forked<T>(&self, handle: &Handle) -> Result<T, HandleError> {
        let store = self.as_async().store().location();
        let lock = LockAddress::new(handle.name().clone(), store);
        Err(HandleError::NoRoom(Box::new(AcquireError::ShutDown { lock })))
    }
}
