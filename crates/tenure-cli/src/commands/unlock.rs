//! `tenure unlock`: a detached lock is released.

use tenure::{HandleError, Tenure};

use crate::{
    exit::Failure,
    handle::{file, read::Given},
    output::{Event, Voice, answer, json},
};

pub(super) async fn unlock(given: Given, tenure: Tenure, voice: &Voice) -> Result<u8, Failure> {
    let Given { handle, file } = given;
    match (tenure.release_detached(&handle).await, &file) {
        (Ok(()), _) => {}
        // Whoever looks for the reason may want to see it.
        (Err(error @ HandleError::Lost(_)), Some(file)) => {
            let file = file.display();
            return Err(Failure::Lost(format!("{error:#}; {file} was left as it is").into()));
        }
        (Err(error), _) => return Err(Failure::by_handle(&error)),
    }
    let name = handle.name().as_str();
    voice.event(&Event::Released { name, held: None });
    if let Some(Err(why)) = file.map(|file| file::remove(&file, &handle)) {
        voice.event(&Event::FileStays { name, why: &why });
    }
    if voice.is_json() {
        answer(&json::unlocked(handle.name()))?;
    }
    Ok(0)
}
