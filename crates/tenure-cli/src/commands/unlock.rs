//! `tenure unlock`: a detached lock is released.

use std::path::Path;

use tenure::{HandleError, Tenure};

use crate::{
    exit::Failure,
    explanation::Explanation,
    handle::{file, read::LoadedHandle},
    output::{Event, Reporter, json, write_answer},
};

pub(super) async fn unlock(
    given: LoadedHandle,
    tenure: Tenure,
    voice: &Reporter,
) -> Result<u8, Failure> {
    let LoadedHandle { handle, file } = given;
    match (tenure.release_detached(&handle).await, &file) {
        (Ok(()), _) => {}
        (Err(error @ HandleError::Lost(_)), file) => return Err(not_held(&error, file.as_deref())),
        (Err(error), _) => return Err(Failure::by_handle(&error)),
    }
    let name = handle.name().as_str();
    voice.event(&Event::Released { name, held: None });
    if let Some(Err(why)) = file.map(|file| file::remove(&file, &handle)) {
        voice.event(&Event::FileStays { name, why: &why.line() });
    }
    if voice.is_json() {
        write_answer(&json::unlock_answer(handle.name()))?;
    }
    Ok(0)
}

/// Nothing is held by the handle, most often as it was unlocked before. Its file stays for whoever looks for the
/// reason.
fn not_held(error: &HandleError, file: Option<&Path>) -> Failure {
    let mut help = "if you unlocked it before, do nothing; else check the work that it protected: the lease ended, or \
                    the lock was attached or broken, or it was locked in another store"
        .to_owned();
    if let Some(file) = file {
        help += &format!("; {} was not changed", file.display());
    }
    Failure::Lost(Explanation::from(error).help(Some(help.into())))
}
