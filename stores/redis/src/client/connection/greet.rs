//! Who a server is, and who we are to it.

use std::time::{Duration, Instant};

use tenure_url::{Certificates, Secret};

use crate::{
    client::{
        ConnectStep, ConnectTrace, Connection, Failure, PushHandler, Value, connection::stream,
        text,
    },
    options::{Address, login::Login},
};

/// Whom to connect to, and as whom.
pub(crate) struct Endpoint<'a> {
    pub(crate) address: &'a Address,
    pub(crate) certificates: &'a Certificates,
    pub(crate) login: &'a Login,
    /// The password of this login.
    pub(crate) secret: Option<Secret>,
    /// How long an answer may take.
    pub(crate) patience: Duration,
}

/// Connects, and says who we are.
pub(crate) async fn greet(
    whom: &Endpoint<'_>,
    hear: Option<PushHandler>,
    journal: &mut ConnectTrace,
) -> Result<(Connection, HelloReply), Failure> {
    let (reader, writer) = stream::open(whom.address, whom.certificates, journal).await?;
    journal.begin(ConnectStep::Login);
    let mut connection = Connection::start(reader, writer, whom.patience, hear);
    let (user, password) = (whom.login.user(), whom.secret.as_ref());
    let mut hello = vec!["HELLO", "3"];
    if let Some(password) = password {
        hello.extend(["AUTH", user, password.expose()]);
    }
    // What CLIENT LIST shows.
    hello.extend(["SETNAME", "tenure"]);
    let asked = Instant::now();
    let told = connection.send(&hello).await.map_err(|error| match error.detail() {
        Some(detail) if detail.starts_with("unknown command") => Failure::TooOld,
        _ => error.without(password),
    })?;
    connection.answer_time = asked.elapsed();
    let greeting = HelloReply(told);
    // Whoever only repeats what it hears is no server.
    if !greeting.speaks_as_asked() {
        return Err(Failure::Nonsense);
    }
    let how = if password.is_some() { "with its password" } else { "without a password" };
    journal.done(format!("{} takes user {user:?} {how}", greeting.server()));
    Ok((connection, greeting))
}

/// The answer to HELLO.
pub(crate) struct HelloReply(Value);

impl HelloReply {
    fn value(&self, name: &str) -> Option<&Value> {
        let Value::Map(pairs) = &self.0 else { return None };
        pairs.iter().find(|(key, _)| text(key).as_deref() == Some(name)).map(|(_, is)| is)
    }

    fn field(&self, name: &str) -> Option<String> {
        self.value(name).and_then(text)
    }

    fn speaks_as_asked(&self) -> bool {
        self.value("proto") == Some(&Value::Int(3))
    }

    pub(crate) fn is_sentinel(&self) -> bool {
        self.field("mode").as_deref() == Some("sentinel")
    }

    pub(crate) fn is_in_cluster(&self) -> bool {
        self.field("mode").as_deref() == Some("cluster")
    }

    /// Whether it says so of itself; an isolated primary says that it is one.
    pub(crate) fn is_replica(&self) -> bool {
        self.field("role").is_some_and(|role| role != "master")
    }

    /// What a server says that it is.
    fn server(&self) -> String {
        let kind = match self.field("server").as_deref() {
            Some("redis") => "Redis".to_owned(),
            Some("valkey") => "Valkey".to_owned(),
            Some(other) => other.to_owned(),
            None => "the server".to_owned(),
        };
        self.field("version").map_or(kind.clone(), |version| format!("{kind} {version}"))
    }
}
