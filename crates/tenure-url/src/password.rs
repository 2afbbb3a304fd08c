//! Fixed passwords, and passwords that are read at each login.

mod reading;
mod verdicts;

use std::{error::Error, fmt, sync::Arc, time::Duration};

use tenure_core::{Fault, FaultKind, files};

use self::reading::PasswordReader;
use crate::{
    Secret,
    secret_file::{KEEP_CLOSED, is_open},
};

/// More than the tokens of hosting providers need, in bytes.
const LONGEST: u64 = 64 * 1024;

/// A password, or a source from which a store reads it at each login. No text ever shows it.
///
/// A password given as text stays the same. A store reads a password from a [file](Self::file) or a function again at
/// each login of each of its connections, and forgets it after the login. So a password that changed in a vault takes
/// effect with the next connection. Meanwhile holds are renewed over the existing connections.
///
/// If a login is refused after an earlier one was accepted, the error is transient: the next login reads the password
/// again.
///
/// ```
/// use tenure_url::Password;
///
/// let fixed = Password::from("s3cret");
/// let rotates = Password::from_async(|| async {
///     // Ask the vault.
///     Ok::<_, std::io::Error>("s3cret")
/// });
/// assert_eq!(format!("{fixed:?} {rotates:?}"), "(hidden) (read by a function)");
/// ```
#[derive(Clone)]
pub struct Password(PasswordSource);

#[derive(Clone)]
enum PasswordSource {
    Known(Secret),
    File { path: Arc<str>, read: PasswordReader },
    Function(PasswordReader),
}

impl Password {
    /// Reads the file at `path` at each login. Cuts off a line end at the end of the file.
    ///
    /// This also reads the file now, to report errors. A later error fails only the login that needs the password, and
    /// no existing hold.
    ///
    /// # Errors
    /// A fault if the file cannot be read, is empty, is not UTF-8, is longer than 64 KiB, or if other users may read or
    /// write it. Two exceptions: root's file may be readable by its group, and a file below `/run/secrets`, where
    /// containers keep their secrets, by every user.
    pub fn file(path: impl Into<String>) -> Result<Self, Fault> {
        let path: Arc<str> = path.into().into();
        read_file(&path).map_err(|unread| {
            let message = format!("the password file {path} {}", unread.why);
            let fault = Fault::new(FaultKind::Misconfigured, message, unread.help);
            match unread.cause {
                Some(cause) => fault.because(cause),
                None => fault,
            }
        })?;
        let named = path.clone();
        let read = PasswordReader::blocking(move || {
            read_file(&named).map_err(|unread| match unread.cause {
                Some(cause) => format!("it {}: {cause}", unread.why).into(),
                None => format!("it {}", unread.why).into(),
            })
        });
        Ok(Self(PasswordSource::File { path, read }))
    }

    /// Calls `read` at each login, and awaits the returned future.
    ///
    /// It runs on one of tenure's own threads, in tenure's own tokio runtime with timers and I/O. A future that takes
    /// longer than the login may take is dropped.
    pub fn from_async<F, R, P, E>(read: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<P, E>> + Send + 'static,
        P: Into<Secret>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        Self(PasswordSource::Function(PasswordReader::awaiting(read)))
    }

