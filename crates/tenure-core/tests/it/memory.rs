//! The memory store where it differs from a mere map.

use std::time::Duration;

use crate::on_manual_clock;

#[tokio::test]
async fn names_whose_leases_ended_do_not_pile_up() {
    let (tenure, _stopped, store, clock) = on_manual_clock();
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
