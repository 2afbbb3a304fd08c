//! Clause 14: several names in one step, all of them or none.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tenure_core::{
    Fault, FaultKind, LockName,
    proto::{
        Renewed, Token,
        all::MOST,
        queue::{Ask, Grant, Intent, Mode, Order, Snapshot, Together},
    },
};
use tokio::task::JoinSet;

use super::{
    Client,
    client::expect_success,
    scene::{LONG, MARGIN, SHORT, STEP, Scene, name},
};

/// A cluster of Redis keeps them in one slot, so that any store can grant them together.
const NAMES: [&str; 3] = ["zebra-842", "lock", "antelope-1261"];
const CLIENTS: usize = 4;
const ROUNDS: u32 = 8;
/// No store is so slow that all rounds together take longer.
const BOUND: Duration = Duration::from_secs(120);

/// A client that can ask for several names together; none where the store declares that it
/// cannot, in which case it must refuse.
async fn able(scene: &Scene) -> Option<Client> {
    let client = scene.client().await;
    let can = client.can().together;
    if !can {
        scene.refused("joint grants", client.ask_together(&tries(&client)).await);
    }
    can.then_some(client)
}

/// Asks of fresh owners for all names, to be held alone for long.
fn tries(client: &Client) -> Vec<(LockName, Ask)> {
    NAMES.iter().map(|text| (name(text), client.tries())).collect()
}

/// The same with one changed.
fn with(
    mut asks: Vec<(LockName, Ask)>,
    at: usize,
    change: impl Fn(&mut Ask),
) -> Vec<(LockName, Ask)> {
    if let Some((_, ask)) = asks.get_mut(at) {
        change(ask);
    }
    asks
}

async fn lock(client: &Client, asks: &[(LockName, Ask)]) -> Vec<Grant> {
    match expect_success(client.ask_together(asks).await) {
        Together::Granted(grants) if grants.len() == asks.len() => grants,
        other => panic!("{} free names were asked for, the answer was {other:?}", asks.len()),
    }
}

async fn let_go(client: &Client, asks: &[(LockName, Ask)]) {
    for (name, ask) in asks {
        client.on(name.as_str()).let_go(&ask.owner).await;
    }
}

/// Checks that nobody has or wants any of the names but those `taken`.
async fn only_taken(client: &Client, taken: &[&str]) {
    for text in NAMES {
        let seen = client.on(text).inspect().await;
        if taken.contains(&text) {
            assert_eq!(seen.holders.len(), 1, "{text}");
            assert_eq!(seen.waiters, [], "{text}");
        } else {
            assert_eq!(seen, Snapshot::default(), "{text}");
        }
    }
}

/// Clause 14: names that nobody has are granted together, each as if it was asked for alone.
pub async fn free_names_are_granted_together(scene: Scene) {
    let Some(client) = able(&scene).await else { return };
    let other = scene.client().await;
    let asks = with(tries(&client), 1, |ask| ask.ttl = LONG / 4);
    let grants = lock(&client, &asks).await;
    for ((name, ask), grant) in asks.iter().zip(&grants) {
        assert!(grant.left <= ask.ttl && grant.left > ask.ttl / 2, "{grant:?}");
        assert!(!grant.others_waiting);
        let busy = other.on(name.as_str()).busy(&other.tries()).await;
        assert_eq!(busy.holder.and_then(|holder| holder.token), Some(grant.token));
    }
    let_go(&client, &asks).await;
    only_taken(&client, &[]).await;
    lock(&other, &tries(&other)).await;
}

