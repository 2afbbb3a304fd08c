//! What the server's errors mean: whether a call had an effect, and what the user can do ([S9](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s9-faults-are-values)).

mod form;

use form::{CLUSTER, DeploymentKind, form, unreachable_help};
use tenure_core::{Fault, FaultKind};

use crate::client::{ConnectStep, Failure, connection::tls};

/// What a server does that has some keys of a call and gave away others.
pub(crate) const MOVING: &str = "is moving the slot of this lock to another node";

/// How an error code bears on a call: its kind, what happened, and the help.
const CODES: &[(&str, FaultKind, &str, &str)] = &[
    ("LOADING", FaultKind::Unreachable, "is still loading its data", "wait until it has started"),
    ("BUSY", FaultKind::Unreachable, "is busy with a slow script", "end the script: SCRIPT KILL"),
    (
        "READONLY",
        FaultKind::Unreachable,
        "is a replica and takes no writes",
        "point the URL to the primary, or wait for the failover to end",
    ),
    (
        "OOM",
        FaultKind::Unreachable,
        "is out of memory",
        "raise its maxmemory or remove data; locks that are held can still be renewed and released",
    ),
    (
        "NOAUTH",
        FaultKind::Misconfigured,
        "wants a password",
        "put user and password into the URL, before the host: user:password@host",
    ),
    (
        "WRONGPASS",
        FaultKind::Misconfigured,
        "refuses this user and password",
        "correct them in the URL, with special characters percent-encoded, or where they are read \
         from",
    ),
    (
        "NOPERM",
        FaultKind::Misconfigured,
        "does not permit this user what a lock needs",
        "give it the ACL line of https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis.md, or with layout= that of https://github.com/tenure-rs/tenure/blob/main/docs/together.md, and +wait for replicas=",
    ),
    (
        "TORN",
        FaultKind::InDoubt,
        "refused a command that a lock needs in the middle of a script",
        "give this user the ACL line of https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis.md, or with layout= that of https://github.com/tenure-rs/tenure/blob/main/docs/together.md",
    ),
    (
        "MISCONF",
        FaultKind::Misconfigured,
        "takes no writes because it cannot save its data",
        "free space in the server's directory (CONFIG GET dir) or let it write there, then run BGSAVE; until then no lock that \
         is held can be renewed",
    ),
    ("EXECABORT", FaultKind::Unreachable, "refused a transaction", "see the server's log"),
    (
        "NOREPLICAS",
        FaultKind::Unreachable,
        "has too few replicas",
        "bring its replicas back: see INFO replication",
    ),
    ("MASTERDOWN", FaultKind::Unreachable, "has lost its primary", "wait for the failover"),
    (
        "CLUSTERDOWN",
        FaultKind::Unreachable,
        "belongs to a cluster that is down",
        "repair the cluster: see CLUSTER INFO and CLUSTER NODES",
    ),
    ("TRYAGAIN", FaultKind::Unreachable, MOVING, "wait until it has moved"),
    (
        "MOVED",
        FaultKind::Misconfigured,
        "is one node of a cluster and does not have this key",
        "write redis-cluster:// and some of its nodes into the URL",
    ),
    (
        "CROSSSLOT",
        FaultKind::Unsupported,
        "is one node of a cluster and keeps these names, or the keys of this lock, in different slots",
        "write redis-cluster:// and some of its nodes into the URL; there, ask for several names one by one",
    ),
    (
        "ASK",
        FaultKind::Misconfigured,
        "is one node of a cluster and is moving this key to another",
        "write redis-cluster:// and some of its nodes into the URL",
    ),
];

/// How Redis, and later ones and Valkey, say that a user may not run a command of a script. Nothing
/// tells whether others before it were writes: scripts that know of none say `NOPERM` instead.
const IN_A_SCRIPT: [&str; 2] = ["user executing the script can't", "ACL failure in script"];

/// Whether a script ended in its midst, after it may have written.
pub(crate) fn is_midway(detail: &str) -> bool {
    IN_A_SCRIPT.iter().any(|text| detail.contains(text))
}

/// What an error in answer to a command means. Without a word from the server the command may
/// have taken effect.
pub(crate) fn of_command(place: &str, error: Failure) -> Fault {
    if let Some(fault) = of_code(place, &error) {
        return fault.because(said(error));
    }
    let (what, help) = if error.is_timeout() {
        (
            format!("Redis at {place} did not answer in time"),
            "see whether it is slow, or raise response_timeout in the URL",
        )
    } else if matches!(error, Failure::Unconfirmed(_) | Failure::Unmarked(_)) {
        (
            format!("Redis at {place} has too few replicas that have confirmed it in time"),
            "see why they are unreachable or behind; replicas= and replica_timeout= in the URL \
             set how many, and how long tenure waits for them",
        )
    } else if error.is_an_answer() {
        (format!("Redis at {place} failed in a script"), "see the server's log")
    } else {
        (
            format!("the connection to Redis at {place} broke during a call"),
            "check that the server runs and can be reached",
        )
    };
    Fault::new(FaultKind::InDoubt, what, help).because(said(error))
}

