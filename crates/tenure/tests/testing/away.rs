use std::{sync::Arc, time::Duration};

use tenure::{AcquireError, Error, LostReason, Tenure, clock::TokioClock, store::MemoryStore};
use tenure_testkit::{
    Random,
    fault::{Faults, Tally, Unreliable},
};

#[tokio::test(start_paused = true)]
async fn the_store_goes_away() -> Result<(), Error> {
    let clock = Arc::new(TokioClock::new());
    let memory = Arc::new(MemoryStore::with_clock(clock.clone()));
    let (seed, tally) = (Random::new(1), Arc::new(Tally::default()));
    let calm = Faults { patience: Duration::from_secs(2), ..Faults::default() };
    let store = Unreliable::new(memory, clock.clone(), calm, seed, tally);
    let network = store.clone();
    let tenure = Tenure::builder(Arc::new(store)).clock(clock).build_in_runtime();

    let guard = tenure.mutex("order:42").lock().await?;
    network.set_faults(Faults { refused: 1_000, ..calm }); // of a thousand calls

    let other = tenure.mutex("order:43").lock().wait(Duration::from_secs(5)).await;
    assert!(matches!(other, Err(AcquireError::Unreachable(_) | AcquireError::InDoubt(_))));
    assert_eq!(guard.lost().await.reason, LostReason::Deadline); // after a ttl without a renewal
    Ok(())
}
