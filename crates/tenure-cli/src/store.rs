//! The store that the command works on.

use tenure::{OpenError, Tenure, config::Config};

use crate::exit::Failure;

/// Opens the store that flags, environment and file agree on.
///
/// A name that no store has, and a URL that is written wrong, are wrong usage; a store that cannot be
/// opened is not.
pub(crate) async fn open(config: &Config) -> Result<Tenure, Failure> {
    let url = config.store().map_err(|error| Failure::Usage(error.to_string()))?;
    refuse_own_memory(url)?;
    Tenure::from_config(config).await.map_err(|error| match error {
        OpenError::UnknownScheme { .. } | OpenError::Url { .. } | OpenError::Config(_) => {
            Failure::Usage(error.to_string())
        }
        _ => Failure::failed(error),
    })
}

/// What chose the store, for people.
pub(crate) fn chosen_by(config: &Config) -> String {
    match (config.store_chosen_by(), config.store()) {
        (Some(chooser), _) => chooser,
        (None, Ok("")) => "nothing, so it is the default".to_owned(),
        (None, _) => "--store".to_owned(),
    }
}

/// Locks in the memory of this command are seen by no other, so they lock nothing.
fn refuse_own_memory(url: &str) -> Result<(), Failure> {
    let is_memory = |url: &str| url.trim().split(':').next() == Some("memory");
    let refused = match url.strip_prefix("quorum:") {
        Some(members) => members.split(',').any(is_memory),
        None => is_memory(url),
    };
    if !refused {
        return Ok(());
    }
    Err(Failure::Usage(
        "memory: is the memory of this one command: no other sees a lock in it, so it locks nothing; \
         use file:/dir, or name no store for the embedded one in its default place"
            .to_owned(),
    ))
}
