//! Clause 13: capabilities are values.

use std::time::Duration;

use tenure_core::proto::queue::{Ask, Kind, Mode, TakeOver};

use super::scene::{LONG, Scene};

/// A store has a kind, as its URL writes it, and a place that people can read.
pub async fn a_store_says_what_and_where_it_is(scene: Scene) {
    let client = scene.client().await;
    let kind = client.store().kind();
    assert!(!kind.is_empty() && kind.chars().all(|c| c.is_ascii_lowercase()), "{kind:?}");
    let location = client.store().location();
    assert!(!location.trim().is_empty() && !location.contains(char::is_control), "{location:?}");
}

/// Clause 13: what a store can do is a matter of the place, not of the client.
pub async fn every_client_declares_the_same(scene: Scene) {
    let (one, other) = (scene.client().await, scene.client().await);
    assert_eq!(one.can(), other.can());
    assert_eq!(one.can(), one.engine().can());
    assert_eq!(one.store().kind(), one.engine().store().kind());
}

/// Clause 13: a reason is given for what is lacking, and says why and what to do.
pub async fn reasons_are_for_what_is_lacking(scene: Scene) {
    let client = scene.client().await;
    let can = client.can();
    let reasons = &can.reasons;
    for (can_do, reason) in [
        (can.shared, reasons.shared),
        (can.permits, reasons.permits),
        (can.fifo, reasons.fifo),
        (can.detach, reasons.detach),
    ] {
        let Some(reason) = reason else { continue };
        assert!(!can_do && !reason.what.is_empty() && !reason.help.is_empty(), "{reason:?}");
    }
}

/// Clause 13: a place outlives a claim window, or a waiter passed over could not come back to it;
/// and a store without a queue has no figures of one.
pub async fn lengths_declared_are_usable(scene: Scene) {
    let client = scene.client().await;
    let can = client.can();
    if can.fifo {
        assert!(can.max_waiters > 0);
        assert!(can.position_ttl >= can.claim_window, "{can:?}");
    } else {
        assert!(!can.handoff, "{can:?}");
        let figures = (can.position_ttl, can.claim_window, can.max_waiters);
        assert_eq!(figures, (Duration::ZERO, Duration::ZERO, 0));
    }
    assert!(can.max_holders > 0);
    assert!(can.longest_lease > LONG, "{can:?}");
    if can.handoff {
        assert!(can.claim_window >= Duration::from_millis(10), "{can:?}");
    }
}

/// Clause 13: a longer lease than it grants is refused, whoever asks for it, and changes nothing.
pub async fn a_lease_that_is_too_long_is_refused(scene: Scene) {
    let client = scene.client().await;
    let Some(ttl) = client.can().longest_lease.checked_add(Duration::from_millis(1)) else {
        return;
    };
    let held = client.tries();
    let outcome = client.ask(&Ask { ttl, ..held.clone() }).await;
    assert!(outcome.is_err(), "longer than it can: {outcome:?}");
    let grant = client.lock(&held).await;
    if client.can().detach {
        let outcome =
            client.try_take_over(&TakeOver { ttl, ..client.taking_over(&held.owner) }).await;
        assert!(outcome.is_err(), "longer than it can: {outcome:?}");
    }
    assert_eq!(client.lock(&held).await.token, grant.token);
}

/// Clause 13: the same for a hold without a process; the longest lease itself is granted.
pub async fn a_detached_lease_that_is_too_long_is_refused(scene: Scene) {
    let client = scene.client().await;
    let longest = client.can().longest_detached_lease(Kind::ReadWrite);
    let Some(too_long) = longest.checked_add(Duration::from_millis(1)) else { return };
    if !client.can().shared || !client.can().detach {
        return;
    }
    let reads = Ask { kind: Kind::ReadWrite, mode: Mode::Shared, ..client.tries() };
    let grant = client.lock(&reads).await;
    let (kind, mode, detached) = (reads.kind, reads.mode, true);
    let over = TakeOver { kind, mode, detached, ..client.taking_over(&reads.owner) };
    let outcome = client.try_take_over(&TakeOver { ttl: too_long, ..over.clone() }).await;
    assert!(outcome.is_err(), "longer than it can: {outcome:?}");
    assert_eq!(client.lock(&reads).await.token, grant.token);
    assert!(client.take_over(&TakeOver { ttl: longest, ..over }).await.left <= longest);
}