/// Clause 14: one name that somebody has keeps all the others free, and the answer says which.
pub async fn one_busy_name_leaves_the_others_free(scene: Scene) {
    let Some(client) = able(&scene).await else { return };
    let other = scene.client().await;
    for (index, text) in NAMES.into_iter().enumerate() {
        let held = Ask { label: text.into(), ..other.tries() };
        let grant = other.on(text).lock(&held).await;
        for waits in [Intent::Try, Intent::Wait { position: None }] {
            let asks = with(tries(&client), index, |ask| ask.intent = waits);
            let answer = expect_success(client.ask_together(&asks).await);
            let Together::Busy { index: at, ahead, holder } = answer else { panic!("{answer:?}") };
            let holder = holder.map(|holder| (holder.label, holder.token));
            assert_eq!((at, ahead), (index, 0));
            assert_eq!(holder, Some((text.to_owned(), Some(grant.token))));
            only_taken(&client, &[text]).await;
        }
        other.on(text).let_go(&held.owner).await;
    }
    lock(&client, &tries(&client)).await;
}

/// Clauses 1 and 14: whoever asks again is told the same, and what is left.
pub async fn repeating_a_joint_ask_is_harmless(scene: Scene) {
    let Some(client) = able(&scene).await else { return };
    let asks = tries(&client);
    let (first, rest) = asks.split_at(1);
    // One of them by itself: the joint ask finds it, and acquires the rest.
    let mut tokens = Vec::new();
    for (name, ask) in first {
        tokens.push(client.on(name.as_str()).lock(ask).await.token);
    }
    let grants = lock(&client, &asks).await;
    assert!(grants.iter().map(|grant| grant.token).take(1).eq(tokens));
    let passed = Duration::from_millis(50);
    scene.pass(passed).await;
    let longer = with(with(asks.clone(), 0, |ask| ask.ttl = LONG * 2), 2, |ask| ask.ttl = LONG * 2);
    for (again, before) in lock(&client, &longer).await.iter().zip(&grants) {
        assert_eq!(again.token, before.token);
        assert!(again.left <= before.left - passed, "{again:?} after {before:?}");
    }
    for ((name, ask), before) in rest.iter().zip(grants.iter().skip(1)) {
        assert_eq!(client.on(name.as_str()).lock(ask).await.token, before.token);
    }
}

/// Clauses 8 and 14: the token of each name rises, whichever way it is granted.
pub async fn tokens_rise_through_joint_grants(scene: Scene) {
    let Some(client) = able(&scene).await else { return };
    let mut last: BTreeMap<&str, Token> = BTreeMap::new();
    let mut rises = |text: &'static str, token| {
        let before = last.insert(text, token);
        assert!(before.is_none_or(|before| token > before), "{token} after {before:?}");
    };
    for _ in 0..3 {
        for text in NAMES {
            let ask = client.tries();
            rises(text, client.on(text).lock(&ask).await.token);
            client.on(text).let_go(&ask.owner).await;
        }
        let asks = tries(&client);
        for (text, grant) in NAMES.into_iter().zip(lock(&client, &asks).await) {
            rises(text, grant.token);
        }
        let_go(&client, &asks).await;
    }
}

/// Clauses 9 and 14: who waits for one of the names, or is offered it, comes first.
pub async fn a_joint_ask_passes_nobody(scene: Scene) {
    let Some(client) = able(&scene).await else { return };
    if super::try_and_wait::without_queue(&scene, &client).await {
        return;
    }
    let other = scene.client().await;
    let (held, waits) = (other.tries(), other.waits());
    other.lock(&held).await;
    other.busy(&waits).await;
    other.let_go(&held.owner).await;
    for order in [Order::Fifo, Order::Barging] {
        let asks = with(tries(&client), 1, |ask| ask.order = order);
        let answer = expect_success(client.ask_together(&asks).await);
        let passes = !matches!(answer, Together::Busy { index: 1, .. } | Together::Apart);
        assert!(!passes, "past a waiter: {answer:?}");
        for free in [NAMES[0], NAMES[2]] {
            assert_eq!(client.on(free).inspect().await, Snapshot::default());
        }
    }
    other.lock_within(&waits, MARGIN).await;
    other.let_go(&waits.owner).await;
    lock_soon(&scene, &client, &tries(&client)).await;
}

