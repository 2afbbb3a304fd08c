//! What the client's errors mean: whether a call had an effect, and what the user can do ([S9](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s9-faults-are-values)).

use tenure_core::{Fault, FaultKind, proto::queue::Kind, store::certificate_cure};

use crate::client::Error;

const ANSWERS: &str = "sent an invalid answer, so tenure closed the connection";
const BETWEEN: &str =
    "check that ZooKeeper servers listen there, and that no proxy answers in their place";

/// What an error in answer to a call means. Without a word from the ensemble a call that writes may have
/// taken effect.
pub(crate) fn of_call(place: &str, error: Error, writes: bool) -> Fault {
    use FaultKind::{InDoubt, Misconfigured, Unreachable};
    let (kind, what, help) = match &error {
        Error::NoAuth | Error::InvalidAcl => (
            Misconfigured,
            "does not permit this user what a lock needs",
            "check the rights: zkCli.sh getAcl PATH, from the base path down; give the user \
             create, delete, read and write (cdrw). With auth=digest every password is accepted \
             at login, and a wrong one means another user",
        ),
        Error::Stale => (
            Unreachable,
            "refuses this user and password",
            "correct the password where it is read from: the next login reads it again",
        ),
        Error::NoSasl => (
            Misconfigured,
            "has no SASL login",
            "write auth=digest in the URL, or give the servers a SASLAuthenticationProvider and a section Server in their JAAS file",
        ),
        Error::AuthFailed => (
            Misconfigured,
            "refuses this user and password",
            "correct them in the URL, with special characters percent-encoded, or where they are \
             read from; if the user is known by digest, write auth=digest",
        ),
        Error::Unproven => (
            Misconfigured,
            "did not prove that it knows the password, as each server that keeps it does",
            "find out what listens there or is in between, and whether it is ZooKeeper; tls=yes \
             excludes others. If there may be others, choose another password: this one can be \
             guessed from what was sent",
        ),
        Error::Untrusted(why) => (
            Misconfigured,
            "has no certificate that is trusted",
            certificate_cure(
                why,
                "name the authority that signed it, ca= in the URL, and the hosts as it has them",
            ),
        ),
        Error::QuotaExceeded => (
            Misconfigured,
            "has a quota that is reached",
            "see and raise it, of the base path or above: zkCli.sh listquota PATH, setquota -N COUNT PATH",
        ),
        Error::NoChildrenForEphemerals => (
            Misconfigured,
            "has an ephemeral node of another program at the lock's directory",
            "choose another name, or another base path",
        ),
        Error::NotReadOnly => (
            Unreachable,
            "has no majority at the moment, and takes no writes",
            "check that a majority of its servers runs",
        ),
        Error::Throttled => (Unreachable, "is busy and accepted nothing", "try again"),
        Error::Odd(_) if writes => (InDoubt, ANSWERS, BETWEEN),
        Error::Odd(_) => (Unreachable, ANSWERS, BETWEEN),
        Error::SessionExpired | Error::ClientClosed => (
            Unreachable,
            "has ended the session",
            "try again: a new one begins; all holds of the old one are lost",
        ),
        Error::Unimplemented => {
            (FaultKind::Unsupported, "is too old: 3.6 or later is needed", "update its servers")
        }
        Error::NoNode | Error::NodeExists | Error::NotEmpty | Error::BadVersion => {
            (Unreachable, "was changed meanwhile by another client", "try again")
        }
        _ if writes => (
            InDoubt,
            "did not answer during a call",
            "check that its servers run and can be reached",
        ),
        _ => (Unreachable, "did not answer", "check that its servers run and can be reached"),
    };
    Fault::new(kind, format!("ZooKeeper at {place} {what}"), help).because(error)
}

/// No answer came in time.
pub(crate) fn timed_out(place: &str, writes: bool) -> Fault {
    let kind = if writes { FaultKind::InDoubt } else { FaultKind::Unreachable };
    let what = format!("ZooKeeper at {place} did not answer in time");
    Fault::new(
        kind,
        what,
        "check that a majority of its servers runs, or raise response_timeout in the URL",
    )
}

/// It answers again after a pause, and the session is not known to live for long enough yet. The node of the ask is there.
pub(crate) fn stood_still(place: &str) -> Fault {
    let what = format!("ZooKeeper at {place} stood still, and does not vouch for a lease yet");
    Fault::new(FaultKind::InDoubt, what, "try again in a few seconds, or wait for the lock")
}

/// There is no connection, so nothing was sent.
pub(crate) fn away(place: &str, over_tls: bool) -> Fault {
    let what =
        format!("no server of ZooKeeper at {place} can be reached, or they have no majority");
    // The client does not tell whether it was that.
    let help = if over_tls {
        "check that they run and can be reached over TLS, that ca= names the authority of their certificates, which \
         are for these hosts, and that cert= and key= are there if they want them"
    } else {
        "check that they run and can be reached"
    };
    Fault::new(FaultKind::Unreachable, what, help)
}

/// The ensemble's answers are of another session than the one that has the holds.
pub(crate) fn replaced(place: &str) -> Fault {
    let what = format!("ZooKeeper at {place} began another session on its own");
    Fault::new(FaultKind::Unreachable, what, "try again; all holds of the old one are lost")
}