/// What the server or the system said, without what it repeats of a command: that can be a password.
pub(crate) fn said(error: Failure) -> Box<dyn std::error::Error + Send + Sync> {
    let text = error.to_string();
    match text.split_once("with args") {
        Some((before, _)) => before.trim_end_matches([' ', ',']).into(),
        None => error.into(),
    }
}

/// What it means that a step of connecting failed. Nothing was sent that could have had an effect.
pub(crate) fn of_step(place: &str, step: ConnectStep, error: Failure) -> Fault {
    if error.is_lack_of_files() {
        let what =
            format!("no connection to Redis at {place} can be opened: too many files are open");
        let help = "raise the limit of open files (ulimit -n)";
        return Fault::new(FaultKind::Unreachable, what, help).because(error);
    }
    let silent = error.is_timeout();
    // A server may refuse a client's certificate only after the handshake.
    let told = tls::trouble(&error).is_some();
    let gone = !told && matches!(error, Failure::Io(_) | Failure::Nonsense);
    let (what, help) = match step {
        ConnectStep::Name if gone => (
            format!("the host name in {place} does not resolve"),
            "correct the host in the URL, or check that this machine's DNS knows it",
        ),
        ConnectStep::Connection if silent => (
            format!("Redis at {place} cannot be reached: nothing answers there"),
            unreachable_help(place),
        ),
        ConnectStep::Tls if silent => (
            format!("the server at {place} does not speak TLS"),
            match form(place) {
                DeploymentKind::Server => {
                    "write redis:// if the port speaks no TLS, or raise connect_timeout in the URL"
                }
                DeploymentKind::Cluster => {
                    "write redis-cluster:// if its nodes speak no TLS, or raise connect_timeout in the URL"
                }
                DeploymentKind::Sentinel => {
                    "write redis-sentinel:// if no server uses TLS, sentinel_tls=no if only the \
                     sentinels do not, or raise connect_timeout in the URL"
                }
            },
        ),
        ConnectStep::Login if silent => (
            format!("the server at {place} accepts connections, but does not answer"),
            "check that it is a Redis server and responds, or raise connect_timeout in the URL",
        ),
        ConnectStep::Login if gone => (
            format!("the server at {place} does not speak the protocol of Redis"),
            match form(place) {
                _ if place.starts_with("rediss") => {
                    "check that it is a Redis server, and read its log"
                }
                DeploymentKind::Server => {
                    "check that it is a Redis server; write rediss:// if the port wants TLS"
                }
                DeploymentKind::Cluster => {
                    "check that it is a node of a cluster; write rediss-cluster:// if they want TLS"
                }
                DeploymentKind::Sentinel => {
                    "see what it is; write rediss-sentinel:// if servers and sentinels want TLS, \
                     sentinel_tls=yes if the sentinels alone do"
                }
            },
        ),
        _ => return of_connecting(place, error),
    };
    Fault::new(FaultKind::Unreachable, what, help).because(said(error))
}

/// What an error while connecting means. Nothing was sent that could have had an effect.
pub(crate) fn of_connecting(place: &str, error: Failure) -> Fault {
    if let Some(fault) = of_code(place, &error) {
        return fault.because(said(error));
    }
    if let Some((what, help)) = tls::trouble(&error) {
        let what = format!("Redis at {place} {what}");
        return Fault::new(FaultKind::Misconfigured, what, help).because(said(error));
    }
    let (kind, what, help) = match &error {
        #[cfg(feature = "tls")]
        Failure::Unusable(fault) => {
            let what = format!("Redis at {place} cannot be used with these settings");
            let help = fault.help().to_owned();
            return Fault::new(FaultKind::Misconfigured, what, help)
                .because(fault.message_and_cause());
        }
        #[cfg(not(feature = "tls"))]
        Failure::NoTls => (
            FaultKind::Misconfigured,
            format!("Redis at {place} cannot be used with these settings"),
            "turn on the feature `redis-tls` of tenure",
        ),
        Failure::TooOld => (
            FaultKind::Misconfigured,
            format!("the server at {place} is too old"),
            "use Redis 7.0 or later, or Valkey",
        ),
        Failure::Server(error) if error.detail().contains("DB index") => (
            FaultKind::Misconfigured,
            format!("Redis at {place} has no such database"),
            "choose a smaller number in the URL, or raise `databases`",
        ),
        full if full.is_full() => (
            FaultKind::Unreachable,
            format!("Redis at {place} takes no more connections"),
            "raise its maxclients, or see in CLIENT LIST which clients have many",
        ),
        _ => (
            FaultKind::Unreachable,
            format!("Redis at {place} cannot be reached"),
            unreachable_help(place),
        ),
    };
    Fault::new(kind, what, help).because(said(error))
}