/// Clause 14: what is granted together is renewed, waited for and handed over like anything else.
pub async fn each_joint_hold_is_a_hold_like_any_other(scene: Scene) {
    let Some(client) = able(&scene).await else { return };
    let other = scene.client().await;
    let asks = with(tries(&client), 0, |ask| ask.ttl = LONG / 4);
    let grants = lock(&client, &asks).await;
    let renewals: Vec<_> =
        asks.iter().map(|(name, ask)| client.on(name.as_str()).renewal(&ask.owner, LONG)).collect();
    for renewed in client.renew_all(&renewals).await {
        let Renewed::Renewed { left, others_waiting: false } = renewed else {
            panic!("{renewed:?}")
        };
        assert!(left > LONG / 2, "{left:?}");
    }
    for (((name, ask), grant), text) in asks.iter().zip(&grants).zip(NAMES) {
        assert_eq!(name.as_str(), text);
        let (client, other) = (client.on(text), other.on(text));
        let waits = other.waits();
        other.busy(&waits).await;
        client.let_go(&ask.owner).await;
        let next = other.lock_within(&waits, MARGIN).await;
        assert!(next.token > grant.token, "{next:?} after {grant:?}");
        assert_eq!(client.renew(&ask.owner, LONG).await, Renewed::Lost);
    }
}

/// Clause 14: a lease that ended is in nobody's way.
pub async fn names_whose_leases_ended_are_granted_together(scene: Scene) {
    let Some(client) = able(&scene).await else { return };
    let brief: Vec<_> =
        tries(&client).into_iter().map(|(name, ask)| (name, Ask { ttl: SHORT, ..ask })).collect();
    let before = lock(&client, &brief).await;
    let after = lock_soon(&scene, &client, &tries(&client)).await;
    for (after, before) in after.iter().zip(before) {
        assert!(after.token > before.token);
    }
}

/// Clause 14: where one name cannot be granted as asked, none is taken.
pub async fn what_is_refused_for_one_is_granted_for_none(scene: Scene) {
    let Some(client) = able(&scene).await else { return };
    let impossible = Mode::Permits { take: 2, of: 1 };
    let asks = with(tries(&client), 2, |ask| ask.mode = impossible);
    match client.ask_together(&asks).await {
        Err(fault) => assert_ne!(fault.kind(), FaultKind::InDoubt, "{fault:#}"),
        Ok(answer) => assert_eq!(answer, Together::Apart),
    }
    only_taken(&client, &[]).await;
    let held = tries(&client);
    lock(&client, &held[2..]).await;
    // Its own hold, in another mode.
    let other_mode = with(held.clone(), 2, |ask| ask.mode = Mode::Permits { take: 1, of: 1 });
    match client.ask_together(&other_mode).await {
        Err(fault) => assert_ne!(fault.kind(), FaultKind::InDoubt, "{fault:#}"),
        Ok(answer) => assert_eq!(answer, Together::Apart),
    }
    only_taken(&client, &[NAMES[2]]).await;
}

/// Clause 14: a reader enters beside readers, or is told to ask for the names one by one.
pub async fn readers_and_writers_are_asked_for_together(scene: Scene) {
    let Some(client) = able(&scene).await else { return };
    let reads = |asks| with(asks, 1, |ask: &mut Ask| ask.mode = Mode::Shared);
    let asks = reads(tries(&client));
    if !client.can().shared {
        scene.refused("shared mode", client.ask_together(&asks).await);
        return only_taken(&client, &[]).await;
    }
    lock(&client, &asks).await;
    let_go(&client, &asks).await;
    let (writer, reader) = (client.tries(), Ask { mode: Mode::Shared, ..client.tries() });
    client.lock(&writer).await;
    let answer = expect_success(client.ask_together(&reads(tries(&client))).await);
    assert!(matches!(answer, Together::Busy { index: 1, .. }), "{answer:?}");
    client.let_go(&writer.owner).await;
    client.lock(&reader).await;
    let answer = expect_success(client.ask_together(&tries(&client)).await);
    assert!(matches!(answer, Together::Busy { index: 1, .. }), "{answer:?}");
    match expect_success(client.ask_together(&reads(tries(&client))).await) {
        Together::Granted(_) => assert_eq!(client.inspect().await.holders.len(), 2),
        Together::Apart => only_taken(&client, &["lock"]).await,
        busy @ Together::Busy { .. } => panic!("a reader beside a reader: {busy:?}"),
    }
}

