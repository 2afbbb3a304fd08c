//! A stream that lets through what a server may say.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsStream};

use crate::{
    config::logins::AuthenticationPolicy,
    protocol::{answers::AnswerTracker, frames::MessageFilter},
};

/// What the driver reads from and writes to.
pub(crate) struct CheckedStream<S> {
    stream: S,
    frames: MessageFilter,
    answers: Arc<AnswerTracker>,
    end_point: Option<Vec<u8>>,
}

impl<S> CheckedStream<S> {
    pub(crate) const fn new(
        stream: S,
        logins: AuthenticationPolicy,
        answers: Arc<AnswerTracker>,
    ) -> Self {
        Self { stream, frames: MessageFilter::new(logins), answers, end_point: None }
    }

    /// The same, of an encrypted stream to whoever has shown this certificate, by its sum.
    #[cfg(feature = "tls")]
    pub(crate) fn bound_to(self, end_point: Option<Vec<u8>>) -> Self {
        Self { end_point, ..self }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for CheckedStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        match &self.end_point {
            Some(end_point) => ChannelBinding::tls_server_end_point(end_point.clone()),
            None => ChannelBinding::none(),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CheckedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, frames, answers, .. } = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(stream).poll_read(context, buffer))?;
        let read = frames
            .inspect_bytes(buffer.filled().get(before..).unwrap_or_default(), answers.expected());
        answers.tell(frames.answer_count(), frames.is_doubtful());
        Poll::Ready(read.map_err(|refused| io::Error::new(io::ErrorKind::InvalidData, refused)))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CheckedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
