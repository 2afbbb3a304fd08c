//! One hold that is slow to renew spoils no other.

use std::time::Duration;

use tenure_core::{
    FaultKind, LockName, Store,
    proto::{
        Renewed,
        queue::{Ask, Mode},
    },
    store::Renewal,
};
use tokio::time::timeout;

use crate::{distant_database::Table, starvation::ask};

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_written_leaves_the_others_their_answers() {
    let table = Table::new();
    let store = table.client(1, Duration::from_millis(2));
    let ttl = Duration::from_secs(2);
    let mut holds = Vec::new();
    for number in 0..64 {
        // Half of them are held alone, a quarter cannot be written from now on.
        let mode = if number % 2 == 0 { Mode::Exclusive } else { Mode::Shared };
        let locks = if number % 4 == 1 { "locked" } else { "free" };
        let name = LockName::new(format!("{locks} {number}")).unwrap();
        let ask = Ask { ttl, ..ask(number + 1, mode) };
        store.acquire(&name, &ask).await.unwrap();
        holds.push(Renewal { name, owner: ask.owner, ttl });
    }
    table.lock_rows(true);
    let answers = timeout(ttl / 4, store.renew(&holds)).await.expect("core waits for no longer");
    for (hold, answer) in holds.iter().zip(answers) {
        if hold.name.as_str().starts_with("locked") {
            let fault = answer.unwrap_err();
            assert_eq!(fault.kind(), FaultKind::InDoubt, "{fault:#}");
            assert!(fault.message().contains(hold.name.as_str()), "{fault:#}");
        } else {
            assert!(matches!(answer, Ok(Renewed::Renewed { .. })), "{answer:?}");
        }
    }
}