/// Clause 14: no names, too many, or one of them twice is a mistake, and taken for one.
pub async fn names_that_make_no_sense_together_are_refused(scene: Scene) {
    let Some(client) = able(&scene).await else { return };
    let in_one_slot = |text: &String| redis_tag(text) == redis_tag("lock");
    let numbered = |count| -> Vec<_> {
        let names = (0..).map(|number| format!("n{number}")).filter(in_one_slot).take(count);
        names.map(|text| (name(&text), client.tries())).collect()
    };
    let twice = vec![(name("lock"), client.tries()), (name("lock"), client.tries())];
    for asks in [Vec::new(), numbered(MOST + 1), twice] {
        match client.ask_together(&asks).await {
            Err(fault) => assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}"),
            Ok(answer) => panic!("{} names: {answer:?}", asks.len()),
        }
    }
    only_taken(&client, &[]).await;
    let most = numbered(MOST);
    assert_eq!(lock(&client, &most).await.len(), MOST);
    let_go(&client, &most).await;
}

/// The hash tag that the Redis store gives a name: of those with the same all keys are in one slot.
fn redis_tag(text: &str) -> u32 {
    let hash = text
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 16)) % 1_024
}

/// Promises S1 and S2: contenders that name the same locks in other orders never hold one together,
/// and each gets all of its own in the end.
pub async fn joint_asks_that_cross_all_end(scene: Scene) {
    let Some(_) = able(&scene).await else { return };
    let inside: Arc<Mutex<BTreeMap<&str, CriticalSection>>> = Arc::default();
    let mut contenders = JoinSet::new();
    for number in 0..CLIENTS {
        let (scene, client, inside) = (scene.clone(), scene.client().await, inside.clone());
        let mut names = NAMES;
        names.rotate_left(number % NAMES.len());
        // Two of the three, so that each meets another at one name alone.
        let names = [names[0], names[1]];
        contenders.spawn(async move {
            for _ in 0..ROUNDS {
                one_round(&scene, &client, &inside, names).await;
            }
        });
    }
    while let Some(ended) = contenders.join_next().await {
        if let Err(error) = ended {
            panic!("{error:#}");
        }
    }
    only_taken(&scene.client().await, &[]).await;
}

#[derive(Debug, Default)]
struct CriticalSection {
    taken: bool,
    last: Option<Token>,
}

async fn one_round(
    scene: &Scene,
    client: &Client,
    inside: &Mutex<BTreeMap<&'static str, CriticalSection>>,
    names: [&'static str; 2],
) {
    let asks: Vec<_> = names.iter().map(|text| (name(text), client.tries())).collect();
    let grants = lock_soon(scene, client, &asks).await;
    for (text, grant) in names.into_iter().zip(grants) {
        let mut inside = inside.lock().unwrap_or_else(PoisonError::into_inner);
        let here = inside.entry(text).or_default();
        assert!(!here.taken, "two hold {text} together");
        assert!(Some(grant.token) > here.last, "{grant:?} after {:?}", here.last);
        *here = CriticalSection { taken: true, last: Some(grant.token) };
    }
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    for text in names {
        let mut inside = inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.entry(text).or_default().taken = false;
    }
    let_go(client, &asks).await;
}

/// Asks again and again until all are granted together.
async fn lock_soon(scene: &Scene, client: &Client, asks: &[(LockName, Ask)]) -> Vec<Grant> {
    let mut waited = Duration::ZERO;
    loop {
        let answer: Result<Together, Fault> = client.ask_together(asks).await;
        if let Together::Granted(grants) = expect_success(answer) {
            assert_eq!(grants.len(), asks.len());
            return grants;
        }
        assert!(waited < BOUND, "not granted within {BOUND:?}");
        scene.pass(STEP).await;
        waited += STEP;
    }
}
