//! The settings of an acquisition, for every kind of handle.

/// The setters of a handle, which pass the settings on to the handle inside.
macro_rules! setters {
    () => {
        /// Sets the length of the lease, 10 ms to 24 h. Default: 30 s. While the guard exists, tenure renews the lease
        /// every third of it.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// use std::time::Duration;
        ///
        /// let guard = tenure.mutex("job").ttl(Duration::from_secs(10)).lock()?;
        /// # drop(guard);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn ttl(mut self, ttl: std::time::Duration) -> Self {
            self.handle = self.handle.ttl(ttl);
            self
        }

        /// Sets how long to wait for the lock at most. Default: no limit. Nothing else ends a blocking wait.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// use std::time::Duration;
        ///
        /// let guard = tenure.mutex("job").wait(Duration::from_secs(5)).lock()?;
        /// # drop(guard);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn wait(mut self, wait: std::time::Duration) -> Self {
            self.handle = self.handle.wait(wait);
            self
        }

        /// Sets the longest time that a hold lasts, even with renewals: 10 ms to 24 h. Default: no limit. After that
        /// time the hold is lost and the lock is released, even if its guard still exists. So a hung holder blocks
        /// others for no longer than this.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// use std::time::Duration;
        ///
        /// let guard = tenure.mutex("job").max_hold(Duration::from_secs(600)).lock()?;
        /// # drop(guard);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn max_hold(mut self, max_hold: std::time::Duration) -> Self {
            self.handle = self.handle.max_hold(max_hold);
            self
        }

        /// Sets how long after its grant the lock stays taken even if it is released earlier, 10 ms to 24 h.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// use std::time::Duration;
        ///
        /// let guard = tenure.mutex("job").hold_at_least(Duration::from_millis(20)).lock()?;
        /// # drop(guard);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn hold_at_least(mut self, hold_at_least: std::time::Duration) -> Self {
            self.handle = self.handle.hold_at_least(hold_at_least);
            self
        }

        /// Sets how much longer the store keeps the lease than the holder counts on it, 0 to 60 s. Default: 0. A holder
        /// that was paused for less than this causes no conflict.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// use std::time::Duration;
        ///
        /// let guard = tenure.mutex("job").grace(Duration::from_secs(1)).lock()?;
        /// # drop(guard);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn grace(mut self, grace: std::time::Duration) -> Self {
            self.handle = self.handle.grace(grace);
            self
        }

        /// Sets a text that shows people which program holds the lock. Default: `host/pid`. It proves nothing.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").label("web-1").lock()?;
        /// assert_eq!(tenure.inspect("job")?.holders[0].label, "web-1");
        /// # drop(guard);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn label(mut self, label: impl Into<String>) -> Self {
            self.handle = self.handle.label(label);
            self
        }

        /// Sets what the holder does, for people: a short word such as `invoices`.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").operation("invoices").lock()?;
        /// let holder = tenure.inspect("job")?.holders[0].identity();
        /// assert_eq!(holder.operation.as_deref(), Some("invoices"));
        /// # drop(guard);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn operation(mut self, operation: impl Into<String>) -> Self {
            self.handle = self.handle.operation(operation);
            self
        }

        /// Sets why the lock is held, for people.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").reason("rerun of 2026-11").lock()?;
        /// let holder = tenure.inspect("job")?.holders[0].identity();
        /// assert_eq!(holder.reason.as_deref(), Some("rerun of 2026-11"));
        /// # drop(guard);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn reason(mut self, reason: impl Into<String>) -> Self {
            self.handle = self.handle.reason(reason);
            self
        }

        /// Serves contenders first come, first served, across all processes (promise
        /// [S8](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s8-order)).
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let guard = tenure.mutex("job").fair().lock()?;
        /// # drop(guard);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn fair(mut self) -> Self {
            self.handle = self.handle.fair();
            self
        }

        /// Calls `tell` with the holder and the number of contenders ahead, while this handle or a clone of it waits
        /// for the lock. Calls it once if the wait is behind tasks of this process, and each time the store answers
        /// that the lock is busy.
        ///
        /// The call is on the waiting thread, so `tell` may block and take other locks. Meanwhile the wait continues in
        /// the background. Of the answers that arrive during a call, `tell` receives only the latest.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let job = tenure.mutex("job").on_busy(|busy| match &busy.holder {
        ///     Some(holder) => println!("{} has it", holder.label),
        ///     None => println!("somebody comes first"),
        /// });
        /// let guard = job.lock()?;
        /// # drop(guard);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn on_busy(
            mut self,
            tell: impl Fn(&tenure_core::Busy) + Send + Sync + 'static,
        ) -> Self {
            self.context.listener.on_busy = Some(std::sync::Arc::new(tell));
            self
        }

        /// Calls `tell` with the fault when the store fails while this handle or a clone of it waits. The wait
        /// continues, and there is no further call until the store has answered again. The call is on the waiting
        /// thread.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// let job = tenure.mutex("job").on_unreachable(|fault| eprintln!("waiting on: {fault:#}"));
        /// let guard = job.lock()?;
        /// # drop(guard);
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn on_unreachable(
            mut self,
            tell: impl Fn(&tenure_core::Fault) + Send + Sync + 'static,
        ) -> Self {
            self.context.listener.on_unreachable = Some(std::sync::Arc::new(tell));
            self
        }
    };
}

pub(super) use setters;
