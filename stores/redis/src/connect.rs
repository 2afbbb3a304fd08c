//! Opening one connection.

use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, IntoConnectionInfo, ProtocolVersion, PushInfo,
    RedisConnectionInfo, RedisError, aio::MultiplexedConnection, io::tcp::TcpSettings,
};
use tenure_core::Fault;
use tokio::sync::mpsc::UnboundedSender;

use crate::{Address, RedisOptions, error, tls};

/// How many commands may wait for the connection's driver.
const PIPELINE: usize = 1024;

/// Opens a connection in the runtime of the caller. What the server pushes goes to `pushed`.
pub(crate) async fn connect(
    options: &RedisOptions,
    pushed: Option<UnboundedSender<PushInfo>>,
) -> Result<MultiplexedConnection, Fault> {
    let place = options.location();
    let failed = |error| error::of_connecting(&place, error);
    let client = client(options).map_err(failed)?;
    let mut config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(options.connect_timeout))
        .set_response_timeout(Some(options.response_timeout))
        .set_pipeline_buffer_size(PIPELINE);
    if let Some(pushed) = pushed {
        config = config.set_push_sender(pushed);
    }
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
