//! The settings of an acquisition, for every kind of handle.

/// The setters of a handle, handed on to the handle inside.
macro_rules! setters {
    () => {
        /// The length of the lease, 10 ms to 24 h; 30 s if nothing is said. While the guard lives
        /// it is renewed every third of it.
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

        /// How long to wait for the lock at most; for ever if nothing is said. Nothing else ends a
        /// blocking wait.
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

        /// After how long a hold is lost although it could be renewed, 10 ms to 24 h; never if
        /// nothing is said. The lock is let go then, also while its guard is still there: a hung
        /// holder blocks nobody for longer.
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

        /// For how long since its grant the lock stays taken even if it is released earlier,
        /// 10 ms to 24 h.
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

        /// How much longer than the holder believes the store keeps the lease, 0 to 60 s; none if
        /// nothing is said. A holder that was frozen for less than this hurts nobody.
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

        /// Who holds the lock, for people to see: `host/pid` if nothing is said. It proves
        /// nothing.
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

        /// First come, first served among all contenders of all processes (promise [S8](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s8-order)).
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

        /// Calls `tell` with who holds the lock and how many contenders are ahead, while this handle
        /// or a clone of it waits for it: once if that is behind tasks of this process, and each
        /// time the store answers that the lock is busy.
        ///
        /// It is called on the thread that waits, so it may block, and take other locks. Meanwhile
        /// the wait goes on by itself, and of the answers that come in only the latest is told.
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

        /// Calls `tell` with what is wrong when the store fails while this handle or a clone of it waits,
        /// and the wait goes on all the same: once until the store answers again. It is called on the
        /// thread that waits.
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
