//! `inspect`, for every kind of handle that has it.

/// `inspect` of a handle.
macro_rules! inspect {
    () => {
        /// Shows the holders and the waiters of the lock: the store's state at one moment. It may be out of date when
        /// you receive it. Never act on it as if the lock were held or free.
        ///
        /// # Errors
        /// [`InspectError`](tenure_core::InspectError) if the name cannot be used or the store does not answer.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// assert!(!tenure.mutex("job").inspect()?.is_held());
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn inspect(&self) -> Result<tenure_core::Snapshot, tenure_core::InspectError> {
            let handle = self.handle.clone();
            self.context.call_store(async move { handle.inspect().await })
        }
    };
}

pub(super) use inspect;
