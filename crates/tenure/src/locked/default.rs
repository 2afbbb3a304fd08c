//! The store of locked functions that name none.

use std::sync::OnceLock;

use tenure_core::{Error, error::NotOpened};

use crate::Tenure;

static DEFAULT: OnceLock<Tenure> = OnceLock::new();

/// A default was set before; it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the default tenure is already set, and was not changed: set it once, at the start of main"
)]
pub struct DefaultIsSet;

impl From<DefaultIsSet> for Error {
    fn from(error: DefaultIsSet) -> Self {
        NotOpened::new(error, false).into()
    }
}

/// Sets the [`Tenure`] that [`#[locked]`](macro@crate::locked) functions use which name no `store`, once
/// for the whole process.
///
/// Without it they fail: locks of a program that nobody gave a store would keep nobody out. Tests
/// are better off with `store = …`.
///
/// # Errors
/// [`DefaultIsSet`] when it was set before.
pub fn set_default(tenure: Tenure) -> Result<(), DefaultIsSet> {
    DEFAULT.set(tenure).map_err(|_| DefaultIsSet)
}

pub(super) fn get() -> Option<&'static Tenure> {
    DEFAULT.get()
}
