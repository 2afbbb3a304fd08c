//! Opening connections.

use tenure_core::Fault;

use crate::{
    RedisOptions, connection::Connection, error, failure::Failure, format, pipeline::Hear, stream,
};

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
        Err(_) => Err(failed(std::io::ErrorKind::TimedOut.into())),
    }
}

async fn greet(options: &RedisOptions, hear: Option<Hear>) -> Result<Connection, Failure> {
    let (reader, writer) = stream::open(&options.address, &options.certificates).await?;
    let connection = Connection::start(reader, writer, options.response_timeout, hear);
    let mut hello = vec!["HELLO", "3"];
    if let Some(password) = &options.password {
        hello.extend(["AUTH", options.user.as_deref().unwrap_or("default"), &password.0]);
    }
    connection.send(&hello).await.map_err(|error| match error.detail() {
        Some(detail) if detail.starts_with("unknown command") => Failure::TooOld,
        _ => error,
    })?;
    if options.database != 0 {
        connection.send(&["SELECT", &options.database.to_string()]).await?;
    }
    Ok(connection)
}
