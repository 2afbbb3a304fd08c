//! What the server's refusals mean.

use std::{error::Error as _, io};

use tenure_core::{Fault, FaultKind, store::certificate_cure};
use tenure_sql::{UNREACHABLE, help_unreachable, refuses_certificate};
use tokio_postgres::error::{Error, Severity, SqlState};

use crate::{
    config::logins::FEWEST,
    protocol::{
        frames::ConnectionEndReason,
        tls::{ConnectError, is_without_tls},
    },
};

/// What is said where the tables are not there.
pub(crate) const NO_TABLES: &str = "the tables of tenure do not exist";
/// What is said where this user may not do that with them.
pub(crate) const NO_RIGHTS: &str = "this user lacks rights on the tables of tenure";
/// What is said of most that the server says of a statement.
pub(crate) const REFUSED: &str = "the database refused";

/// What became of a statement that failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another transaction was in the way. It had no effect, and can be tried again.
    Crossed,
    /// This connection has lost what it prepared, as behind a pooler. It had no effect.
    Unprepared,
    /// The server takes no writes. It had no effect, and another server may.
    ReadOnly(Fault),
    /// There are no tables. It had no effect.
    NoTables(Fault),
    /// It was refused, unless that is about what another client of a pooler asked. What writes was refused for good.
    Doubtful(Fault),
    /// Anything else.
    Fault(Fault),
}

