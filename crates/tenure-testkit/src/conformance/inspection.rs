//! Looking at names: who holds, who waits, what is in use.

use tenure_core::proto::queue::{Ask, Mode, Snapshot};

use super::{
    Client,
    scene::{LONG, MARGIN, SHORT, STEP, Scene},
};

/// A free name shows nobody.
pub async fn a_free_name_shows_nobody(scene: Scene) {
    let client = scene.client().await;
    assert_eq!(client.inspect().await, Snapshot::default());
    let held = client.tries();
    client.lock(&held).await;
    client.let_go(&held.owner).await;
    assert_eq!(client.inspect().await, Snapshot::default());
}

/// Everybody sees who holds a name, by what token, how and for how long, and who waits.
pub async fn holders_and_waiters_are_shown(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    let grant = holder.lock(&Ask { label: "gänzlich 💡".into(), ..holder.tries() }).await;
    if other.can().fifo {
        for label in ["one", "two"] {
            other.busy(&Ask { label: label.into(), ..other.waits() }).await;
        }
    }
    let seen = other.inspect().await;
    let [shown] = seen.holders.as_slice() else { panic!("{seen:?}") };
    assert_eq!(shown.label, "gänzlich 💡");
    assert_eq!(shown.token, Some(grant.token));
    assert_eq!(shown.mode, Mode::Exclusive);
    assert!(!shown.lingering);
    assert!(shown.left.is_none_or(|left| left <= LONG && left > holder.full(LONG)), "{shown:?}");
    let waiting: Vec<_> = seen.waiters.iter().map(|waiting| waiting.label.as_str()).collect();
    assert_eq!(waiting, if other.can().fifo { vec!["one", "two"] } else { vec![] });
}

/// A look neither takes nor extends anything.
pub async fn looking_changes_nothing(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    holder.lock(&Ask { ttl: SHORT, ..holder.tries() }).await;
    let waits = other.waits();
    for _ in 0..5 {
        other.inspect().await;
        other.list("", 10).await;
        scene.pass(STEP).await;
    }
    other.lock_within(&waits, SHORT + MARGIN).await;
}

async fn listed(client: &Client, prefix: &str, limit: usize) -> (Vec<String>, bool) {
    let listing = client.list(prefix, limit).await;
    for (name, snapshot) in &listing.names {
        assert!(*snapshot != Snapshot::default(), "{name} is listed without a contender");
    }
    let names = listing.names.iter().map(|(name, _)| name.as_str().to_owned()).collect();
    (names, listing.more)
}

/// Names in use are listed by prefix and in order, with who contends for them.
pub async fn names_are_listed_in_order(scene: Scene) {
    let (holder, other) = (scene.client().await, scene.client().await);
    for name in ["b:2", "a:1", "b:10", "c", "b"] {
        let label = format!("holder of {name}");
        holder.on(name).lock(&Ask { label: label.into(), ..holder.tries() }).await;
    }
    let (all, more) = listed(&other, "", 100).await;
    assert_eq!((all, more), (["a:1", "b", "b:10", "b:2", "c"].map(str::to_owned).to_vec(), false));
    let (some, _) = listed(&other, "b:", 100).await;
    assert_eq!(some, ["b:10", "b:2"]);
    assert_eq!(listed(&other, "d", 100).await, (vec![], false));
    let listing = other.list("a", 1).await;
    let labels: Vec<_> = listing
        .names
        .iter()
        .flat_map(|(_, seen)| &seen.holders)
        .map(|holder| holder.label.as_str())
        .collect();
    assert_eq!(labels, ["holder of a:1"]);
}

/// A list has no more names than asked for, and says when there are more.
pub async fn a_list_is_cut_and_says_so(scene: Scene) {
    let client = scene.client().await;
    for name in ["a", "b", "c"] {
        client.on(name).lock(&client.tries()).await;
    }
    assert_eq!(listed(&client, "", 2).await, (vec!["a".to_owned(), "b".to_owned()], true));
    let (all, more) = listed(&client, "", 3).await;
    assert_eq!((all.len(), more), (3, false));
}

/// Names that nobody contends for are not listed: neither released ones nor those whose lease
/// ended.
pub async fn names_not_in_use_are_not_listed(scene: Scene) {
    let client = scene.client().await;
    let (released, ended) = (client.on("released"), client.on("ended"));
    let held = client.tries();
    released.lock(&held).await;
    released.let_go(&held.owner).await;
    ended.lock(&Ask { ttl: SHORT, ..client.tries() }).await;
    scene.pass(SHORT * 2).await;
    assert_eq!(listed(&client, "", 100).await, (vec![], false));
}

/// A look at the store finds something to say, with a help for what is bad.
pub async fn health_says_something(scene: Scene) {
    let client = scene.client().await;
    let diagnostics = client.health().await;
    assert!(!diagnostics.is_empty());
    for diagnostic in diagnostics {
        assert!(!diagnostic.what.is_empty() && !diagnostic.found.is_empty(), "{diagnostic:?}");
        let good = diagnostic.severity == tenure_core::store::Severity::Good;
        assert!(good || diagnostic.help.is_some(), "what to do about {diagnostic:?}?");
    }
}
