//! Opening connections, step by step.

use std::io::ErrorKind;

use futures_util::future::join;
use tenure_core::Fault;

use crate::{
    RedisOptions,
    compare::Compare,
    connection::Connection,
    error,
    failure::Failure,
    format,
    info::text,
    journal::{Journal, Step},
    keys,
    pipeline::Hear,
    protocol::Value,
    stream,
};

/// Opens a connection in the runtime of the caller. What the server says of its own accord goes to
/// `hear`, which is dropped when the connection ends.
pub(crate) async fn connect(
    options: &RedisOptions,
    hear: Option<Hear>,
) -> Result<Connection, Fault> {
    walk(options, hear, &mut Journal::new()).await
}

/// The same, and writes down how far it came.
pub(crate) async fn walk(
    options: &RedisOptions,
    hear: Option<Hear>,
    journal: &mut Journal,
) -> Result<Connection, Fault> {
    let place = options.location();
    let for_calls = hear.is_none();
    let opened = async {
        let connection = match greet(options, hear, journal).await {
            Ok(connection) => connection,
            Err(failure) => return Err(error::of_step(&place, journal.at, failure)),
        };
        journal.begin(Step::Format);
        // Together they take one round trip.
        let look = async {
            if for_calls {
                let key = keys::any_lock(&options.prefix);
                let question = Compare::question(&key);
                let (told, ()) = join(connection.send(&question), connection.learn()).await;
                connection.compare.hear(told);
            }
        };
        let (format, ()) = join(format::check(&connection, options), look).await;
        journal.done(format?);
        Ok(connection)
    };
    match tokio::time::timeout(options.connect_timeout, opened).await {
        Ok(opened) => opened,
        Err(_) => Err(error::of_step(&place, journal.at, ErrorKind::TimedOut.into())),
    }
}

async fn greet(
    options: &RedisOptions,
    hear: Option<Hear>,
    journal: &mut Journal,
) -> Result<Connection, Failure> {
    let (reader, writer) = stream::open(&options.address, &options.certificates, journal).await?;
    journal.begin(Step::Login);
    let connection = Connection::start(reader, writer, options.response_timeout, hear);
    let mut hello = vec!["HELLO", "3"];
    let user = options.user.as_deref().unwrap_or("default");
    if let Some(password) = &options.password {
        hello.extend(["AUTH", user, &password.0]);
    }
    let told = connection.send(&hello).await.map_err(|error| match error.detail() {
        Some(detail) if detail.starts_with("unknown command") => Failure::TooOld,
        _ => error.without(options.password.as_ref().map_or("", |password| &password.0)),
    })?;
    // Whoever only repeats what it hears is no server.
    if !speaks_as_asked(&told) {
        return Err(Failure::Nonsense);
    }
    let how = if options.password.is_some() { "by its password" } else { "without a password" };
    journal.done(format!("{} takes user {user:?} {how}", server(&told)));
    if options.database != 0 {
        journal.begin(Step::Database);
        connection.send(&["SELECT", &options.database.to_string()]).await?;
        journal.done(format!("number {}", options.database));
    }
    Ok(connection)
}

/// Whether it is the answer to HELLO 3.
fn speaks_as_asked(told: &Value) -> bool {
    let Value::Map(pairs) = told else { return false };
    pairs.iter().any(|(key, is)| text(key).as_deref() == Some("proto") && *is == Value::Int(3))
}

/// What a server says that it is.
fn server(told: &Value) -> String {
    let Value::Map(pairs) = told else { return "the server".to_owned() };
    let field = |name: &str| {
        pairs
            .iter()
            .find(|(key, _)| text(key).as_deref() == Some(name))
            .and_then(|(_, is)| text(is))
    };
    let kind = match field("server").as_deref() {
        Some("redis") => "Redis".to_owned(),
        Some("valkey") => "Valkey".to_owned(),
        Some(other) => other.to_owned(),
        None => "the server".to_owned(),
    };
    field("version").map_or(kind.clone(), |version| format!("{kind} {version}"))
}
