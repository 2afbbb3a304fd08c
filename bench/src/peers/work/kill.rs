//! From the death of a holder to the next grant.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use super::{Scene, Values};
use crate::failure::Failure;

/// Longer than any ttl that is a default.
const LONGEST: Duration = Duration::from_secs(90);

/// How long the waiter has been waiting when the holder dies.
const BEFORE: Duration = Duration::from_millis(500);

pub(super) fn measure(scene: &Scene<'_>) -> Result<Values, Failure> {
    // Its own default, for that is what bounds it.
    let ttl = [("ttl", "0".to_owned())];
    let mut two = Vec::new();
    for _ in 0..2 {
        two.push(scene.start("hold", 1, Duration::ZERO, &ttl)?);
    }
    let [holder, waiter] = two.as_mut_slice() else { return Err("not two".into()) };
    holder.begin()?;
    holder.hear(LONGEST)?;
    waiter.begin()?;
    sleep(BEFORE);
    let killed = Instant::now();
    holder.kill()?;
    let (granted, _) = waiter.hear(LONGEST)?;
    Ok(Values::from([("seconds", granted.saturating_duration_since(killed).as_secs_f64())]))
}
