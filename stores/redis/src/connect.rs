//! Opening connections.

use redis::{Cmd, ErrorKind, RedisError};
use tenure_core::Fault;

use crate::{RedisOptions, connection::Connection, error, format, pipeline::Hear, stream};

/// Opens a connection in the runtime of the caller. What the server says of its own accord goes to
/// `hear`, which is dropped when the connection ends.
pub(crate) async fn connect(
    options: &RedisOptions,
    hear: Option<Hear>,
) -> Result<Connection, Fault> {
    let place = options.location();
    let failed = |error| error::of_connecting(&place, error);
    let opened = async {
        let connection = greet(options, hear).await.map_err(failed)?;
        format::check(&connection, options).await?;
        Ok(connection)
    };
    match tokio::time::timeout(options.connect_timeout, opened).await {
        Ok(opened) => opened,
        Err(_) => Err(failed(RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut)))),
    }
}

async fn greet(options: &RedisOptions, hear: Option<Hear>) -> Result<Connection, RedisError> {
    let (reader, writer) = stream::open(&options.address, &options.certificates).await?;
    let connection = Connection::start(reader, writer, options.response_timeout, hear);
    let call =
        async |command: &Cmd| connection.call(|out| out.extend(command.get_packed_command())).await;
    let mut hello = redis::cmd("HELLO");
    hello.arg(3);
    if let Some(password) = &options.password {
        let user = options.user.as_deref().unwrap_or("default");
        hello.arg("AUTH").arg(user).arg(&password.0);
    }
    call(&hello).await.map_err(|error| match error.detail() {
        Some(detail) if detail.starts_with("unknown command") => {
            (ErrorKind::RESP3NotSupported, "it does not know HELLO").into()
        }
        _ => error,
    })?;
    if options.database != 0 {
        call(redis::cmd("SELECT").arg(options.database)).await?;
    }
    Ok(connection)
}
