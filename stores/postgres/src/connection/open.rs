//! One connection: made, told how our sessions are, and kept by the store's own thread.

use std::{
    array,
    pin::pin,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::select;
use tenure_core::{
    Fault, FaultKind,
    threads::{OwnedTask, StoreThread},
};
use tenure_sql::{Secret, none_of};
use tokio::sync::{Mutex, OnceCell};
use tokio_postgres::{
    Client, Config, SimpleQueryMessage,
    config::{ChannelBinding, TargetSessionAttrs},
    error::SqlState,
};

use crate::{
    PostgresOptions,
    config::{options::ChannelBindingMode, url::DIALECT},
    connection::{
        connection_count::ConnectionCountGuard,
        flights::InFlightCalls,
        leaving::AbandonedSessions,
        notices::ConnectionNotices,
        plans::PlanAge,
        session_guard::SessionGuard,
        settings::{TOLD, TOLD_LATER},
    },
    error::{self, Failure},
    protocol::{
        answers::{Answer, AnswerTracker, QueryTag},
        tls::{ConnectError, Connectors, PolledConnection},
    },
    tables::{
        schema::{FORMAT, of_another, public_tables_query, tables},
        statements::COUNT,
    },
};

/// A session with the server.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// Whether the session is ours alone, and keeps what is prepared.
    pub(crate) is_direct: AtomicBool,
    pub(crate) prepared: [OnceCell<tokio_postgres::Statement>; COUNT],
    pub(crate) plans: PlanAge,
    /// What was sent over it and is not answered yet.
    pub(crate) flights: InFlightCalls,
    /// What it was told without having asked.
    pub(crate) heard: Arc<ConnectionNotices>,
    pub(crate) answers: Arc<AnswerTracker>,
    pub(crate) home: Arc<StoreThread>,
    /// Whether somebody waits for what its callers do not wait for any more.
    pub(crate) is_looked_after: AtomicBool,
    /// For how long an answer is waited for.
    pub(crate) patience: Duration,
    pub(crate) counted: Option<ConnectionCountGuard>,
    pub(crate) leaving: AbandonedSessions,
    /// The time limit of its statements, in milliseconds.
    limit: u128,
    /// What keeps it alive. Who gives up a session that hangs leaves nothing of it.
    kept: std::sync::Mutex<Option<OwnedTask>>,
    turn: Mutex<()>,
    is_spoiled: AtomicBool,
}

/// What a session is told of how it is to be. Whoever looks at the server sees the name.
fn settings(options: &PostgresOptions, limit: u128) -> String {
    let lock_limit = lock_limit(options);
    format!(
        "-c statement_timeout={limit} -c lock_timeout={lock_limit} -c search_path=pg_catalog \
         -c default_transaction_isolation=read\\ committed -c client_min_messages=warning \
         -c synchronous_commit=on"
    )
}

/// How long a statement waits for what others have locked, in milliseconds. Shorter than we wait: what a lock kept
/// from having an effect is certain then. And short, since whoever asked may have gone by the time that it is free.
pub(crate) fn lock_limit(options: &PostgresOptions) -> u128 {
    lock_wait(options).as_millis()
}

/// The same as a length of time.
pub(crate) fn lock_wait(options: &PostgresOptions) -> Duration {
    (options.sql.response_timeout / 2).min(LOCK_LIMIT)
}

const LOCK_LIMIT: Duration = Duration::from_millis(500);

/// In milliseconds: longer than we wait, since what nobody waits for any more is to end, too. And another one for each
/// session, by which it is known again.
fn statement_limit(options: &PostgresOptions) -> u128 {
    let mark = getrandom::u32().unwrap_or_default() % 1_000;
    options.sql.response_timeout.as_millis() * 2 + u128::from(mark)
}

