//! Things that one caller has at a time, and gives back: a few, that are made when they are needed.
//!
//! Where none can be made, one is borrowed from others that have the same.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many there are at most; who finds all of them lent waits.
const MOST: usize = 8;

/// All of them.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    stock: Mutex<PoolState<T>>,
    left: Arc<Semaphore>,
}

#[derive(Debug)]
struct PoolState<T> {
    idle: Vec<T>,
    /// How many somebody has.
    out: usize,
}

/// That one more may be lent.
pub(crate) struct PoolPermit<T> {
    all: Arc<Pool<T>>,
    permit: Arc<OwnedSemaphorePermit>,
}

/// One of them, which goes back when this is dropped.
pub(crate) struct PoolGuard<T: Clone> {
    lent: T,
    given_up: bool,
    /// Whose it is.
    home: Arc<Pool<T>>,
    #[allow(dead_code, reason = "another one may be lent when it is dropped")]
    permit: Arc<OwnedSemaphorePermit>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        let (stock, left) = (PoolState { idle: Vec::new(), out: 0 }, Semaphore::new(MOST));
        Self { stock: Mutex::new(stock), left: Arc::new(left) }
    }
}

impl<T> Pool<T> {
    /// Waits until one may be lent.
    ///
    /// # Cancel safety
    /// Cancel-safe.
    pub(crate) async fn acquire_permit(self: &Arc<Self>) -> Option<PoolPermit<T>> {
        // Nobody closes it.
        let permit = self.left.clone().acquire_owned().await.ok()?;
        Some(PoolPermit { all: self.clone(), permit: Arc::new(permit) })
    }

    /// Whether somebody has one, who gives it back.
    pub(crate) fn is_out(&self) -> bool {
        self.stock().out > 0
    }

    fn stock(&self) -> MutexGuard<'_, PoolState<T>> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> PoolPermit<T> {
    /// Lends one that nobody has. Those that are of no use end.
    pub(crate) fn idle(&self, is_of_use: impl Fn(&T) -> bool) -> Option<PoolGuard<T>> {
        let mut stock = self.all.stock();
        let lent = loop {
            let next = stock.idle.pop()?;
            if is_of_use(&next) {
                break next;
            }
        };
        stock.out += 1;
        drop(stock);
        Some(self.pooled(lent, self.all.clone()))
    }

    pub(crate) fn lend(&self, lent: T) -> PoolGuard<T> {
        self.all.stock().out += 1;
        self.pooled(lent, self.all.clone())
    }

    /// Lends one of others that nobody has.
    pub(crate) fn borrow(
        &self,
        of: &Arc<Pool<T>>,
        fits: impl Fn(&T) -> bool,
    ) -> Option<PoolGuard<T>> {
        let mut stock = of.stock();
        let at = stock.idle.iter().position(fits)?;
        let lent = stock.idle.swap_remove(at);
        stock.out += 1;
        drop(stock);
        Some(self.pooled(lent, of.clone()))
    }

    fn pooled(&self, lent: T, home: Arc<Pool<T>>) -> PoolGuard<T> {
        PoolGuard { lent, given_up: false, home, permit: self.permit.clone() }
    }
}

impl<T: Clone> PoolGuard<T> {
    /// Nobody uses it after this caller.
    pub(crate) const fn give_up(&mut self) {
        self.given_up = true;
    }
}

impl<T: Clone> Deref for PoolGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.lent
    }
}

impl<T: Clone> Drop for PoolGuard<T> {
    fn drop(&mut self) {
        let mut stock = self.home.stock();
        stock.out = stock.out.saturating_sub(1);
        if !self.given_up {
            stock.idle.push(self.lent.clone());
        }
    }
}
