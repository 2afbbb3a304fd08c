//! Commands to a Redis server and its replies, in its protocol.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
};

use super::PATIENCE;

/// A reply in the words of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A status, a number or a text.
    Text(String),
    /// Nothing.
    Nil,
    /// Several.
    List(Vec<Self>),
    /// The server refused.
    Error(String),
}

/// Sends one command over a connection of its own.
pub(super) fn command<S: AsRef<str>>(address: SocketAddr, words: &[S]) -> io::Result<Reply> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    send(stream, words)
}

/// Sends one command, and reads its reply.
pub(super) fn send<S: AsRef<str>>(mut stream: impl Read + Write, words: &[S]) -> io::Result<Reply> {
    let mut request = format!("*{}\r\n", words.len());
    for word in words {
        let word = word.as_ref();
        request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
    }
    stream.write_all(request.as_bytes())?;
    read(&mut BufReader::new(stream))
}

fn read(stream: &mut BufReader<impl Read>) -> io::Result<Reply> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let line = line.trim_end();
    let strange = || io::Error::new(io::ErrorKind::InvalidData, line.to_owned());
    let (kind, rest) = line.split_at_checked(1).ok_or_else(strange)?;
    let length = || rest.parse::<i64>().map_err(|_| strange());
    match kind {
        "+" | ":" => Ok(Reply::Text(rest.to_owned())),
        "-" => Ok(Reply::Error(rest.to_owned())),
        "$" => {
            let Ok(length) = usize::try_from(length()?) else { return Ok(Reply::Nil) };
            let mut text = vec![0; length + 2];
            stream.read_exact(&mut text)?;
            text.truncate(length);
            Ok(Reply::Text(String::from_utf8_lossy(&text).into_owned()))
        }
        "*" => (0..length()?).map(|_| read(stream)).collect::<io::Result<_>>().map(Reply::List),
        _ => Err(strange()),
    }
}
