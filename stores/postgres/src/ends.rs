//! Tasks that end with who wants them.

use tokio::task::JoinHandle;

/// Ends a task when nobody wants it any more.
#[derive(Debug)]
pub(crate) struct Ends<T = ()>(pub(crate) JoinHandle<T>);

impl<T> Drop for Ends<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
