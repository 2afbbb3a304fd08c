//! Futures that are dropped after so many polls.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    task::{Context, Poll},
};

/// A future that is dropped when it is still pending after a number of polls: so each of its await
/// points is reached by some seed.
#[derive(Debug)]
pub struct PollLimit<F: Future> {
    future: Option<Pin<Box<F>>>,
    polls: u64,
}

impl<F: Future> PollLimit<F> {
    /// `future`, dropped after `polls` polls; never, if there is no such number.
    pub fn new(future: impl IntoFuture<IntoFuture = F>, polls: Option<u64>) -> Self {
        Self { future: Some(Box::pin(future.into_future())), polls: polls.unwrap_or(u64::MAX) }
    }
}

impl<F: Future> Future for PollLimit<F> {
    /// Nothing if it was dropped.
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polls = self.polls;
        let Some(future) = self.future.as_mut().filter(|_| polls > 0) else {
            self.future = None;
            return Poll::Ready(None);
        };
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            self.future = None;
            return Poll::Ready(Some(output));
        }
        self.polls -= 1;
        if self.polls == 0 {
            self.future = None;
            return Poll::Ready(None);
        }
        Poll::Pending
    }
}
