//! What an error says, in parts: what failed, what caused it, and what helps.

use std::{borrow::Cow, error::Error, fmt};

use crate::{address::LockAddress, plain::plain_sentence};

/// The parts of an error.
///
/// All of tenure's errors are made of them. `{}` shows the message alone, and
/// [`source`](Error::source) leads to the causes. `{:#}` shows all parts in one line, for logs.
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
    /// What failed.
    pub fn new(message: impl Into<Cow<'a, str>>) -> Self {
        Self { message: message.into(), source: None, help: None, address: None, kind: None }
    }

    /// What failed, of this lock.
    pub(crate) fn at(address: &'a LockAddress, message: impl fmt::Display) -> Self {
        Self { address: Some(address), ..Self::new(format!("{address}: {message}")) }
    }

    /// Of a text that has its help behind the last semicolon.
    pub fn of(error: &impl fmt::Display) -> Self {
        let text = error.to_string();
        match text.rsplit_once("; ") {
            Some((message, help)) => Self::new(message.to_owned()).help(help.to_owned()),
            None => Self::new(text),
        }
    }

    /// The same with what the user can do.
    #[must_use]
    pub fn help(self, help: impl Into<Cow<'a, str>>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// The same with what caused it.
    #[must_use]
    pub fn because(self, source: Option<&'a (dyn Error + 'static)>) -> Self {
        Self { source, ..self }
    }

    /// The same of a store's fault: whether it may have had an effect.
    #[must_use]
    pub fn kind(self, kind: impl fmt::Debug) -> Self {
        Self { kind: Some(format!("{kind:?}")), ..self }
    }

    /// What the user can do.
    #[must_use]
    pub fn into_help(self) -> Option<Cow<'a, str>> {
        self.help
    }

    /// Which lock it was, in which store.
    #[must_use]
    pub const fn address(&self) -> Option<&'a LockAddress> {
        self.address
    }

    /// The error that caused it.
    #[must_use]
    pub const fn source(&self) -> Option<&'a (dyn Error + 'static)> {
        self.source
    }

    /// The message, and in one line with it all else if the alternate form is asked for.
    ///
    /// # Errors
    /// Those of the formatter.
    pub fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&cut(&self.message))?;
        if !f.alternate() {
            return Ok(());
        }
        causes(&self.message, self.source).try_for_each(|cause| write!(f, ": {cause}"))?;
        self.help.iter().try_for_each(|help| write!(f, "; {help}"))
    }

    /// Each part in a line of its own.
    ///
    /// # Errors
    /// Those of the formatter.
    pub fn write_lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&cut(&self.message))?;
        causes(&self.message, self.source)
            .try_for_each(|cause| write!(f, "\ncaused by: {cause}"))?;
        self.help.iter().try_for_each(|help| write!(f, "\nhelp: {help}"))
    }
}

impl ErrorParts<'_> {
    /// Each part in a line of its own, as a `main` prints an error that it gives back; as a structure of this name if the
    /// alternate form is asked for.
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

/// The texts of what caused an error with this message, each that says more than the one before it.
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
        (!is_said).then(|| cut(&text).into_owned().into())
    })
}

/// Whether an error came because this process may not open more files, which no waiting mends.
#[must_use]
pub fn lacks_files(error: &(dyn Error + 'static)) -> bool {
    // EMFILE has this number on every Unix. Many clients keep the system's words alone.
    let is_emfile = |error: &dyn Error| cfg!(unix) && error.to_string().contains("(os error 24)");
    std::iter::successors(Some(error), |&cause| cause.source()).any(is_emfile)
}

/// As many bytes as are shown of what a server or the system says.
const SHOWN: usize = 1024;

/// So much of a text as people read, and nothing in it that would be a line or a colour of its own: what a server says
/// may come from anybody.
pub(crate) fn cut(text: &str) -> Cow<'_, str> {
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

/// Gives an error its `Debug` by its `parts()`: what a `main` prints that gives it back, boxed or not.
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

/// Gives an error its text, its source, and what can be asked of all of tenure's errors, by its `parts()`.
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
            /// What you can do about it, where there is something to do.
            #[must_use]
            pub fn help(&self) -> Option<::std::borrow::Cow<'_, str>> {
                self.parts().into_help()
            }

            /// The lock that it is about, and the lock's store, where the error is about one lock.
            #[must_use]
            pub fn address(&self) -> Option<&$crate::error::LockAddress> {
                self.parts().address()
            }
        }
    )+};
}
