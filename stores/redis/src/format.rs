//! The number of the format in which locks are kept under a prefix, which whoever connects sees first.
//!
//! Two versions of tenure that read each other's records differently would be two holders. So the first
//! one writes down which format it uses, and who knows another one refuses.

use tenure_core::{Fault, FaultKind};

use crate::{
    RedisOptions, cluster, connection::Connection, error, failure::Failure, protocol::Value,
};

/// The format that this version reads and writes.
const FORMAT: &str = "2";
/// The longest piece of a foreign value that is shown.
const SHOWN: usize = 20;

/// What is found where none is told.
const NONE_TOLD: &str = "the server does not tell; its records are looked at one by one";

/// How a server says that this user, or this node, has nothing to do with the key.
const NOT_TOLD: [&str; 3] = ["NOPERM", "MOVED", "ASK"];

/// Refuses locks that another format was written for, and says which was found.
///
/// A server that takes no writes now is asked all the same. One that tells nothing for good, as it is not
/// permitted or the key belongs to another node, is taken at its records: what makes no sense there is
/// refused as well. One that cannot tell now cannot be used now.
pub(crate) async fn check(
    connection: &Connection,
    options: &RedisOptions,
    place: &str,
) -> Result<String, Fault> {
    let key = key(&options.prefix);
    let (claim, look) = (["SET", &key, FORMAT, "NX", "GET"], ["GET", &key]);
    for (command, writes) in [(&claim[..], true), (&look[..], false)] {
        if writes && options.only_looks {
            continue;
        }
        match connection.send(command).await {
            Ok(Value::Nil) if writes => return Ok(format!("{FORMAT}, from now on")),
            Ok(Value::Nil) => return Ok("none yet".to_owned()),
            Ok(Value::Bytes(found)) if found == FORMAT.as_bytes() => return Ok(FORMAT.to_owned()),
            Ok(Value::Bytes(found)) => return Err(unknown(options, place, &found)),
            Ok(_) => return Ok(NONE_TOLD.to_owned()),
            Err(error) if error.code() == Some("WRONGTYPE") => {
                return Err(not_ours(options, place));
            }
            Err(error) if error.is_an_answer() && (writes || is_for_good(&error)) => {}
            Err(error) => return Err(error::of_connecting(place, error)),
        }
    }
    Ok(NONE_TOLD.to_owned())
}

/// The slot of that key in a cluster.
pub(crate) fn slot(options: &RedisOptions) -> u16 {
    cluster::slot(key(&options.prefix).as_bytes())
}

/// The key that has the number.
fn key(prefix: &str) -> String {
    format!("{prefix}format")
}

fn is_for_good(error: &Failure) -> bool {
    NOT_TOLD.iter().any(|code| error.code() == Some(code))
}

fn unknown(options: &RedisOptions, place: &str, found: &[u8]) -> Fault {
    let found: String = String::from_utf8_lossy(found).chars().take(SHOWN).collect();
    let what = format!(
        "the locks on Redis at {place} are kept in format {found:?}, as {} says, and this version of \
         tenure knows format {FORMAT} alone",
        key(&options.prefix),
    );
    let cure = "use the version of tenure that they are kept by, or another prefix in the URL; \
                docs/upgrading.md says how to change";
    Fault::new(FaultKind::Misconfigured, what, cure)
}

fn not_ours(options: &RedisOptions, place: &str) -> Fault {
    let what = format!(
        "{} on Redis at {} is no number of a format: something else lies there",
        key(&options.prefix),
        place,
    );
    let cure = "see who else writes keys that begin so, or choose another prefix in the URL";
    Fault::new(FaultKind::Misconfigured, what, cure)
}
