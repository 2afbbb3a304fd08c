//! The number of the format in which locks are kept under a prefix, which whoever connects sees first.
//!
//! Two versions of tenure that read each other's records differently would be two holders. So the first
//! one writes down which format it uses, and who knows another one refuses.

use tenure_core::{Fault, FaultKind};

use crate::{
    client::{Connection, Failure, Value, error},
    options::RedisOptions,
    servers::keys,
};

/// The format that this version reads and writes.
const FORMAT: &str = "2";
/// The longest piece of a foreign value that is shown.
const SHOWN: usize = 20;

/// What is found where none is told.
const NONE_TOLD: &str = "the server does not tell; its records are inspected one by one";

/// How a server says that this user, or this node, has nothing to do with the key.
const NOT_TOLD: [&str; 3] = ["NOPERM", "MOVED", "ASK"];

/// Why nothing could be read.
pub(crate) enum FormatError {
    /// What is there is not ours to use.
    Refused(Fault),
    Failed(Failure),
}

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
    let key = keys::format(&options.prefix, None);
    for question in questions(&key, options) {
        match question.read(place, connection.send(&question.words).await) {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            Err(FormatError::Refused(fault)) => return Err(fault),
            Err(FormatError::Failed(failure)) => return Err(error::of_connecting(place, failure)),
        }
    }
    Ok(NONE_TOLD.to_owned())
}

/// One way to ask for the number.
pub(crate) struct FormatQuery<'a> {
    key: &'a str,
    pub(crate) words: Vec<&'a str>,
    /// It claims the number where there is none.
    writes: bool,
}

/// What is asked until it is known: to claim it, or else to look at it.
pub(crate) fn questions<'a>(key: &'a str, options: &RedisOptions) -> Vec<FormatQuery<'a>> {
    let claim = FormatQuery { key, words: vec!["SET", key, FORMAT, "NX", "GET"], writes: true };
    let look = FormatQuery { key, words: vec!["GET", key], writes: false };
    if options.only_looks { vec![look] } else { vec![claim, look] }
}

impl FormatQuery<'_> {
    /// What was answered; nothing where it is to be asked otherwise, if at all.
    pub(crate) fn read(
        &self,
        place: &str,
        told: Result<Value, Failure>,
    ) -> Result<Option<String>, FormatError> {
        match told {
            Ok(Value::Nil) if self.writes => Ok(Some(format!("{FORMAT}, from now on"))),
            Ok(Value::Nil) => Ok(Some("none yet".to_owned())),
            Ok(Value::Bytes(found)) if found == FORMAT.as_bytes() => Ok(Some(FORMAT.to_owned())),
            Ok(Value::Bytes(found)) => Err(FormatError::Refused(unknown(self.key, place, &found))),
            Ok(_) => Ok(Some(NONE_TOLD.to_owned())),
            Err(error) if error.code() == Some("WRONGTYPE") => {
                Err(FormatError::Refused(not_ours(self.key, place)))
            }
            Err(error) if error.is_an_answer() && (self.writes || is_for_good(&error)) => Ok(None),
            Err(error) => Err(FormatError::Failed(error)),
        }
    }
}

fn is_for_good(error: &Failure) -> bool {
    NOT_TOLD.iter().any(|code| error.code() == Some(code))
}

fn unknown(key: &str, place: &str, found: &[u8]) -> Fault {
    let found: String = String::from_utf8_lossy(found).chars().take(SHOWN).collect();
    let what = format!(
        "the locks on Redis at {place} are kept in format {found:?}, as {key} says, and this \
         version of tenure supports only format {FORMAT}"
    );
    let help = "use the version of tenure that wrote them, or another prefix in the URL; \
                https://github.com/tenure-rs/tenure/blob/main/docs/upgrading.md#redis says how to change";
    Fault::new(FaultKind::Misconfigured, what, help)
}

/// What the store keeps of a name is in the layout of another version.
pub(crate) fn of_a_lock(place: &str, found: &str) -> Fault {
    let what = format!(
        "what Redis at {place} keeps of this lock is in format {found}, which another version of \
         tenure writes: this one supports only format {FORMAT}"
    );
    let help = "end every process of the other version, as https://github.com/tenure-rs/tenure/blob/main/docs/upgrading.md#redis says; then `tenure break` frees the \
                lock, and it is free by itself a minute after its last lease";
    Fault::new(FaultKind::Corrupt, what, help)
}

fn not_ours(key: &str, place: &str) -> Fault {
    let what =
        format!("{key} on Redis at {place} is not a format number: other data is stored there");
    let help = "see which program writes keys that begin so, or choose another prefix in the URL";
    Fault::new(FaultKind::Misconfigured, what, help)
}