impl Failure {
    pub(crate) fn fault(self) -> Fault {
        match self {
            Self::ReadOnly(fault)
            | Self::NoTables(fault)
            | Self::Doubtful(fault)
            | Self::Fault(fault) => fault,
            Self::Crossed | Self::Unprepared => Fault::new(
                FaultKind::Unreachable,
                "the database was busy with another transaction",
                "try again",
            ),
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// No answer came in time.
pub(crate) fn late(what: &str, writes: bool) -> Fault {
    let kind = if writes { FaultKind::InDoubt } else { FaultKind::Unreachable };
    Fault::new(kind, format!("{what} in time"), "check that it can be reached, and try again")
}

/// What became of a statement that was sent, and may have been carried out unless the server says that it was not.
pub(crate) fn of_statement(error: Error, writes: bool) -> Failure {
    let Some(said) = error.as_db_error() else {
        let kind = if writes { FaultKind::InDoubt } else { FaultKind::Unreachable };
        let help = "check that the server can be reached, and try again";
        let what = match refused(&error) {
            Some(_) => "the database sent an invalid answer, so tenure closed the connection",
            None => "the connection to the database broke",
        };
        return Failure::Fault(Fault::new(kind, what, help).because(error));
    };
    let code = said.code().clone();
    // The word for people is in the language of the server.
    let is_over = said.parsed_severity() != Some(Severity::Error);
    let fault = |kind, help: &str| {
        Failure::Fault(Fault::new(kind, REFUSED, help.to_owned()).because(text(&error)))
    };
    match code {
        // What is ended while it waits for a replica may have been committed.
        _ if is_over => {
            let kind = if writes { FaultKind::InDoubt } else { FaultKind::Unreachable };
            fault(kind, "try again once the server is up")
        }
        // Ours is the division that undoes a write of several rows.
        SqlState::DIVISION_BY_ZERO
        | SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::LOCK_NOT_AVAILABLE => Failure::Crossed,
        SqlState::INVALID_SQL_STATEMENT_NAME | SqlState::DUPLICATE_PSTATEMENT => {
            Failure::Unprepared
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => Failure::ReadOnly(
            Fault::new(
                FaultKind::Unreachable,
                "the server takes no writes: it is a replica, or its transactions are read-only",
                "name the primary in the URL, or several hosts that include it; if this server is \
                 the primary, see default_transaction_read_only of the server, the database and \
                 the user",
            )
            .because(text(&error)),
        ),
        SqlState::INSUFFICIENT_PRIVILEGE => Failure::Fault(
            Fault::new(
                FaultKind::Misconfigured,
                NO_RIGHTS,
                "grant them as in the last lines of `tenure schema postgres`",
            )
            .because(text(&error)),
        ),
        SqlState::UNDEFINED_TABLE | SqlState::INVALID_SCHEMA_NAME => Failure::NoTables(
            Fault::new(
                FaultKind::Misconfigured,
                NO_TABLES,
                "create them as `tenure schema postgres` says (with --schema for another one), or \
                 name another schema in the URL",
            )
            .because(text(&error)),
        ),
        // An operator for a column of another type is an undefined function.
        SqlState::UNDEFINED_COLUMN
        | SqlState::UNDEFINED_FUNCTION
        | SqlState::DATATYPE_MISMATCH
        | SqlState::INVALID_COLUMN_REFERENCE => fault(
            FaultKind::Misconfigured,
            "the tables are not those of tenure: name another schema",
        ),
        SqlState::SYNTAX_ERROR | SqlState::RESERVED_NAME => fault(
            FaultKind::Misconfigured,
            "name another schema in the URL: this one is a word of SQL",
        ),
        SqlState::UNTRANSLATABLE_CHARACTER => {
            fault(FaultKind::Misconfigured, "use a database whose encoding is UTF8")
        }
        // Full, out of memory, too long for its time limit: it may be better soon.
        _ => fault(FaultKind::Unreachable, "see what the server lacks, and try again"),
    }
}

/// Whether the server takes this user with another password, as far as it says.
pub(crate) fn refuses_password(error: &ConnectError) -> bool {
    matches!(error, ConnectError::Told(error) if error.code() == Some(&SqlState::INVALID_PASSWORD))
}

/// Why no connection was made.
pub(crate) fn of_connecting(error: &ConnectError, location: &str) -> Fault {
    let what = format!("the connection to {location} failed");
    let error = match error {
        ConnectError::Told(error) => error,
        ConnectError::Socket(error) => {
            let said = error.to_string();
            let help = match help_unreachable(&said) {
                UNREACHABLE => "start the server, or name the directory of its socket in the URL",
                other => other,
            };
            return Fault::new(FaultKind::Unreachable, what, help).because(said);
        }
        ConnectError::ReadOnly => {
            let help = "name the server that takes writes, or wait until this one does";
            return Fault::new(FaultKind::Unreachable, what, help)
                .because("database does not allow writes");
        }
    };
    match refused(error) {
        Some(refused @ ConnectionEndReason::Login(login)) => {
            let help = format!(
                "write tls=yes (sslmode=verify-full) in the URL, and let the server keep the \
                 password for scram-sha-256; or require_auth={} if no attacker can be between \
                 this machine and the server",
                login.name()
            );
            return Fault::new(FaultKind::Misconfigured, what, help).because(refused);
        }
        Some(refused @ ConnectionEndReason::Rounds(rounds)) => {
            let help = if rounds < FEWEST {
                format!(
                    "write tls=yes (sslmode=verify-full) in the URL, or set the password again on \
                     the server with a scram_iterations of {FEWEST} or more: with fewer it can be \
                     guessed from the proof. If the server keeps it with more, find out what is \
                     in between"
                )
            } else {
                "set the password again on the server with a lower scram_iterations".to_owned()
            };
            return Fault::new(FaultKind::Misconfigured, what, help).because(refused);
        }
        Some(refused @ ConnectionEndReason::Unproven) => return unproven(what).because(refused),
        Some(refused @ (ConnectionEndReason::Odd(_) | ConnectionEndReason::Others)) => {
            let help = "check that a PostgreSQL server listens there, and that no proxy answers in its place";
            return Fault::new(FaultKind::Unreachable, what, help).because(refused);
        }
        None => {}
    }
    let said = text(error);
    if refuses_certificate(&said) {
        let what = format!("the server at {location} does not accept the client's certificate");
        let help = "name a certificate that an authority of the server (its ssl_ca_file) has signed, and its key: sslcert= and \
                    sslkey= in the URL";
        return Fault::new(FaultKind::Misconfigured, what, help).because(said);
    }
    // By the driver, in the midst of a login by SCRAM: the server's own refusals have codes.
    if said.starts_with("authentication error") {
        if !said.contains("unsupported") {
            return unproven(what).because(said);
        }
        let help = "let the server authenticate this user with scram-sha-256 (pg_hba.conf)";
        return Fault::new(FaultKind::Misconfigured, what, help).because(said);
    }
    let (kind, help) = match error.code() {
        None if said.contains("password missing") => (
            FaultKind::Misconfigured,
            "write the password into the URL, postgres://user:password@host/database, or name a file with it: password_file=",
        ),
        Some(code)
            if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
                && said.contains("valid client certificate") =>
        {
            (
                FaultKind::Misconfigured,
                "name a certificate and its key in the URL: sslcert=/path/client.pem&sslkey=/path/client.key",
            )
        }
        // Of a user from there, or of one over such a connection, the server knows nothing.
        Some(code)
            if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
                // The words before PostgreSQL 14 are the second ones.
                && (said.contains("no encryption") || said.contains("SSL off")) =>
        {
            (
                FaultKind::Misconfigured,
                "write tls=yes (sslmode=verify-full) in the URL if the server takes this user \
                 only over TLS; if it has no line for this user, database and address in \
                 pg_hba.conf, add one, and reload it",
            )
        }
        Some(code)
            if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
                && said.contains("pg_hba.conf") =>
        {
            (
                FaultKind::Misconfigured,
                "add a line for this user, database and address to pg_hba.conf, and reload the server",
            )
        }
        // The certificate that was shown here is not that of the server.
        Some(code)
            if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
                && said.contains("channel binding") =>
        {
            (
                FaultKind::Misconfigured,
                "find out what is in between and ends the encryption; if that is your own proxy, \
                 write channel_binding=disable",
            )
        }
        Some(code)
            if [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION]
                .contains(code) =>
        {
            (
                FaultKind::Misconfigured,
                "correct the user and the password in the URL, or where it is read from",
            )
        }
        Some(code) if *code == SqlState::INVALID_CATALOG_NAME => {
            (FaultKind::Misconfigured, "create the database, or name another one in the URL")
        }
        Some(code) if *code == SqlState::TOO_MANY_CONNECTIONS && said.contains("for role") => (
            FaultKind::Unreachable,
            "raise the limit of this role, alter role NAME connection limit N: each process of tenure needs two connections",
        ),
        Some(code) if *code == SqlState::TOO_MANY_CONNECTIONS && said.contains("for database") => (
            FaultKind::Unreachable,
            "raise the limit of this database, alter database NAME connection limit N: each process of tenure needs two connections",
        ),
        Some(code) if *code == SqlState::TOO_MANY_CONNECTIONS => (
            FaultKind::Unreachable,
            "raise max_connections of the server, or run fewer processes at once: each needs two connections",
        ),
        _ if said.contains("certificate") => (
            FaultKind::Misconfigured,
            certificate_cure(
                &said,
                "name the authority that signed the server's certificate: sslrootcert=/path/ca.pem in the URL, and the host as the certificate has it",
            ),
        ),
        _ if is_without_tls(error) => (
            FaultKind::Misconfigured,
            "turn ssl on at the server, or write sslmode=disable where nobody can stand between this machine and it",
        ),
        // A pooler.
        _ if said.contains("unsupported startup parameter") => (
            FaultKind::Misconfigured,
            "leave options= out of the URL, or give tenure one that connects directly to the \
             server",
        ),
        _ => (FaultKind::Unreachable, help_unreachable(&said)),
    };
    Fault::new(kind, what, help).because(said)
}

/// The server was given a proof that the password is known here, and gave none in return.
fn unproven(what: String) -> Fault {
    let what = format!("{what}: the server did not prove that it knows the password");
    let help = "find out what listens there or is in between, and whether it is PostgreSQL; sslmode=verify-full excludes others. If there may be others, choose another password: this one can be guessed from what was sent";
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// Why the connection was ended, where it was for what the server said.
pub(crate) fn refused(error: &Error) -> Option<ConnectionEndReason> {
    let broke = error.source()?.downcast_ref::<io::Error>()?;
    broke.get_ref()?.downcast_ref::<ConnectionEndReason>().copied()
}

/// What the server or the system said, in one line.
pub(crate) fn text(error: &Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{} ({})", said.message(), said.code().code()),
        None => {
            let mut text = error.to_string();
            let mut source = std::error::Error::source(error);
            while let Some(more) = source {
                let more_text = more.to_string();
                if !text.contains(&more_text) {
                    text = format!("{text}: {more_text}");
                }
                source = more.source();
            }
            text
        }
    }
}