/// How a session with this one of the servers is asked for.
fn config(
    options: &PostgresOptions,
    password: Option<&Secret>,
    (host, port): &(String, u16),
) -> Config {
    let sql = &options.sql;
    let mut config = Config::new();
    config.host(host).port(*port);
    config.user(sql.user.as_deref().unwrap_or_default()).dbname(&sql.database);
    if let Some(password) = password {
        config.password(password.expose());
    }
    config.application_name(options.application.as_deref().unwrap_or("tenure"));
    config.channel_binding(match options.binding {
        ChannelBindingMode::Disable => ChannelBinding::Disable,
        ChannelBindingMode::Prefer => ChannelBinding::Prefer,
        ChannelBindingMode::Require => ChannelBinding::Require,
    });
    config.keepalives_idle(Duration::from_secs(10)).keepalives_interval(Duration::from_secs(3));
    config.keepalives_retries(3).tcp_user_timeout(sql.response_timeout * 2);
    if sql.servers.len() > 1 || options.wants_primary {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    config
}

/// Makes a connection with the first server that takes writes, and gives back what has to be polled for it.
pub(crate) async fn connect(
    options: &PostgresOptions,
    tls: &Connectors,
    home: &Arc<StoreThread>,
) -> Result<(Connection, PolledConnection), Fault> {
    let sql = &options.sql;
    // A host that is silent leaves time for the others. The driver has no time limit for what comes after a host
    // has taken the connection, as one does that is frozen.
    let hosts = u32::try_from(sql.servers.len()).unwrap_or(u32::MAX);
    let share = if hosts > 1 { hosts.saturating_add(1) } else { 1 };
    let mut faults = Vec::new();
    for server in &sql.servers {
        let location =
            if hosts > 1 { format!("{}:{}", server.0, server.1) } else { options.location() };
        let limit = sql.connect_timeout / share;
        let opening = opened(options, tls, home, server, &location, limit);
        match tokio::time::timeout(limit, opening).await {
            Ok(Ok(made)) => return Ok(made),
            Ok(Err(fault)) => faults.push(fault),
            Err(_) => {
                let what = format!("the connection to {location} was not made in time");
                let help = tenure_sql::SILENT;
                faults.push(Fault::new(FaultKind::Unreachable, what, help));
            }
        }
    }
    Err(none_of(faults).unwrap_or_else(|| DIALECT.wrong("it names no host")))
}

async fn opened(
    options: &PostgresOptions,
    tls: &Connectors,
    home: &Arc<StoreThread>,
    server: &(String, u16),
    location: &str,
    connect_timeout: Duration,
) -> Result<(Connection, PolledConnection), Fault> {
    let login =
        format!("{}@{}:{}", options.sql.user.as_deref().unwrap_or_default(), server.0, server.1);
    let secret = match &options.sql.password {
        Some(password) => Some(password.read(&login, location, connect_timeout).await?),
        None => None,
    };
    let refused = |error: ConnectError| {
        let fault = error::of_connecting(&error, location);
        match options.sql.password.as_ref().zip(secret.as_ref()) {
            Some((password, secret)) if error::refuses_password(&error) => {
                password.refused(&login, secret, fault)
            }
            _ => fault,
        }
    };
    let mut bare = config(options, secret.as_ref(), server);
    let mut told = bare.clone();
    let limit = statement_limit(options);
    let answers = Arc::new(AnswerTracker::new()?);
    // Of several values of a setting the server takes the last.
    let theirs = options.session.as_deref().map(|text| format!("{text} ")).unwrap_or_default();
    told.options(theirs + &settings(options, limit) + TOLD);
    if let Some(theirs) = &options.session {
        bare.options(theirs);
    }
    let (client, polled, is_direct) = match tls.connect(&told, &answers).await {
        Ok((client, polled)) => (client, polled, true),
        // A pooler that lets through no settings, not even none.
        Err(error) if is_unsupported(&error) => {
            let (client, polled) = tls.connect(&bare, &answers).await.map_err(refused)?;
            (client, polled, false)
        }
        Err(error) => return Err(refused(error)),
    };
    if let Some(password) = &options.sql.password {
        password.accepted(&login);
    }
    let is_direct = AtomicBool::new(is_direct);
    Ok((
        Connection {
            client,
            is_direct,
            prepared: [const { OnceCell::const_new() }; COUNT],
            plans: PlanAge::new(),
            flights: InFlightCalls::new(),
            heard: Arc::default(),
            answers,
            home: home.clone(),
            is_looked_after: AtomicBool::new(false),
            patience: options.sql.response_timeout,
            counted: None,
            leaving: AbandonedSessions::default(),
            limit,
            kept: std::sync::Mutex::default(),
            turn: Mutex::new(()),
            is_spoiled: AtomicBool::new(false),
        },
        polled,
    ))
}

fn is_unsupported(error: &ConnectError) -> bool {
    let ConnectError::Told(error) = error else { return false };
    error.code() == Some(&SqlState::PROTOCOL_VIOLATION)
        || error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED)
}

