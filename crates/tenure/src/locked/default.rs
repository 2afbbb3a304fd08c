//! The store of locked functions that name no store.

use std::sync::OnceLock;

use tenure_core::{Error, error::NotOpened};

use crate::Tenure;

static DEFAULT: OnceLock<Tenure> = OnceLock::new();

/// The default was already set. It stays as it is.
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

/// Sets the [`Tenure`] for [`#[locked]`](macro@crate::locked) functions that name no `store`, once for the whole
/// process.
///
/// Without a default, these functions fail: a lock without a store would exclude no other holder. In tests, use
/// `store = …` instead.
///
/// # Errors
/// [`DefaultIsSet`] if a default was already set.
pub fn set_default(tenure: Tenure) -> Result<(), DefaultIsSet> {
    DEFAULT.set(tenure).map_err(|_| DefaultIsSet)
}

pub(super) fn get() -> Option<&'static Tenure> {
    DEFAULT.get()
}
