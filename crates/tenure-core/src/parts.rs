//! The parts of an error: the message, the cause and the help.

use std::{borrow::Cow, error::Error, fmt};

use crate::{address::LockAddress, plain::plain_sentence};

/// The parts of an error.
///
/// All of tenure's errors consist of them. `{}` shows the message alone, and [`source`](Error::source) returns the
/// causes. `{:#}` shows all parts in one line, for logs.
#[doc(hidden)]
#[derive(Debug)]
pub struct ErrorParts<'a> {
    message: Cow<'a, str>,
    source: Option<&'a (dyn Error + 'static)>,
    help: Option<Cow<'a, str>>,
    address: Option<&'a LockAddress>,
    kind: Option<String>,
}

impl<'a> ErrorParts<'a> {
    /// Makes the parts of an error with this message.
    pub fn new(message: impl Into<Cow<'a, str>>) -> Self {
        Self { message: message.into(), source: None, help: None, address: None, kind: None }
    }

    /// Makes the parts of an error about this lock.
    pub(crate) fn for_lock(address: &'a LockAddress, message: impl fmt::Display) -> Self {
        Self { address: Some(address), ..Self::new(format!("{address}: {message}")) }
    }

    /// Makes the parts of an error whose text has its help after the last semicolon.
    pub fn of(error: &impl fmt::Display) -> Self {
        let text = error.to_string();
        match text.rsplit_once("; ") {
            Some((message, help)) => Self::new(message.to_owned()).help(help.to_owned()),
            None => Self::new(text),
        }
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn help(self, help: impl Into<Cow<'a, str>>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(self, source: Option<&'a (dyn Error + 'static)>) -> Self {
        Self { source, ..self }
    }

    /// Adds the kind of a store's fault, which says whether the call may have had an effect.
    #[must_use]
    pub fn kind(self, kind: impl fmt::Debug) -> Self {
        Self { kind: Some(format!("{kind:?}")), ..self }
    }

    /// Returns what the user can do.
    #[must_use]
    pub fn into_help(self) -> Option<Cow<'a, str>> {
        self.help
    }

    /// Returns the lock concerned, and its store.
    #[must_use]
    pub const fn address(&self) -> Option<&'a LockAddress> {
        self.address
    }

    /// Returns the error that caused it.
    #[must_use]
    pub const fn source(&self) -> Option<&'a (dyn Error + 'static)> {
        self.source
    }

    /// Writes the message, and in the alternate form all other parts in the same line.
    ///
    /// # Errors
    /// Those of the formatter.
    pub fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable_part(&self.message))?;
        if !f.alternate() {
            return Ok(());
        }
        causes(&self.message, self.source).try_for_each(|cause| write!(f, ": {cause}"))?;
        self.help.iter().try_for_each(|help| write!(f, "; {help}"))
    }

    /// Writes each part on its own line.
    ///
    /// # Errors
    /// Those of the formatter.
    pub fn write_lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable_part(&self.message))?;
        causes(&self.message, self.source)
            .try_for_each(|cause| write!(f, "\ncaused by: {cause}"))?;
        self.help.iter().try_for_each(|help| write!(f, "\nhelp: {help}"))
    }
}

impl ErrorParts<'_> {
    /// Writes each part on its own line, as a `main` that returns an error prints it; in the alternate form, writes a
    /// structure of this name.
    ///
    /// # Errors
    /// Those of the formatter.
    pub fn debug(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return self.write_lines(f);
        }
        let mut shown = f.debug_struct(name);
        shown.field("message", &self.message);
        if let Some(LockAddress { name, store, .. }) = self.address {
            shown.field("lock", name).field("store", store);
        }
        if let Some(kind) = &self.kind {
            shown.field("kind", &format_args!("{kind}"));
        }
        if let Some(source) = self.source {
            shown.field("source", source);
        }
        if let Some(help) = &self.help {
            shown.field("help", help);
        }
        shown.finish()
    }
}

/// The texts of the causes of an error with this message, without those that add nothing to the one before.
pub fn causes<'a>(
    message: &str,
    first: Option<&'a (dyn Error + 'static)>,
) -> impl Iterator<Item = Cow<'a, str>> {
    let causes = std::iter::successors(first, |&cause| cause.source());
    let mut before = message.to_owned();
    causes.filter_map(move |cause| {
        let text = cause.to_string();
        let is_said = before.contains(&text);
        if !is_said {
            before.clone_from(&text);
        }
        (!is_said).then(|| printable_part(&text).into_owned().into())
    })
}

/// Returns whether the error came because this process may not open more files, which waiting does not help.
#[must_use]
pub fn lacks_files(error: &(dyn Error + 'static)) -> bool {
    // EMFILE has this number on every Unix. Many clients keep only the system's text.
    let is_emfile = |error: &dyn Error| cfg!(unix) && error.to_string().contains("(os error 24)");
    std::iter::successors(Some(error), |&cause| cause.source()).any(is_emfile)
}

/// The maximum number of bytes that are shown of a server's or the system's text.
const SHOWN: usize = 1024;

/// The readable part of a text, without anything that would start a new line or set a colour: a server's text is not
/// trusted.
pub(crate) fn printable_part(text: &str) -> Cow<'_, str> {
    let fits = |end: &usize| text.is_char_boundary(*end);
    let short = match text.len() {
        ..=SHOWN => text,
        _ => &text[..(0..=SHOWN).rev().find(fits).unwrap_or_default()],
    };
    match plain_sentence(short) {
        shown if short.len() == text.len() => shown,
        shown => format!("{shown}…").into(),
    }
}

/// Implements `Debug` for an error by its `parts()`, as a `main` prints an error that it returns, boxed or not.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_of_parts {
    ($($error:ident),+) => {$(
        impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.parts().debug(stringify!($error), f)
            }
        }
    )+};
}

/// Implements `Display`, `Error` and the methods that all of tenure's errors have, by the error's `parts()`.
#[doc(hidden)]
#[macro_export]
macro_rules! error_of_parts {
    ($($error:ty),+) => {$(
        impl ::std::fmt::Display for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.parts().write(f)
            }
        }

        impl ::std::error::Error for $error {
            fn source(&self) -> Option<&(dyn ::std::error::Error + 'static)> {
                self.parts().source()
            }
        }

        impl $error {
            /// Returns what you can do about it, if there is anything.
            #[must_use]
            pub fn help(&self) -> Option<::std::borrow::Cow<'_, str>> {
                self.parts().into_help()
            }

            /// Returns the lock that the error is about, with its store, if it is about one lock.
            #[must_use]
            pub fn address(&self) -> Option<&$crate::error::LockAddress> {
                self.parts().address()
            }
        }
    )+};
}
