//! Things that one caller has at a time, and gives back: a few, that are made when they are needed.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many there are at most; who finds all of them lent waits.
const MOST: usize = 8;

/// All of them.
#[derive(Debug)]
pub(crate) struct Lent<T> {
    idle: Mutex<Vec<T>>,
    left: Arc<Semaphore>,
}

/// That one more may be lent.
pub(crate) struct Turn<T> {
    all: Arc<Lent<T>>,
    #[allow(dead_code, reason = "another one may be lent when it is dropped")]
    permit: OwnedSemaphorePermit,
}

/// One of them, which goes back when this is dropped.
pub(crate) struct Loan<T: Clone> {
    lent: T,
    given_up: bool,
    turn: Turn<T>,
}

impl<T> Default for Lent<T> {
    fn default() -> Self {
        Self { idle: Mutex::default(), left: Arc::new(Semaphore::new(MOST)) }
    }
}

impl<T> Lent<T> {
    /// Waits until one may be lent.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub(crate) async fn turn(self: &Arc<Self>) -> Option<Turn<T>> {
        // Nobody closes it.
        let permit = self.left.clone().acquire_owned().await.ok()?;
        Some(Turn { all: self.clone(), permit })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<T>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Turn<T> {
    /// One that nobody has.
    pub(crate) fn idle(&self) -> Option<T> {
        self.all.idle().pop()
    }

    pub(crate) const fn lend(self, lent: T) -> Loan<T>
    where
        T: Clone,
    {
        Loan { lent, given_up: false, turn: self }
    }
}

impl<T: Clone> Loan<T> {
    /// Nobody uses it after this caller.
    pub(crate) const fn give_up(&mut self) {
        self.given_up = true;
    }
}

impl<T: Clone> Deref for Loan<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.lent
    }
}

impl<T: Clone> Drop for Loan<T> {
    fn drop(&mut self) {
        if !self.given_up {
            self.turn.all.idle().push(self.lent.clone());
        }
    }
}
