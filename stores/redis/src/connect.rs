//! Opening connections.

use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ErrorKind, IntoConnectionInfo,
    ProtocolVersion, PushInfo, RedisConnectionInfo, RedisError, aio::MultiplexedConnection,
    io::tcp::TcpSettings,
};
use tenure_core::Fault;
use tokio::sync::mpsc::UnboundedSender;

use crate::{Address, RedisOptions, connection::Connection, error, stream, tls};

/// Opens a connection for commands in the runtime of the caller.
pub(crate) async fn connect(options: &RedisOptions) -> Result<Connection, Fault> {
    let place = options.location();
    let failed = |error| error::of_connecting(&place, error);
    match tokio::time::timeout(options.connect_timeout, greet(options)).await {
        Ok(opened) => opened.map_err(failed),
        Err(_) => Err(failed(RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut)))),
    }
}

async fn greet(options: &RedisOptions) -> Result<Connection, RedisError> {
    let (reader, writer) = stream::open(&options.address, &options.certificates).await?;
    let connection = Connection::start(reader, writer, options.response_timeout);
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

/// Opens a connection that hears messages, in the runtime of the caller.
pub(crate) async fn connect_to_hear(
    options: &RedisOptions,
    pushed: UnboundedSender<PushInfo>,
) -> Result<MultiplexedConnection, Fault> {
    let place = options.location();
    let failed = |error| error::of_connecting(&place, error);
    let client = client(options).map_err(failed)?;
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(options.connect_timeout))
        .set_response_timeout(Some(options.response_timeout))
        .set_push_sender(pushed);
    let opening = client.get_multiplexed_async_connection_with_config(&config);
    // The limit of the client does not cover the handshake with a server that keeps silent.
    match tokio::time::timeout(options.connect_timeout, opening).await {
        Ok(opened) => opened.map_err(failed),
        Err(_) => Err(failed(RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut)))),
    }
}

fn client(options: &RedisOptions) -> Result<Client, RedisError> {
    let mut redis = RedisConnectionInfo::default()
        .set_protocol(ProtocolVersion::RESP3)
        .set_skip_set_lib_name()
        .set_db(i64::from(options.database));
    if let Some(user) = &options.user {
        redis = redis.set_username(user);
    }
    if let Some(password) = &options.password {
        redis = redis.set_password(&password.0);
    }
    let info = address(&options.address)
        .into_connection_info()?
        .set_tcp_settings(TcpSettings::default().set_nodelay(true))
        .set_redis_settings(redis);
    match &options.address {
        Address::Tls { .. } => tls::client(info, &options.certificates),
        Address::Tcp { .. } | Address::Unix(_) => Client::open(info),
    }
}

fn address(address: &Address) -> ConnectionAddr {
    match address {
        Address::Tcp { host, port } => ConnectionAddr::Tcp(host.clone(), *port),
        Address::Unix(path) => ConnectionAddr::Unix(path.clone()),
        Address::Tls { host, port } => {
            let (host, port) = (host.clone(), *port);
            ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
        }
    }
}
