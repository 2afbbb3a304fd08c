//! Which memory of the server this is: that of one run of one process, while it was the primary.
//!
//! It is asked for each time and never kept beside a connection: a proxy may keep a connection while
//! the server behind it is another one. A run ends with the process. The id of the replication ends
//! when a replica is made the primary, which may lack what the old one had answered, and so does that
//! of a primary that was a replica meanwhile. Redis also changes it for no such reason, when a first
//! replica comes and an hour after the last one left, which only costs a quorum a wait.

use tenure_core::{Fault, FaultKind, Incarnation};

use crate::{
    client::{Value, field, text},
    servers::{NodeRef, Transport},
};

pub(crate) async fn ask(transport: &Transport) -> Result<Incarnation, Fault> {
    let place = &transport.place;
    if transport.route.cluster().is_some() {
        let what = format!("{place} is a cluster, whose nodes are replaced one by one");
        let help = "use standalone servers as members of a quorum";
        return Err(Fault::new(FaultKind::Unsupported, what, help));
    }
    // An old primary may be trusted for a while after another one is named, and remembers all that it granted.
    // What it grants meanwhile would outlast the time for which the new one is kept out.
    transport.ask_anew().await?;
    let told = transport.send(&NodeRef::Only, &["INFO", "server", "replication"]).await?;
    read(&told).map_err(|unknown| match unknown {
        IncarnationError::Replica => Fault::new(
            FaultKind::Unreachable,
            format!("Redis at {place} is a replica, whose memory is its primary's"),
            "point the URL to the primary, or wait for the failover to end",
        ),
        IncarnationError::NotTold => Fault::new(
            FaultKind::Unsupported,
            format!("Redis at {place} does not report its run_id, so a restart would go unnoticed"),
            "use a server whose INFO has run_id and master_replid, or, if no restart can lose what it \
             confirmed, say durable_members=yes",
        ),
    })
}

/// Which run of which process answers now; nothing in a cluster, which has many, and where it is hidden.
pub(crate) async fn server(transport: &Transport) -> Result<Option<String>, Fault> {
    if transport.route.cluster().is_some() {
        return Ok(None);
    }
    let told = transport.send(&NodeRef::Only, &["INFO", "server"]).await?;
    let run = text(&told).and_then(|info| field(&info, "run_id").map(str::to_owned));
    Ok(run.filter(|run| is_run_id(run)).map(|run| format!("run_id {run}")))
}

/// Whether it is a number, and not what a service says instead.
fn is_run_id(run: &str) -> bool {
    run.len() >= 16 && run.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[derive(Debug, PartialEq, Eq)]
enum IncarnationError {
    Replica,
    NotTold,
}

fn read(told: &Value) -> Result<Incarnation, IncarnationError> {
    let info = match told {
        Value::Bytes(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
        Value::Text(text) => text,
        _ => "",
    };
    if field(info, "role").is_some_and(|role| role != "master") {
        return Err(IncarnationError::Replica);
    }
    // Both are random; half of each is more than enough to tell one from the next.
    let half = |name| {
        let digits =
            field(info, name).and_then(|id| id.get(..16)).ok_or(IncarnationError::NotTold)?;
        u64::from_str_radix(digits, 16).map_err(|_| IncarnationError::NotTold)
    };
    let (run, replication) = (half("run_id")?, half("master_replid")?);
    let both = u128::from(run) << 64 | u128::from(replication);
    Ok(Incarnation::from_bytes(both.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "1674e5779b2fd8a164d897ff4646ace275b79a66";
    const REPLICATION: &str = "eb2053cea0d8984b88d3b9cc40c90d9345999840";

    fn told(role: &str, run: &str, replication: &str) -> Result<Incarnation, IncarnationError> {
        let text = format!(
            "# Server\r\nrun_id:{run}\r\n# Replication\r\nrole:{role}\r\nmaster_replid:{replication}\r\n"
        );
        read(&Value::Bytes(text.into_bytes()))
    }

    #[test]
    fn another_run_and_another_primary_are_told_apart() {
        let now = told("master", RUN, REPLICATION).unwrap();
        assert_eq!(now.to_string(), "1674e5779b2fd8a1eb2053cea0d8984b");
        assert_ne!(told("master", REPLICATION, REPLICATION).unwrap(), now);
        assert_ne!(told("master", RUN, RUN).unwrap(), now);
    }

    #[test]
    fn what_is_not_told_is_not_guessed() {
        assert_eq!(told("slave", RUN, REPLICATION), Err(IncarnationError::Replica));
        for run in ["", "1674", "a managed service hides it"] {
            assert_eq!(told("master", run, REPLICATION), Err(IncarnationError::NotTold), "{run:?}");
        }
        assert_eq!(read(&Value::Nil), Err(IncarnationError::NotTold));
    }

    #[test]
    fn any_answer_is_read_or_not() {
        let all = format!("run_id:{RUN}\r\nrole:master\r\nmaster_replid:{REPLICATION}\r\n");
        tenure_testkit::fuzz(20_000, &[all.as_bytes()], |bytes| {
            read(&Value::Bytes(bytes.to_vec())).is_ok()
        });
    }
}
