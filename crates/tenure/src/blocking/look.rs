//! A look at a lock, for every kind of handle that has one.

/// The look of a handle.
macro_rules! look {
    () => {
        /// Who holds the lock and who waits for it, by the store's account at one moment. It may be
        /// out of date when it is answered: never act on it as if the lock were held or free.
        ///
        /// # Errors
        /// [`LookError`](tenure_core::LookError) if the name cannot be used or the store does not
        /// say.
        pub fn look(&self) -> Result<tenure_core::Snapshot, tenure_core::LookError> {
            let handle = self.handle.clone();
            self.home.look(async move { handle.look().await })
        }
    };
}

pub(super) use look;