/// An answer that belongs to somebody else, or to nobody.
pub(crate) fn mismatched_reply(place: &str) -> Fault {
    let what = format!("Redis at {place} answered a different call");
    Fault::new(
        FaultKind::InDoubt,
        what,
        "check which proxies are between this process and the server",
    )
}

fn of_code(place: &str, error: &Failure) -> Option<Fault> {
    let mut code = error.code()?;
    if error.detail().is_some_and(is_midway) {
        code = "TORN";
    }
    if refuses_scripts(error) {
        let what = format!("Redis at {place} lets this user run no scripts");
        let help = if place.contains(CLUSTER) {
            "give it the ACL line of https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis-cluster.md, on each node"
        } else {
            "give it the ACL line of https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis.md; or write scripts=no into the URL, which is enough for a mutex"
        };
        return Some(Fault::new(FaultKind::Misconfigured, what, help));
    }
    let entry = CODES.iter().find(|(known, ..)| *known == code)?;
    Some(of_entry(place, entry))
}

/// Whether the server runs no scripts, for this user or for anybody.
fn refuses_scripts(error: &Failure) -> bool {
    let says = |text: &str| error.detail().is_some_and(|detail| detail.contains(text));
    let names_them = says("'eval") || says("'EVAL");
    names_them && (error.code() == Some("NOPERM") || says("unknown command"))
}

fn of_entry(place: &str, entry: &(&str, FaultKind, &str, &str)) -> Fault {
    let (code, kind, what, help) = entry;
    let help = match *code {
        "NOPERM" | "TORN" if place.contains(CLUSTER) => {
            "give it the ACL line of https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis-cluster.md, on each node, and +wait for replicas="
        }
        "WRONGPASS" if place.contains(CLUSTER) => {
            "correct them in the URL, or give this node the user that the others have: users are not copied"
        }
        _ => help,
    };
    Fault::new(*kind, format!("Redis at {place} {what}"), help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ServerError;

    fn server(code: &str, detail: &str) -> Failure {
        Failure::Server(Box::new(ServerError::new(format!("{code} {detail}"))))
    }

    #[test]
    fn each_code_says_whether_it_had_an_effect() {
        for (code, kind, ..) in CODES {
            let error = server(code, "text");
            assert_eq!(of_command("here", error).kind(), *kind, "{code}");
        }
    }

    #[test]
    fn what_is_not_known_is_in_doubt() {
        let error = Failure::Server(Box::new(ServerError::new("STRANGE")));
        assert_eq!(of_command("here", error).kind(), FaultKind::InDoubt);
        let error = Failure::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(of_command("here", error).kind(), FaultKind::InDoubt);
    }

    #[test]
    fn what_a_script_may_not_do_is_in_doubt_unless_the_script_says_otherwise() {
        for (code, text, kind) in [
            ("ERR", "The user executing the script can't run this", FaultKind::InDoubt),
            ("NOPERM", "ACL failure in script: User me has no permissions", FaultKind::InDoubt),
            ("NOPERM", "this user may not run SET script: 1234", FaultKind::Misconfigured),
        ] {
            let error = server(code, text);
            assert_eq!(of_command("here", error).kind(), kind, "{text}");
        }
    }

    #[test]
    fn what_a_server_repeats_of_a_command_is_not_shown() {
        let text = "unknown command 'AUTH', with args beginning with: 'secret' ";
        for of in [of_command, of_connecting] {
            let error = server("ERR", text);
            let said = format!("{:#}", of("here", error));
            assert!(said.contains("unknown command") && !said.contains("secret"), "{said}");
        }
    }

    #[test]
    fn who_may_run_no_scripts_is_told_how_to_do_without() {
        for (code, text) in [
            ("NOPERM", "User me has no permissions to run the 'evalsha' command"),
            ("ERR", "unknown command 'EVALSHA', with args beginning with: 'digest' "),
        ] {
            let fault = of_command("here", server(code, text));
            assert_eq!(fault.kind(), FaultKind::Misconfigured);
            assert!(fault.help().contains("scripts=no"), "{fault:#}");
        }
        let other = of_command("here", server("NOPERM", "User me may not run the 'set' command"));
        assert!(!other.help().contains("scripts=no"), "{other}");
    }

    #[test]
    fn a_full_server_is_told_from_one_that_cannot_be_reached() {
        let fault = of_connecting("here", server("ERR", "max number of clients reached"));
        assert_eq!(fault.kind(), FaultKind::Unreachable);
        assert!(fault.help().contains("maxclients"), "{fault:#}");
    }

    #[test]
    fn what_was_never_sent_had_no_effect() {
        let error = Failure::from(std::io::ErrorKind::ConnectionRefused);
        assert_eq!(of_connecting("here", error).kind(), FaultKind::Unreachable);
    }
}
