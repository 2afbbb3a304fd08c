//! `tenure doctor`: which promise holds with this store, and why not.

use tenure::{Tenure, store::Weight};

use crate::{
    exit::{self, Failure},
    output::{Voice, answer, human, json, tables},
};

pub(super) async fn doctor(
    tenure: Tenure,
    chosen_by: Option<&str>,
    voice: &Voice,
) -> Result<u8, Failure> {
    let store = tenure.store();
    let findings = store.health().await.map_err(|fault| {
        Failure::Failed(format!("cannot look at {}: {fault}", store.location()))
    })?;
    answer(&if voice.is_json() {
        json::findings(store.kind(), &store.location(), chosen_by, &findings)
    } else {
        format!(
            "Locks are kept in {}.\n{}\n{}",
            human::plain(&store.location()),
            chosen_by.map_or_else(
                || "Nothing chooses another place.".to_owned(),
                |by| format!("That was chosen by {}.", human::plain(by)),
            ),
            tables::findings(&findings)
        )
    })?;
    let bad = findings.iter().any(|finding| finding.weight == Weight::Bad);
    Ok(if bad { exit::UNHEALTHY } else { 0 })
}
