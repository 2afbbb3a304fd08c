//! Clause 19: the record of the slots outlives its holders.

use std::time::Duration;

use tenure_core::{
    FaultKind,
    proto::{
        queue::{Ask, Mode},
        schedule::SlotRecord,
    },
    store::{SlotsWrite, SlotsWritten},
};

use super::{
    Client,
    client::expect_success,
    scene::{LONG, MARGIN, SHORT, STEP, Scene},
};

/// How long a record is kept in these cases, if no case waits for that.
const KEPT: Duration = Duration::from_secs(3_600);
/// How far apart two hosts that ask for the time of day one after the other may be told it is.
const APART: u64 = 60_000_000;

/// A client of a store that keeps records. `None` if it keeps none, which it must say.
async fn keeper(scene: &Scene) -> Option<Client> {
    let client = scene.client().await;
    if client.can().slot_records {
        return Some(client);
    }
    let held = client.tries();
    client.lock(&held).await;
    scene.refused("records of slots", client.read_slots().await);
    scene.refused("records of slots", client.write_slots(&held.owner, &first("text")).await);
    None
}

fn first(text: &str) -> SlotsWrite {
    SlotsWrite { before: None, text: text.to_owned(), keep: KEPT }
}

/// Writes what replaces the record that the store has.
async fn write(client: &Client, ask: &Ask, wanted: &str) -> SlotsWritten {
    let write = SlotsWrite { before: text(client).await, ..first(wanted) };
    expect_success(client.write_slots(&ask.owner, &write).await)
}

async fn text(client: &Client) -> Option<String> {
    expect_success(client.read_slots().await).text
}

/// Clause 19: what the holder writes, all see.
pub async fn the_holder_writes_the_record_of_its_slots(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    assert_eq!(text(&client).await, None, "nothing was written yet");
    let held = client.tries();
    client.lock(&held).await;
    assert_eq!(write(&client, &held, "first\nsecond é '\"\\ {}\n").await, SlotsWritten::Written);
    let other = scene.client().await;
    for reader in [&client, &other, &client.engine()] {
        assert_eq!(text(reader).await.as_deref(), Some("first\nsecond é '\"\\ {}\n"));
    }
}

/// Clause 19: not before the grant, not by somebody else, not by a reader, and not after the release.
pub async fn nobody_else_writes_the_record_of_the_slots(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let (held, other) = (client.tries(), client.tries());
    assert_eq!(write(&client, &held, "before").await, SlotsWritten::NotHeld);
    client.lock(&held).await;
    assert_eq!(write(&client, &other, "another").await, SlotsWritten::NotHeld);
    client.let_go(&held.owner).await;
    assert_eq!(write(&client, &held, "after").await, SlotsWritten::NotHeld);
    let short = Ask { ttl: SHORT, ..client.tries() };
    client.lock(&short).await;
    scene.pass(SHORT * 2).await;
    assert_eq!(write(&client, &short, "too late").await, SlotsWritten::NotHeld);
    if client.can().shared {
        let reader = Ask { mode: Mode::Shared, ..client.tries() };
        client.lock(&reader).await;
        assert_eq!(write(&client, &reader, "of a reader").await, SlotsWritten::NotHeld);
        client.let_go(&reader.owner).await;
    }
    assert_eq!(text(&client).await, None);
    let kept = client.tries();
    client.lock(&kept).await;
    if !client.can().longest_keep.is_zero() {
        client.let_go_keeping(&kept.owner, LONG).await;
        assert_eq!(write(&client, &kept, "released").await, SlotsWritten::NotHeld);
        assert_eq!(text(&client).await, None);
    }
}

/// Clauses 1, 19: the last one counts.
pub async fn a_record_is_replaced_and_a_repeated_write_is_harmless(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let held = client.tries();
    let grant = client.lock(&held).await;
    for wanted in ["one", "one", "two, which is longer", "3"] {
        assert_eq!(write(&client, &held, wanted).await, SlotsWritten::Written);
        assert_eq!(text(&client).await.as_deref(), Some(wanted));
    }
    assert_eq!(client.lock(&held).await.token, grant.token, "the hold is as it was");
}