    /// Calls `read`, which may block, at each login, on one of tenure's own threads.
    ///
    /// If it takes longer than the login may take, the login fails. At most four calls of one function run at a time.
    pub fn from_blocking<F, P, E>(read: F) -> Self
    where
        F: Fn() -> Result<P, E> + Send + Sync + 'static,
        P: Into<Secret>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        Self(PasswordSource::Function(PasswordReader::blocking(move || {
            read().map(Into::into).map_err(Into::into)
        })))
    }

    /// Records that a server accepted the password for this login: a user and a server, in any form.
    pub fn accepted(&self, login: &str) {
        if let PasswordSource::File { read, .. } | PasswordSource::Function(read) = &self.0 {
            read.verdicts().record_accepted(login);
        }
    }

    /// Returns what it means that a server refused `secret` for this login with `fault`.
    ///
    /// A password that is read at each login and was accepted there before may have changed a moment ago, here or at
    /// the server. The fault is then [`Unreachable`](FaultKind::Unreachable), and the next login reads the password
    /// again. The same password is not tried again for ten seconds, because servers lock users out. In any other case,
    /// returns `fault`.
    #[must_use]
    pub fn refused(&self, login: &str, secret: &Secret, fault: Fault) -> Fault {
        match &self.0 {
            PasswordSource::File { read, .. } | PasswordSource::Function(read) => {
                read.verdicts().record_refused(login, secret, fault)
            }
            PasswordSource::Known(_) => fault,
        }
    }

    /// Returns the password for a login at `store`, read again if it may have changed. `login` is the user and the
    /// server.
    ///
    /// It needs the timers of a tokio runtime, and leaves a quarter of `connect_timeout` for the login.
    ///
    /// # Errors
    /// An [`Unreachable`](FaultKind::Unreachable) fault if the password cannot be read, is empty, or takes too long.
    /// Also the fault of a server that refused the same password a moment ago.
    ///
    /// # Cancel safety
    /// Cancel-safe: a future that reads the password is dropped, and a blocking call ends on its own.
    pub async fn read(
        &self,
        login: &str,
        store: &str,
        connect_timeout: Duration,
    ) -> Result<Secret, Fault> {
        let (origin, read, help) = match &self.0 {
            PasswordSource::Known(secret) => return Ok(secret.clone()),
            PasswordSource::File { path, read } => {
                (format!("the file {path}"), read, "check that the file holds the password")
            }
            PasswordSource::Function(read) => (
                "the program's function".to_owned(),
                read,
                "correct what it returns; the next login calls it again",
            ),
        };
        let failed = |why: String, help| {
            let message = format!("no password for {store}: {origin} {why}");
            Fault::new(FaultKind::Unreachable, message, help)
        };
        let within = connect_timeout * 3 / 4;
        match tokio::time::timeout(within, read.read_once()).await {
            Ok(Ok(secret)) if secret.expose().is_empty() => {
                Err(failed("gave an empty one".to_owned(), help))
            }
            Ok(Ok(secret)) => read.verdicts().check(login, &secret).map(|()| secret),
            Ok(Err(error)) => Err(failed("gave none".to_owned(), help).because(error)),
            Err(_) => {
                let help = "see what it waits for, or raise connect_timeout";
                Err(failed(format!("gave none within {within:?}"), help))
            }
        }
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            PasswordSource::Known(secret) => write!(f, "{secret:?}"),
            PasswordSource::File { path, .. } => write!(f, "(read from {path})"),
            PasswordSource::Function(_) => f.write_str("(read by a function)"),
        }
    }
}

impl PartialEq for Password {
    /// Whether both are the same text, the same file, or clones of one function.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (PasswordSource::Known(one), PasswordSource::Known(other)) => one == other,
            (PasswordSource::File { path: one, .. }, PasswordSource::File { path: other, .. }) => {
                one == other
            }
            (PasswordSource::Function(one), PasswordSource::Function(other)) => {
                one.is_same_reader(other)
            }
            _ => false,
        }
    }
}

impl Eq for Password {}

impl From<Secret> for Password {
    fn from(secret: Secret) -> Self {
        Self(PasswordSource::Known(secret))
    }
}

impl From<&str> for Password {
    fn from(text: &str) -> Self {
        Secret::from(text).into()
    }
}

impl From<String> for Password {
    fn from(text: String) -> Self {
        Secret::from(text).into()
    }
}

/// Why a file has no password, in words that follow its name.
struct PasswordFileError {
    why: &'static str,
    cause: Option<std::io::Error>,
    help: &'static str,
}

impl PasswordFileError {
    const fn new(why: &'static str, help: &'static str) -> Self {
        Self { why, cause: None, help }
    }
}

fn read_file(path: &str) -> Result<Secret, PasswordFileError> {
    let read = files::read(path.as_ref(), LONGEST).map_err(|error| PasswordFileError {
        why: "cannot be read",
        cause: Some(error),
        help: "correct the path, or make the file readable for this user",
    })?;
    if is_open(path, &read) {
        return Err(PasswordFileError::new("can be read or changed by others", KEEP_CLOSED));
    }
    let Ok(text) = std::str::from_utf8(&read.bytes) else {
        return Err(PasswordFileError::new("is not UTF-8", "write the password alone into it"));
    };
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(PasswordFileError::new("is empty", "write the password into it"));
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests;
