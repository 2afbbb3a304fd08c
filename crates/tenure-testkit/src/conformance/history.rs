//! Clause 20: a history is beside the lock.

use std::{collections::BTreeSet, time::Duration};

use tenure_core::{
    history::Retention,
    proto::{
        Token,
        history::{Event, SlotTry, StoredEvent},
        queue::Kind,
        schedule::SlotId,
    },
    store::HistoryWrite,
};

use super::{
    Client,
    client::expect_success,
    scene::{LONG, MARGIN, SHORT, STEP, Scene},
};

/// How far apart two hosts that ask for the time of day one after the other may be told it is.
const APART: u64 = 60_000_000;
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// A client of a store that keeps histories. `None` if it keeps none, which it must say.
async fn keeper(scene: &Scene) -> Option<Client> {
    let client = scene.client().await;
    if client.can().history {
        return Some(client);
    }
    scene.refused("histories", client.read_history().await);
    scene.refused("histories", client.add_history(&write(100, ["text"])).await);
    None
}

fn write<const N: usize>(most: u32, events: [&str; N]) -> HistoryWrite {
    let events = events.map(|text| (text.to_owned(), Duration::ZERO)).to_vec();
    HistoryWrite { events, retention: kept(most, DAY) }
}

fn kept(most: u32, time: Duration) -> Retention {
    match Retention::new(most, time) {
        Ok(retention) => retention,
        Err(error) => panic!("{error}"),
    }
}

async fn add(client: &Client, write: &HistoryWrite) {
    expect_success(client.add_history(write).await);
}

async fn events(client: &Client) -> Vec<StoredEvent> {
    expect_success(client.read_history().await).events
}

/// The texts of the events, each once: a call whose answer got lost is repeated, and adds its events again.
async fn texts(client: &Client) -> Vec<String> {
    once(events(client).await).into_iter().map(|event| event.text).collect()
}

fn once(events: Vec<StoredEvent>) -> Vec<StoredEvent> {
    let mut seen = BTreeSet::new();
    events.into_iter().filter(|event| seen.insert(event.text.clone())).collect()
}

/// Clause 20: what one adds, all see, in the order in which it came.
pub async fn what_is_added_all_see_in_order(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    assert!(texts(&client).await.is_empty(), "nothing was added yet");
    let other = scene.client().await;
    add(&client, &write(100, ["one\nof é '\"\\ {} lines\n", "two"])).await;
    add(&other, &write(100, ["three"])).await;
    add(&client.engine(), &write(100, ["four"])).await;
    for reader in [&client, &other, &client.engine()] {
        assert_eq!(texts(reader).await, ["one\nof é '\"\\ {} lines\n", "two", "three", "four"]);
    }
}

/// Clause 20: an event has the store's time of day, less the time that has passed since.
pub async fn an_event_has_the_time_at_which_it_happened(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let before = expect_success(client.read_history().await).now;
    let ago = Duration::from_secs(3_600);
    let past = HistoryWrite { events: vec![("past".to_owned(), ago)], ..write(100, []) };
    add(&client, &past).await;
    scene.pass(SHORT).await;
    add(&client, &write(100, ["now"])).await;
    let told = expect_success(client.read_history().await);
    let events = once(told.events.clone());
    let [past, now] = &events[..] else { panic!("{told:?}") };
    let passed = now.at - past.at;
    assert!((3_600_100_000..3_600_000_000 + APART).contains(&passed), "{told:?}");
    assert!((before..=told.now).contains(&now.at), "{before} then {told:?}");
}

/// Clause 20: the oldest ones go.
pub async fn no_more_events_are_kept_than_the_retention_allows(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    for text in ["1", "2", "3", "4", "5"] {
        add(&client, &write(2, [text])).await;
    }
    // Those that were added again count as well.
    let kept = async |most: usize, all: &[&str]| {
        let told = events(&client).await;
        assert_eq!(told.len(), most, "two of each hold: {told:?}");
        let told = texts(&client).await;
        assert_eq!(told, all[all.len() - told.len()..]);
    };
    kept(4, &["2", "3", "4", "5"]).await;
    add(&client, &write(1, ["6", "7", "8"])).await;
    kept(2, &["7", "8"]).await;
}

