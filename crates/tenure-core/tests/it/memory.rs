//! The memory store where it differs from a mere map.

use std::{sync::Arc, time::Duration};

use tenure_core::{ManualClock, MemoryStore, Tenure};

#[tokio::test]
async fn names_whose_leases_ended_do_not_pile_up() {
    let clock = ManualClock::new();
    let store = MemoryStore::with_clock(Arc::new(clock.clone()));
    let builder = Tenure::builder(Arc::new(store.clone())).clock(Arc::new(clock.clone()));
    let (tenure, _stopped) = builder.build_inline();
    let mut last = None;
    for round in 0..20 {
        for name in 0..300 {
            let guard = tenure.mutex(format!("{round}/{name}")).lock().await.unwrap();
            let _ = guard.leave_to_expire();
        }
        let again = tenure.mutex("again").lock().await.unwrap();
        assert!(last < Some(again.token()));
        last = Some(again.token());
        let _ = again.leave_to_expire();
        clock.advance(Duration::from_secs(60));
    }
    let seen = format!("{store:?}");
    let in_use: usize =
        seen.trim_end_matches([' ', '}']).rsplit(' ').next().unwrap().parse().unwrap();
    assert!(in_use <= 1_024, "{seen}");
}