impl Connection {
    /// Whether something can be asked over it.
    pub(crate) fn is_usable(&self) -> bool {
        !self.client.is_closed() && !self.is_spoiled.load(Ordering::Relaxed)
    }

    /// It lives for as long as this does.
    pub(crate) fn attach_task(&self, kept: OwnedTask) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }

    /// Nothing more is asked over it. What was is answered still.
    pub(crate) fn retire(&self) {
        self.is_spoiled.store(true, Ordering::Relaxed);
        self.heard.end();
    }

    /// Ends it: whoever waits for an answer is told so.
    pub(crate) fn end(&self) {
        self.retire();
        drop(self.kept.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Waits until nobody waits for an answer. A pooler gives the session to the next one after each answer: to
    /// what was sent already, that one would get the answer. None where an answer that nobody waited for may come.
    pub(crate) async fn lock_session(&self) -> Option<SessionGuard<'_>> {
        let alone = self.turn.lock().await;
        self.is_usable().then(|| SessionGuard::new(&self.is_spoiled, alone))
    }

    /// Looks whether what this session commits stays, and whether the tables are there.
    pub(crate) async fn check(&self, options: &PostgresOptions) -> Result<(), Failure> {
        // In the same step whoever waits there is to end with this process: later it would have an effect.
        let settings = format!(
            "current_setting('synchronous_commit'), current_setting('server_encoding'), limited.setting, \
             current_setting('search_path') = 'pg_catalog' \
             and current_setting('default_transaction_isolation') = 'read committed', \
             (select set_config(name, '100', false) from pg_settings where name = 'client_connection_check_interval' \
             and setting = '0' and version() ~ 'linux' and limited.setting = '{}') \
             from pg_settings limited where limited.name = 'statement_timeout'",
            self.limit
        );
        // A pooler may let settings through and forget them. What one prepares in a session of all could be another one's
        // statement of the same name.
        let may_be_direct = self.is_direct.swap(false, Ordering::Relaxed);
        let [commit, encoding, limit, is_as_told] = self.select_row(&settings).await?;
        let is_direct = may_be_direct && limit == self.limit.to_string();
        self.is_direct.store(is_direct, Ordering::Relaxed);
        if encoding != "UTF8" {
            let what = format!("the encoding of the database is {encoding}");
            let help = "use a database whose encoding is UTF8: two names could be one here";
            return Err(Fault::new(FaultKind::Misconfigured, what, help).into());
        }
        if is_as_told != "t" && is_direct {
            let what = "a session does not have the settings that tenure gave it, because of options in the URL or a proxy in between";
            let help = "leave options= out of the URL, and let no proxy change settings";
            return Err(Fault::new(FaultKind::Misconfigured, what, help).into());
        }
        // In a session of all each statement says it for itself.
        if commit != "on" && is_direct {
            let on = self.client.batch_execute("set synchronous_commit = on");
            let on = self.await_completion(None, on).await;
            on.result.map_err(|error| error::of_statement(error, false))?;
        }
        self.check_tables(options).await
    }

    async fn check_tables(&self, options: &PostgresOptions) -> Result<(), Failure> {
        let schema = &options.schema;
        if options.is_public_named {
            let [is_there] = self.select_row(&public_tables_query()).await?;
            if is_there == "true" {
                let what = "schema=public was the schema of the locks in earlier versions, and it has some";
                let help = "write lock_schema=public for these, or lock_schema=tenure once no program uses them any more";
                return Err(Fault::new(FaultKind::Misconfigured, what, help).into());
            }
        }
        let format =
            format!("format, (select count(*) from {schema}.locks where false) from {schema}.meta");
        let mut found: Result<[String; 2], _> = self.select_row(&format).await;
        let (mut made, mut crossed) = (0, 0);
        while options.creates && matches!(found, Err(Failure::NoTables(_))) && made < CREATIONS {
            match self.create(options).await {
                Ok(()) => made += 1,
                // Where many processes begin on a new database, each waits for all before it.
                Err(Failure::Crossed) if crossed < CROSSED_CREATIONS => {
                    crossed += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(failure) => return Err(failure),
            }
            found = self.select_row(&format).await;
        }
        let [found, _] = found?;
        if found == FORMAT.to_string() {
            return self.check_make(schema).await;
        }
        let what = format!(
            "the tables in the schema {schema} have format {found}, and this version knows {FORMAT}"
        );
        let help = "use one version of tenure everywhere, or name a schema for each: locks in two schemas do not exclude each \
                    other; https://github.com/tenure-rs/tenure/blob/main/docs/upgrading.md#a-database says how to change";
        Err(Fault::new(FaultKind::Misconfigured, what, help).into())
    }

    /// Whether each name has one row at most, names are compared by their bytes, and a crash leaves them there. Tables
    /// made by hand, or restored without their indexes, may lack that.
    async fn check_make(&self, schema: &str) -> Result<(), Failure> {
        let told = if self.is_direct.load(Ordering::Relaxed) { TOLD_LATER } else { "null" };
        let make = format!(
            "c.relpersistence::text, exists (select 1 from pg_catalog.pg_index i \
             where i.indrelid = c.oid and i.indisunique and i.indisvalid and i.indimmediate \
             and i.indnkeyatts = 1 and i.indkey[0] = a.attnum and i.indpred is null)::text, \
             (select typname from pg_catalog.pg_type where oid = a.atttypid), \
             coalesce(l.collisdeterministic, true)::text, {told} from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid \
             left join pg_catalog.pg_collation l on l.oid = a.attcollation \
             where c.oid = '{schema}.locks'::pg_catalog.regclass and a.attname = 'name'"
        );
        let [kept, is_unique, kind, by_bytes] = self.select_row(&make).await?;
        let is_text = ["text", "varchar"].contains(&kind.as_str());
        let (what, help) = if is_unique != "true" {
            (
                "has no primary key on name, so a name can have two rows, and two holders",
                "add the primary key",
            )
        } else if !is_text || by_bytes != "true" {
            (
                "does not compare names by their bytes, so two names can be one lock",
                "make the column name of type text collate \"C\"",
            )
        } else if kept != "p" {
            (
                "is emptied by a crash of the server, which forgets the holders of locks",
                "alter table … set logged",
            )
        } else {
            return Ok(());
        };
        let help = format!("{help}, as `tenure schema postgres` has it, or name another schema");
        Err(Fault::new(FaultKind::Misconfigured, format!("the table {schema}.locks {what}"), help)
            .into())
    }

    /// One at a time, however many begin at once.
    async fn create(&self, options: &PostgresOptions) -> Result<(), Failure> {
        let tables = tables(&options.schema);
        let all = format!("begin; select pg_advisory_xact_lock({CREATION}); {tables} commit;");
        let made = self.await_completion(None, self.client.batch_execute(&all)).await;
        let Err(error) = made.result else { return Ok(()) };
        let _ = self.await_completion(None, self.client.batch_execute("rollback")).await;
        // Whoever waited for another one to make them may still believe that they are not there.
        if error.code().is_some_and(|code| MADE_MEANWHILE.contains(code)) {
            return Ok(());
        }
        if let Some(fault) = of_another(&error) {
            return Err(fault.into());
        }
        let why = error::text(&error);
        match error::of_statement(error, false) {
            Failure::Crossed => Err(Failure::Crossed),
            failure => {
                let fault = failure.fault();
                let is_refused = fault.kind() == FaultKind::Misconfigured;
                Err(if is_refused { missing(options, &why) } else { fault }.into())
            }
        }
    }

    /// Waits for an answer and its end. That comes later where it is an error, and a pooler may give the session to the
    /// next one at the end of an answer although something was sent meanwhile: to that, the next one would get the answer.
    pub(crate) async fn await_completion<T>(
        &self,
        tag: impl Into<Option<QueryTag>>,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Answer<T> {
        let (mut over, tag) = (self.answers.over(), tag.into());
        self.answers.expect(tag);
        let result = asked.await;
        match &result {
            Ok(_) => {}
            Err(error) if error.as_db_error().is_some() => {
                let _ = select(pin!(over.changed()), pin!(self.heard.wait_until_over())).await;
            }
            // What comes still nobody knows.
            Err(_) => self.retire(),
        }
        self.answers.expect(None);
        // The next question takes it back.
        let is_doubtful = tag.is_some() && result.is_err() && self.answers.is_doubtful();
        Answer { result, is_doubtful }
    }

    /// The values of one row of a selection.
    async fn select_row<const N: usize>(&self, selection: &str) -> Result<[String; N], Failure> {
        let first = self.ask_row(selection).await;
        if !first.is_doubtful || self.is_direct.load(Ordering::Relaxed) {
            return first.result.map_err(|error| error::of_statement(error, false));
        }
        // If that was another client's error, our answer comes instead of this one, which ends the session.
        self.ask_row(selection).await.result.map_err(|error| {
            let is_told = error.as_db_error().is_some();
            let failure = error::of_statement(error, false);
            if is_told { failure } else { Failure::Doubtful(failure.fault()) }
        })
    }

    async fn ask_row<const N: usize>(&self, selection: &str) -> Answer<[String; N]> {
        let tag = self.answers.tag();
        let text = format!("select true as {tag}, {selection}");
        let Answer { result, is_doubtful } =
            self.await_completion(tag, self.client.simple_query(&text)).await;
        let values = |said: Vec<SimpleQueryMessage>| {
            let row = said.iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            });
            // Behind the one by which it is known.
            array::from_fn(|index| {
                row.and_then(|row| row.try_get(index + 1).ok()?).unwrap_or_default().to_owned()
            })
        };
        Answer { result: result.map(values), is_doubtful }
    }
}

/// How often tables are made that others are making, too.
const CREATIONS: u32 = 3;
/// How often it is tried at most while others are at it, which the time for making a connection bounds as well; and the
/// pause before the next time.
const CROSSED_CREATIONS: u32 = 100;
pub(crate) const PAUSE: Duration = Duration::from_millis(50);
pub(super) const MADE_MEANWHILE: [SqlState; 4] = [
    SqlState::UNIQUE_VIOLATION,
    SqlState::DUPLICATE_SCHEMA,
    SqlState::DUPLICATE_TABLE,
    SqlState::DUPLICATE_OBJECT,
];

/// Of the lock under which tables are made.
pub(super) const CREATION: i64 = 0x7465_6e75_7265;

fn missing(options: &PostgresOptions, why: &str) -> Fault {
    let what = format!("this user cannot create the tables in the schema {}", options.schema);
    let help = "let their owner run what `tenure schema postgres` prints, and grant this user what it says";
    Fault::new(FaultKind::Misconfigured, what, help).because(why.to_owned())
}