/// Clauses 1, 19: a copy of an earlier write that comes late changes nothing.
pub async fn a_late_copy_of_a_write_changes_nothing(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let held = client.tries();
    client.lock(&held).await;
    let one = first("one");
    let two = SlotsWrite { before: Some("one".to_owned()), ..first("two") };
    let sent =
        async |write: &SlotsWrite| expect_success(client.write_slots(&held.owner, write).await);
    assert_eq!(sent(&two).await, SlotsWritten::Changed, "there is no first one");
    for write in [&one, &two, &two] {
        assert_eq!(sent(write).await, SlotsWritten::Written);
    }
    assert_eq!(sent(&one).await, SlotsWritten::Changed);
    assert_eq!(text(&client).await.as_deref(), Some("two"));
}

/// Clause 19: it is there for the next holder, however the one before ended.
pub async fn a_record_outlives_its_holder_and_the_breaking_of_its_lock(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let held = client.tries();
    client.lock(&held).await;
    write(&client, &held, "released").await;
    client.let_go(&held.owner).await;
    assert_eq!(text(&client).await.as_deref(), Some("released"));
    let next = client.tries();
    client.lock(&next).await;
    assert_eq!(text(&client).await.as_deref(), Some("released"));
    write(&client, &next, "broken").await;
    client.evict().await;
    assert_eq!(write(&client, &next, "late").await, SlotsWritten::NotHeld);
    assert_eq!(text(&scene.client().await).await.as_deref(), Some("broken"));
}

/// Clause 19: nothing stays for ever, and a write sets the time anew.
pub async fn a_record_is_gone_when_its_time_is_over(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let held = client.tries();
    client.lock(&held).await;
    write(&client, &held, "long").await;
    let short = SlotsWrite { before: Some("long".to_owned()), keep: SHORT, ..first("short") };
    let written = client.write_slots(&held.owner, &short).await;
    assert_eq!(expect_success(written), SlotsWritten::Written);
    let mut waited = Duration::ZERO;
    while text(&client).await.is_some() {
        assert!(waited < MARGIN, "it is still there");
        scene.pass(STEP).await;
        waited += STEP;
    }
    assert_eq!(write(&client, &held, "anew").await, SlotsWritten::Written);
    scene.pass(SHORT * 2).await;
    assert_eq!(text(&client).await.as_deref(), Some("anew"));
}

/// Clause 19: each name has its own.
pub async fn names_have_records_of_their_own(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let other = client.on("other");
    for (client, wanted) in [(&client, "one"), (&other, "two")] {
        let held = client.tries();
        client.lock(&held).await;
        write(client, &held, wanted).await;
    }
    let both = (text(&client).await, text(&other).await);
    assert_eq!((both.0.as_deref(), both.1.as_deref()), (Some("one"), Some("two")));
    assert_eq!(text(&client.on("third")).await, None);
}

/// Clause 19: its length is bounded.
pub async fn a_record_of_the_greatest_length_is_kept_and_a_longer_one_refused(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let held = client.tries();
    client.lock(&held).await;
    let longest = "r".repeat(SlotRecord::MAX);
    assert_eq!(write(&client, &held, &longest).await, SlotsWritten::Written);
    let longer = SlotsWrite { before: Some(longest.clone()), ..first(&format!("{longest}r")) };
    let refused = client.write_slots(&held.owner, &longer).await;
    assert_eq!(refused.map_err(|fault| fault.kind()), Err(FaultKind::Misconfigured));
    assert_eq!(text(&client).await, Some(longest));
}

/// Clause 19: the time of day is the store's, and goes on.
pub async fn everybody_sees_the_same_time_of_day(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let other = scene.client().await;
    let before = expect_success(client.read_slots().await).now;
    scene.pass(SHORT).await;
    let after = expect_success(other.read_slots().await).now;
    assert!((before + 100_000..before + APART).contains(&after), "{before} then {after}");
}
