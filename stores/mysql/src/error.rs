//! What the server's refusals mean.

use tenure_core::{Fault, FaultKind, store::certificate_cure};
use tenure_sql::{help_unreachable, refuses_certificate};

use crate::client::Error;

/// What to do about a user whom the driver or the server has no way to recognize.
const OTHER_PLUGIN: &str =
    "give this user another plugin: caching_sha2_password, or mysql_native_password on MariaDB";

/// What to do about a server that wants to see the password.
const EXPOSED: &str = "write tls=yes (ssl-mode=VERIFY_IDENTITY) in the URL; or get_server_public_key=yes if no attacker can be between this machine and the server";

const NEW_PASSWORD: &str = "give this user a new password, and put it into the URL";

/// What is said of a user who may not do that with the tables.
pub(crate) const NO_RIGHTS: &str = "this user lacks rights on the tables of tenure";

/// What is said of most that the server says of a statement.
pub(crate) const REFUSED: &str = "the database refused";

/// What became of a statement that failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another transaction was in the way. It had no effect, and can be tried again.
    Crossed,
    /// There is such a row already. It had no effect.
    Duplicate,
    /// There are no tables. It had no effect.
    NoTables(Fault),
    /// The session is gone, or is not as it was told to be any more. It had no effect.
    NotOurs,
    /// Anything else.
    Fault(Fault),
}

