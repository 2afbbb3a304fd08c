//! A look at a database that answers slowly, or not at all, comes to an end.

use std::time::Duration;

use tenure_core::{Store, store::Severity};
use tenure_sql::CONNECTION;
use tokio::time::Instant;

use crate::distant_database::Table;

#[tokio::test(start_paused = true)]
async fn a_database_that_falls_silent_is_said_to_be_so_in_time() {
    let table = Table::new();
    // So far away that the trial does not come to its end.
    for (way, what) in [(NEAR, CONNECTION), (Duration::from_secs(1), "full cycle")] {
        table.lock_rows(what == CONNECTION);
        let began = Instant::now();
        let diagnostics = table.client(1, way).health().await.unwrap();
        assert!(began.elapsed() < Duration::from_secs(16), "{:?}", began.elapsed());
        let bad = diagnostics.iter().find(|diagnostic| diagnostic.what == what).unwrap();
        assert_eq!(bad.severity, Severity::Bad, "{bad:?}");
        assert!(bad.found.contains("distant://"), "{bad:?}");
    }
}

const NEAR: Duration = Duration::from_millis(1);
