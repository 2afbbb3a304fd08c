//! The engine survives panics of the code that it calls: a store, or an observer. All holds of the process depend on
//! it.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
};

use futures_util::FutureExt;

use crate::{Fault, FaultKind};

/// The result of a call to the store. A panic counts as a fault in doubt.
pub(super) async fn call<F: Future + Send>(what: &str, call: F) -> Result<F::Output, Fault> {
    AssertUnwindSafe(call).catch_unwind().await.map_err(|panic| {
        let text = text(&*panic);
        tracing::error!(panic = text, "the store panicked in {what}; tenure continues");
        let what = format!("the store panicked in {what}: {text}");
        Fault::new(FaultKind::InDoubt, what, "find what panicked, and report it to its authors")
    })
}

/// Runs work on which nothing else must depend; `None` if it panicked.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).inspect_err(|panic| tell(&**panic)).ok()
}

/// The same for a future; `None` if it panicked.
pub(super) async fn catch_future_panic<F: Future + Send>(work: F) -> Option<F::Output> {
    AssertUnwindSafe(work).catch_unwind().await.inspect_err(|panic| tell(&**panic)).ok()
}

fn tell(panic: &(dyn Any + Send)) {
    tracing::error!(
        panic = text(panic),
        "something panicked under tenure's engine, which continues"
    );
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a text")
}
