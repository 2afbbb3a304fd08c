//! A look at a lock, for every kind of handle that has one.

/// `inspect` of a handle.
macro_rules! inspect {
    () => {
        /// Who holds the lock and who waits for it, by the store's account at one moment. It may be
        /// out of date when it is answered: never act on it as if the lock were held or free.
        ///
        /// # Errors
        /// [`InspectError`](tenure_core::InspectError) if the name cannot be used or the store does not
        /// say.
        ///
        /// ```
        /// # let tenure = tenure::blocking::Tenure::open("memory:")?;
        /// assert!(!tenure.mutex("job").inspect()?.is_held());
        /// # Ok::<(), tenure::Error>(())
        /// ```
        pub fn inspect(&self) -> Result<tenure_core::Snapshot, tenure_core::InspectError> {
            let handle = self.handle.clone();
            self.context.look(async move { handle.inspect().await })
        }
    };
}

pub(super) use inspect;
