//! Packets as they come and go.

use std::{
    pin::Pin,
    task::{Context, Waker},
};

use tokio::{
    io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use super::{
    Error,
    stream::{ByteStream, Encryption},
};

/// As much as the first packets of a connection have together, those before it is known who the server is.
pub(crate) const OF_LOGIN: usize = 64 * 1024;
/// As much as one answer may be, in memory.
pub(crate) const OF_ANSWER: usize = 64 * 1024 * 1024;
/// A packet of this length has another one behind it.
const FULL: usize = 0xff_ffff;
/// What is kept of a packet beside its bytes, at least.
const EACH: usize = 64;
/// As much as is read at once.
const CHUNK: usize = 16 * 1024;

/// What may still come of an answer.
pub(crate) struct ByteBudget(pub(crate) usize);

impl ByteBudget {
    pub(crate) fn take(&mut self, length: usize) -> Result<(), Error> {
        self.0 = self.0.checked_sub(length).ok_or(Error::odd("its answer is too long"))?;
        Ok(())
    }
}

pub(crate) struct PacketStream {
    stream: BufReader<MaybeTlsStream>,
    /// The number of the next packet.
    next: u8,
}

enum MaybeTlsStream {
    Plain(TcpStream),
    Encrypted(Box<dyn ByteStream>),
}

impl PacketStream {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream: BufReader::with_capacity(CHUNK, MaybeTlsStream::Plain(stream)), next: 0 }
    }

    /// Encrypts what comes from here on. What came in the clear already is not a part of that.
    pub(crate) async fn encrypted(self, by: &Encryption, host: &str) -> Result<Self, Error> {
        if !self.stream.buffer().is_empty() {
            return Err(Error::odd("it goes on in the clear where it was told to encrypt"));
        }
        let MaybeTlsStream::Plain(stream) = self.stream.into_inner() else {
            return Err(Error::odd("it encrypts twice"));
        };
        let stream = MaybeTlsStream::Encrypted(by.begin(host, stream).await?);
        Ok(Self { stream: BufReader::with_capacity(CHUNK, stream), next: self.next })
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self.stream.get_ref(), MaybeTlsStream::Encrypted(_))
    }

    /// The next packet. Memory is taken as bytes come, never because a length was named.
    pub(crate) async fn read(&mut self, room: &mut ByteBudget) -> Result<Vec<u8>, Error> {
        room.take(EACH)?;
        let mut packet = Vec::new();
        loop {
            let mut header = [0; 4];
            self.stream.read_exact(&mut header).await?;
            let [a, b, c, number] = header;
            if number != self.next {
                return Err(Error::odd("its packets are out of order"));
            }
            self.next = self.next.wrapping_add(1);
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            room.take(length)?;
            let whole = packet.len() + length;
            packet.reserve(length.min(CHUNK));
            while packet.len() < whole {
                let rest = (whole - packet.len()) as u64;
                if (&mut self.stream).take(rest).read_buf(&mut packet).await? == 0 {
                    return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
                }
            }
            if length < FULL {
                return Ok(packet);
            }
        }
    }

    /// Sends these bytes as they are, if that is possible now.
    pub(crate) fn send_at_once(&mut self, bytes: &[u8]) {
        let mut context = Context::from_waker(Waker::noop());
        let stream = self.stream.get_mut();
        if Pin::new(&mut *stream).poll_write(&mut context, bytes).is_ready() {
            let _ = Pin::new(stream).poll_flush(&mut context);
        }
    }

    /// Begins something new.
    pub(crate) async fn command(&mut self, command: u8, words: &[u8]) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(1 + words.len());
        bytes.push(command);
        bytes.extend_from_slice(words);
        self.send(&bytes).await
    }

    /// The same of what has its command in it.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.next = 0;
        self.send_next_packet(bytes).await
    }

    /// Goes on with what is under way.
    pub(crate) async fn send_next_packet(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut framed = Vec::with_capacity(bytes.len() + 4);
        let mut rest = bytes;
        loop {
            let (part, others) = rest.split_at(rest.len().min(FULL));
            let length = u32::try_from(part.len()).unwrap_or_default().to_le_bytes();
            framed.extend_from_slice(length.get(..3).unwrap_or_default());
            framed.push(self.next);
            framed.extend_from_slice(part);
            self.next = self.next.wrapping_add(1);
            rest = others;
            if part.len() < FULL {
                break;
            }
        }
        self.stream.get_mut().write_all(&framed).await?;
        self.stream.get_mut().flush().await?;
        Ok(())
    }
}

mod wire {
    use std::{
        io,
        pin::Pin,
        task::{Context, Poll},
    };

    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

    use super::MaybeTlsStream;

    impl AsyncRead for MaybeTlsStream {
        fn poll_read(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            match self.get_mut() {
                Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
                Self::Encrypted(stream) => Pin::new(stream).poll_read(context, buffer),
            }
        }
    }

    impl AsyncWrite for MaybeTlsStream {
        fn poll_write(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            match self.get_mut() {
                Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
                Self::Encrypted(stream) => Pin::new(stream).poll_write(context, bytes),
            }
        }

        fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            match self.get_mut() {
                Self::Plain(stream) => Pin::new(stream).poll_flush(context),
                Self::Encrypted(stream) => Pin::new(stream).poll_flush(context),
            }
        }

        fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            match self.get_mut() {
                Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
                Self::Encrypted(stream) => Pin::new(stream).poll_shutdown(context),
            }
        }
    }
}