impl Failure {
    pub(crate) fn fault(self) -> Fault {
        match self {
            Self::NoTables(fault) | Self::Fault(fault) => fault,
            Self::Crossed | Self::Duplicate => Fault::new(
                FaultKind::Unreachable,
                "the database was busy with another transaction",
                "try again",
            ),
            Self::NotOurs => Fault::new(
                FaultKind::Unreachable,
                "the connection to the database broke",
                "check that the server can be reached, and try again",
            ),
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Whether nothing more should be asked of the session that said so.
pub(crate) fn ends_session(error: &Error) -> bool {
    match error {
        Error::Server(said) => matches!(
            said.code,
            // Unknown there: a prepared statement, or whatever is asked of a node that is not in its cluster.
            1243 | 1047
            // It goes, or this session does.
            | 1053 | 1598 | 1927 | 3169 | 4031
            // A group that lost its majority may have left this server behind.
            | 3100
            // Another server may take writes.
            | 1290 | 1792 | 1836
        ),
        Error::Io(_) | Error::Odd(_) | Error::NoTls | Error::Plugin(_) | Error::Exposed => true,
    }
}

/// What became of a statement that was sent, and may have been carried out unless the server says that it was not.
pub(crate) fn of_statement(error: Error, writes: bool) -> Failure {
    let unclear = if writes { FaultKind::InDoubt } else { FaultKind::Unreachable };
    let Error::Server(said) = &error else {
        let help = "check that the server can be reached, and try again";
        let what = match &error {
            Error::Odd(_) => "the database sent an invalid answer, so tenure closed the connection",
            _ => "the connection to the database broke",
        };
        return Failure::Fault(Fault::new(unclear, what, help).because(error));
    };
    let because = |fault: Fault| fault.because(error.to_string());
    let fault =
        |kind, help: &str| Failure::Fault(because(Fault::new(kind, REFUSED, help.to_owned())));
    match said.code {
        // A deadlock, a conflict between the nodes of a cluster, a lock that was waited for too long, a row that
        // changed while it was looked at, a conflict that a group of servers undid as it was committed.
        1213 | 1205 | 1020 | 3101 => Failure::Crossed,
        1062 => Failure::Duplicate,
        // What is ended while it waits for a replica may have been committed. So may a commit that failed: its log may
        // have been written (1026, 1180), the server stops and finds it there when it starts again (1598), or the
        // others of its group have it (3100).
        1026 | 1053 | 1180 | 1317 | 1598 | 1927 | 1969 | 3024 | 3100 | 3169 | 4031 => {
            fault(unclear, "try again once the server is up")
        }
        1290 | 1792 | 1836 => Failure::Fault(because(Fault::new(
            FaultKind::Unreachable,
            "the server takes no writes: it is a replica, or its transactions are read-only",
            "name the primary in the URL, or several hosts that include it; if this server is the \
             primary, see read_only and transaction_read_only of the server",
        ))),
        1146 => Failure::NoTables(because(Fault::new(
            FaultKind::Misconfigured,
            "the tables of tenure do not exist",
            "create them as `tenure schema mysql` says (with --schema for other names), or name \
             others in the URL: tables=",
        ))),
        1820 | 1862 => fault(FaultKind::Misconfigured, NEW_PASSWORD),
        1044 | 1045 | 1142 | 1143 | 1227 | 1370 => Failure::Fault(because(Fault::new(
            FaultKind::Misconfigured,
            NO_RIGHTS,
            "grant them as in the last lines of `tenure schema mysql`",
        ))),
        1054 | 1136 | 1364 | 1366 | 1406 => fault(
            FaultKind::Misconfigured,
            "the tables are not those of tenure: name others in the URL with tables=",
        ),
        // A setting that the server does not have.
        1193 => fault(FaultKind::Misconfigured, "use MySQL 8.0 or later, or MariaDB 10.6 or later"),
        // Of a log that says which statements were run, not what they did.
        1665 => fault(FaultKind::Misconfigured, "set binlog_format of the server to ROW or MIXED"),
        // Full, out of memory, too much at once: it may be better soon.
        _ => fault(FaultKind::Unreachable, "see what the server lacks, and try again"),
    }
}

/// Whether the server takes this user with another password, as far as it says.
pub(crate) fn refuses_login(error: &Error) -> bool {
    matches!(error, Error::Server(said) if said.code == 1045)
}

/// Why no connection was made.
pub(crate) fn of_connecting(error: &Error, server: &str, is_encrypted: bool) -> Fault {
    let said = error.to_string();
    let of_certificate = refuses_certificate(&said);
    let what = if of_certificate {
        format!("the server at {server} does not accept the client's certificate")
    } else {
        format!("the connection to {server} failed")
    };
    let (kind, help) = match error {
        _ if of_certificate => (
            FaultKind::Misconfigured,
            "name a certificate that an authority of the server (its ssl_ca) has signed, and its key: ssl-cert= and ssl-key= in the URL",
        ),
        Error::Server(said) if said.code == 3159 => (
            FaultKind::Misconfigured,
            "this server wants TLS: write tls=yes (ssl-mode=VERIFY_IDENTITY) in the URL",
        ),
        Error::Server(said) if matches!(said.code, 1820 | 1862) => {
            (FaultKind::Misconfigured, NEW_PASSWORD)
        }
        // Some say this of users who may come over TLS alone.
        error if refuses_login(error) && said.contains("using password: NO") => (
            FaultKind::Misconfigured,
            "write the password into the URL, mysql://user:password@host/database, or name a file with it: password_file=",
        ),
        error if refuses_login(error) && is_encrypted => (
            FaultKind::Misconfigured,
            "correct the user and the password in the URL, or where it is read from; if the user is to show a certificate \
             (REQUIRE X509), name it and its key: ssl-cert= and ssl-key=",
        ),
        error if refuses_login(error) => (
            FaultKind::Misconfigured,
            "correct the user and the password in the URL, or where it is read from; or write tls=yes if the server wants TLS",
        ),
        // It comes after a password that was right.
        Error::Server(said) if said.code == 1044 => (
            FaultKind::Misconfigured,
            "create the database if it does not exist, and grant it to this user: grant all on \
             DATABASE.* to USER; or name another one in the URL",
        ),
        Error::Server(said) if said.code == 1130 => (
            FaultKind::Misconfigured,
            "create this user for the address of this machine: create user NAME@'%'",
        ),
        Error::Server(said) if matches!(said.code, 1698 | 3118) => (
            FaultKind::Misconfigured,
            "correct the user and the password in the URL, or where it is read from; or see whether the server has locked this user",
        ),
        Error::Server(said) if said.code == 1049 => {
            (FaultKind::Misconfigured, "create the database, or name another one in the URL")
        }
        Error::Server(said) if matches!(said.code, 1203 | 1226) => (
            FaultKind::Unreachable,
            "raise max_user_connections, of this user or of the server: each process of tenure needs two connections",
        ),
        Error::Server(said) if said.code == 1040 => (
            FaultKind::Unreachable,
            "raise max_connections of the server, or run fewer processes at once: each needs two connections",
        ),
        Error::Plugin(_) => (FaultKind::Misconfigured, OTHER_PLUGIN),
        Error::NoTls => (
            FaultKind::Misconfigured,
            "turn TLS on at the server, or write ssl-mode=DISABLED where nobody can stand between this machine and it",
        ),
        Error::Exposed => (FaultKind::Misconfigured, EXPOSED),
        Error::Odd(_) => (
            FaultKind::Unreachable,
            "check that a MySQL or MariaDB server listens there, and that no proxy answers in its place",
        ),
        Error::Io(_) if said.contains("certificate") => (
            FaultKind::Misconfigured,
            certificate_cure(
                &said,
                "name the authority that signed the server's certificate: ssl-ca=/path/ca.pem in the URL, and the host as the certificate has it",
            ),
        ),
        // A plugin that the server no longer has.
        Error::Server(said) if said.code == 1524 => (FaultKind::Misconfigured, OTHER_PLUGIN),
        _ => (FaultKind::Unreachable, help_unreachable(&said)),
    };
    Fault::new(kind, what, help).because(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ServerError;

    fn said(code: u16) -> Error {
        Error::Server(ServerError { code, message: "no".to_owned() })
    }

    #[test]
    fn a_commit_that_failed_is_in_doubt_unless_it_was_undone_for_sure() {
        for code in [1053, 1180, 1598, 3100] {
            for (writes, kind) in [(true, FaultKind::InDoubt), (false, FaultKind::Unreachable)] {
                let fault = of_statement(said(code), writes).fault();
                assert_eq!(fault.kind(), kind, "{code}");
            }
        }
        for code in [1020, 1205, 1213, 3101] {
            assert!(matches!(of_statement(said(code), true), Failure::Crossed), "{code}");
            assert!(!ends_session(&said(code)), "{code}");
        }
        assert!(ends_session(&said(1598)) && ends_session(&said(3100)));
    }
}
