//! What a server says of a write that failed, and what is made of it.

use std::time::Duration;

use tenure_core::{Fault, FaultKind, Store, proto::queue::Released};

use crate::{
    places::{fresh_url, server},
    support::{name, outside, owner, run, store, take},
};

/// Releases a lock on a server that has said `code` so often before on the same connection.
async fn release(code: u16, times: u32) -> Result<Released, Fault> {
    let url = fresh_url();
    let store = store(&url);
    take(&store, "lock", owner(1)).await;
    let tables = url.split("tables=").nth(1).unwrap();
    let refuses = format!(
        "create trigger {tables}_refuses before update on {tables}_locks for each row begin \
         set @said = coalesce(@said, 0) + 1; \
         if @said <= {times} then signal sqlstate 'HY000' \
         set mysql_errno = {code}, message_text = 'said by a test'; end if; end"
    );
    run(&mut outside(server()).await, &refuses).await;
    store.release(&name("lock"), &owner(1), Duration::ZERO).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_undone_by_a_conflict_is_tried_again() {
    // A deadlock, a lock wait, a row that changed, a conflict in a group of servers.
    for code in [1213, 1205, 1020, 3101] {
        let released = release(code, 2).await;
        assert!(matches!(released, Ok(Released::Released)), "{code}: {released:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_may_have_been_committed_is_in_doubt() {
    let cases = [
        (1180, FaultKind::InDoubt),     // an error as it is committed
        (3100, FaultKind::InDoubt),     // a part of the server that had a word in that
        (1026, FaultKind::InDoubt),     // a log that cannot be written
        (1317, FaultKind::InDoubt),     // ended by somebody
        (1114, FaultKind::Unreachable), // a table that is full
        (1290, FaultKind::Unreachable), // a replica
        (1142, FaultKind::Misconfigured),
    ];
    for (code, expected) in cases {
        let fault = release(code, u32::MAX).await.unwrap_err();
        assert_eq!(fault.kind(), expected, "{code}: {fault:#}");
    }
}
