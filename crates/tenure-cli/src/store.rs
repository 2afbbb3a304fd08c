//! The store that the command works on.

use tenure::{Examination, FaultKind, OpenError, Tenure, config::Config};
use tenure_core::parts::lacks_files;

use crate::{
    exit::Failure,
    label::UserAtHost,
    output::{Event, Reporter},
};

/// Opens the store that flags, environment and file agree on.
///
/// A name that no store has, and a URL that is written wrong, are wrong usage; a store that cannot be
/// opened is not.
pub(crate) async fn open(config: &Config) -> Result<Tenure, Failure> {
    refuse_own_memory(config)?;
    let mut config = config.clone();
    config.use_user(UserAtHost::from_system().user());
    let keeps_history = !config.history_families().is_empty();
    Tenure::from_config(&config).await.map_err(|error| match error {
        // A store that keeps none was asked for one, by an option or the configuration.
        OpenError::Store { ref fault, .. }
            if keeps_history && fault.kind() == FaultKind::Unsupported =>
        {
            Failure::Usage(error.into())
        }
        error => not_opened(error),
    })
}

/// Looks at the store that they agree on, which need not open.
pub(crate) async fn examine(config: &Config) -> Result<Examination, Failure> {
    refuse_own_memory(config)?;
    Tenure::examine_config(config).await.map_err(not_opened)
}

fn not_opened(error: OpenError) -> Failure {
    match error {
        OpenError::UnknownScheme { .. } | OpenError::Url { .. } | OpenError::Config(_) => {
            Failure::Usage(error.into())
        }
        // Nothing that this process does gives a file back.
        _ if error.is_transient() && !lacks_files(&error) => Failure::Away(error.into()),
        _ => Failure::failed(error),
    }
}

/// Says where the locks are kept, and why there.
pub(crate) fn report_location(tenure: &Tenure, config: &Config, voice: &Reporter) {
    let store = tenure.store();
    let (location, chosen_by) = (store.location(), config.store_chosen_by());
    let chosen_by = chosen_by.as_deref();
    voice.event(&Event::Store { kind: store.kind(), location: &location, chosen_by });
}

/// Locks in the memory of this command are seen by no other, so they lock nothing.
fn refuse_own_memory(config: &Config) -> Result<(), Failure> {
    let url = config.store().map_err(|error| Failure::Usage(error.into()))?;
    let is_memory = |url: &str| url.trim().split(':').next() == Some("memory");
    let refused = match url.strip_prefix("quorum:") {
        Some(members) => members.split(',').any(is_memory),
        None => is_memory(url),
    };
    if !refused {
        return Ok(());
    }
    Err(Failure::Usage(
        (
            "the store memory: is visible to this command only, so it locks nothing",
            "use file:/dir, or name no store for the embedded one in its default directory",
        )
            .into(),
    ))
}
