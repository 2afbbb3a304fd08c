//! `tenure renew`: a detached lock is held for longer.

use std::time::{Duration, SystemTime};

use tenure::{
    Tenure,
    clock::{Clock, SystemClock},
};

use tenure_core::plain::plain;

use crate::{
    exit::Failure,
    handle::read::LoadedHandle,
    output::{Reporter, human, json, write_answer},
};

pub(super) async fn renew(
    given: LoadedHandle,
    lease: Option<Duration>,
    tenure: Tenure,
    voice: &Reporter,
) -> Result<u8, Failure> {
    let handle = given.handle;
    let lease = lease.unwrap_or(handle.lease());
    let until = tenure.renew_detached(&handle, lease).await;
    let until = until.map_err(|error| Failure::by_handle(&error))?;
    let left = until.since(SystemClock.now());
    write_answer(&if voice.is_json() {
        json::renew_answer(handle.name(), left)
    } else {
        let name = plain(handle.name().as_str());
        let until = humantime::format_rfc3339_seconds(SystemTime::now() + left);
        format!("{name} stays held for {}, until {until}", human::length(left))
    })?;
    Ok(0)
}