/// Clause 20: nothing stays for ever, and one that is added sets the time anew.
pub async fn a_history_is_gone_when_its_time_is_over(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let short = Duration::from_secs(1);
    add(&client, &write(100, ["long"])).await;
    let ago = Duration::from_secs(3_600);
    let old = vec![("too old".to_owned(), ago), ("new".to_owned(), Duration::ZERO)];
    add(&client, &HistoryWrite { events: old, retention: kept(100, short) }).await;
    assert!(!texts(&client).await.contains(&"too old".to_owned()));
    let mut waited = Duration::ZERO;
    while !texts(&client).await.is_empty() {
        assert!(waited < MARGIN, "it is still there");
        scene.pass(STEP).await;
        waited += STEP;
    }
    add(&client, &write(100, ["anew"])).await;
    assert_eq!(texts(&client).await, ["anew"]);
}

/// Clause 20: it needs no hold, and no lock shows it or is changed by it.
pub async fn a_history_is_beside_the_lock(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    add(&client, &write(100, ["before"])).await;
    assert!(client.list("", 100).await.names.is_empty(), "nobody holds anything");
    let held = client.tries();
    let grant = client.lock(&held).await;
    add(&scene.client().await, &write(100, ["held"])).await;
    assert_eq!(client.inspect().await.holders.len(), 1);
    assert_eq!(client.lock(&held).await.token, grant.token, "the hold is as it was");
    client.let_go(&held.owner).await;
    client.lock(&client.tries()).await;
    client.evict().await;
    add(&client, &write(100, ["broken"])).await;
    assert_eq!(texts(&client).await, ["before", "held", "broken"]);
}

/// Clause 20: each name has its own.
pub async fn names_have_histories_of_their_own(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    for (name, text) in [("one", "1"), ("One", "2"), ("one ", "3"), ("{one}:history", "4")] {
        let client = client.on(name);
        if scene.refuses_name(name) {
            continue;
        }
        add(&client, &write(100, [text])).await;
        assert_eq!(texts(&client).await, [text], "{name:?}");
    }
    assert!(texts(&client.on("two")).await.is_empty());
}

/// Clause 20: none is lost where many add to one name at a time.
pub async fn what_several_add_at_a_time_is_all_there(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let (one, two) = (scene.client().await, scene.client().await);
    let adds = async |client: &Client, who: &str| {
        for number in 0..10 {
            add(client, &write(100, [&format!("{who} {number}")])).await;
        }
    };
    tokio::join!(adds(&client, "a"), adds(&one, "b"), adds(&two, "c"));
    let told = texts(&client).await;
    for who in ["a", "b", "c"] {
        let of: Vec<_> = told.iter().filter(|text| text.starts_with(who)).cloned().collect();
        let all: Vec<_> = (0..10).map(|number| format!("{who} {number}")).collect();
        assert_eq!(of, all, "each of them in order");
    }
}

/// Clause 20: its size is bounded by the number of events and their length.
pub async fn the_longest_events_are_kept_as_often_as_they_may_be(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let longest = "e".repeat(Event::MAX);
    let most = if scene.connections_break() { 4 } else { HistoryWrite::MOST };
    let many = vec![(longest.clone(), Duration::ZERO); most];
    let many = HistoryWrite { events: many, retention: kept(Retention::MOST, LONG) };
    for _ in 0..2 {
        add(&client, &many).await;
    }
    let told = events(&client).await;
    assert!(told.len() >= 2 * most, "{}", told.len());
    assert!(told.iter().all(|event| event.text == longest));
}

/// Clause 20: events that tenure writes are read as they were written.
pub async fn events_of_a_hold_are_read_as_they_were_written(scene: Scene) {
    let Some(client) = keeper(&scene).await else { return };
    let Some(token) = Token::from_time(7) else { return };
    let event = Event::new(token, Kind::Mutex, "a\u{1f512}/7 {reason=\"x y\"}", kept(3, DAY));
    let event = event.slot(Some(SlotTry::new(SlotId::Named("a 'slot' \u{1f512}".into()), 2)));
    add(&client, &write(3, [&event.to_text()])).await;
    let told: Vec<_> = texts(&client).await.iter().map(|text| Event::read(text)).collect();
    assert_eq!(told, [Some(event)]);
}
