use std::{sync::Arc, time::Duration};

use tenure::{Error, Tenure, clock::ManualClock, store::MemoryStore};

#[tokio::test]
async fn nothing_is_written_after_a_long_pause() -> Result<(), Error> {
    let (ours, theirs) = (ManualClock::new(), ManualClock::new());
    let store = Arc::new(MemoryStore::with_clock(Arc::new(theirs.clone())));
    let clock = Arc::new(ours.clone());
    let tenure = Tenure::builder(store.clone()).clock(clock).build();
    let other = Tenure::builder(store).clock(Arc::new(theirs.clone())).build();

    let guard = tenure.mutex("account").ttl(Duration::from_secs(30)).lock().await?;
    guard.check()?;

    // The whole process stands still for a minute, and goes on.
    theirs.advance(Duration::from_secs(60));
    let next = other.mutex("account").try_lock().await?;
    ours.advance(Duration::from_secs(60));

    assert!(guard.check().is_err()); // before anything of tenure's had a chance to run
    assert!(next.is_some_and(|next| next.token() > guard.token()));
    Ok(())
}