pub(crate) fn too_short(place: &str, session: std::time::Duration) -> Fault {
    let what = format!(
        "ZooKeeper at {place} granted a session of {session:?}, too short to count on anything"
    );
    Fault::new(
        FaultKind::Misconfigured,
        what,
        "raise session= in the URL and maxSessionTimeout of the servers; if their tickTime is \
         less than 2 s, write it: tick=500ms",
    )
}

pub(crate) fn other_kind(used_as: Kind) -> Fault {
    let what = format!("the name is used as another kind of lock: {used_as}");
    let help = "use each name for one kind of lock, or wait until no process uses it as the other";
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// What helps against any other program.
pub(crate) const KEEP_APART: &str = "let one library use each name, and give the other one another name or base path; a \
    node that no program needs any more can be deleted";
/// What helps against kazoo's nodes among those of Curator.
pub(crate) const KAZOO_HELP: &str = "if only kazoo and tenure use this base path, write layout=kazoo in the URL of each \
    tenure; or let Python write Curator's nodes, by a subclass with _NODE_NAME = \"-lock-\" and _EXCLUDE_NAMES = \
    [\"lock-\"], as docs/together.md says. extra_lock_patterns=[\"lock-\"] alone is not enough: Curator does not wait \
    for kazoo's own nodes";
/// What helps against Curator's nodes among those of kazoo.
pub(crate) const CURATOR_HELP: &str = "use layout=kazoo where only kazoo and tenure with layout=kazoo share the base \
    path, and leave it out elsewhere, as docs/together.md says; kazoo does not wait for such nodes";

pub(crate) fn other_program(path: &str, program: &str, help: &'static str) -> Fault {
    let what = format!(
        "the name is used by another program: {path} is a node of {program}, which tenure's locks do not exclude"
    );
    Fault::new(FaultKind::Misconfigured, what, help)
}

pub(crate) fn no_token() -> Fault {
    let what = "no fencing token is left for this transaction";
    Fault::new(FaultKind::Misconfigured, what, "lower epoch= in the URL")
}

/// Other programs make tokens of another form.
pub(crate) fn other_tokens(base: &str, recorded: &str, ours: &str) -> Fault {
    let what = format!(
        "the tokens of all locks at the base path are tokens={recorded}, as the data of {base} record, and this program \
         has tokens={ours}"
    );
    let help = format!(
        "write tokens= in the URL as the other programs do (shifted is the default), or use another base path. To \
         change it, {}",
        record_anew("FORM")
    );
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// How an operator records the form of the tokens. Data that are set are lost with a container.
pub(crate) fn record_anew(form: &str) -> String {
    format!(
        "stop all programs that use the path, reset the fences, and make it anew, so that it stays: zkCli.sh deleteall \
         PATH, then zkCli.sh create PATH tokens={form}, with an ACL as its last word if the locks have one"
    )
}

/// Others may have used the base path without a record.
pub(crate) fn unrecorded_tokens(base: &str) -> Fault {
    let what =
        format!("tokens=czxid is not recorded as the data of {base}, which was there before");
    let help = format!("use a base path that does not exist yet. Or {}", record_anew("czxid"));
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// There is no room to record that tokens are bare.
pub(crate) fn no_token_record(base: &str) -> Fault {
    let what = format!("tokens=czxid is recorded as the data of {base}, which has other data");
    let help = format!(
        "use a base path that does not exist yet. Or, if no program needs the data: {}",
        record_anew("czxid")
    );
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// The server's counter is at its end: who came first is not to be told any more. It starts again with a new directory,
/// which does not come where the old one `stays`.
pub(crate) fn used_up(name: &str, stays: Option<&str>) -> Fault {
    let what = format!("{name:?} had two billion contenders, and the server has no more numbers");
    let help = match stays {
        Some(dir) => format!(
            "delete {dir} while no program uses it: zkCli.sh delete PATH; or use another name"
        ),
        None => {
            "stop using it until its node is gone, about a minute; or use another name".to_owned()
        }
    };
    Fault::new(FaultKind::Misconfigured, what, help)
}

pub(crate) fn other_mode() -> Fault {
    let what = "the owner has it in another mode";
    Fault::new(FaultKind::Unsupported, what, "release it and lock it anew")
}

/// An owner stands for one acquisition.
pub(crate) fn other_name() -> Fault {
    let what = "the owner has another name, or waits for it";
    Fault::new(FaultKind::Unsupported, what, "use a new owner for each acquisition")
}

/// More may be there at the moment: others that come, and are refused too.
pub(crate) fn full(max_waiters: usize) -> Fault {
    let what = format!("its queue is full: {max_waiters} wait, which is max_waiters");
    Fault::new(FaultKind::Full, what, "try again when fewer wait")
}

pub(crate) fn permits(take: u32, of: u32) -> Fault {
    let what = format!("{take} of {of} permits can never be granted");
    let help = "take at least one permit, and at most all of them";
    Fault::new(FaultKind::Misconfigured, what, help)
}

pub(crate) fn cannot(what: &'static str, help: &'static str) -> Fault {
    Fault::new(FaultKind::Unsupported, what, help)
}
