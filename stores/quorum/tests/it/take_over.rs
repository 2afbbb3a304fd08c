//! Holds that change hands where members are away, or had no part in them.

use std::{sync::Arc, time::Duration};

use tenure_core::{
    FaultKind, MemoryStore, Owner, Store, Token,
    proto::{
        Renewed,
        queue::{Ask, Grant, Kind, Mode, Released, TakeOver, TakenOver},
        rule::{Rule, break_rule},
    },
    store::Renewal,
};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_sim::SimClock;
use tenure_testkit::fault::{Faults, Unreliable};

use crate::{
    drill::{Client, Drill, KEPT_OUT, Memory, calm},
    leftovers::{LEASE, Scene, faults},
    support::{ask, name, token},
};

/// A lease that no test outlives by chance, and that a quorum of a drill allows.
const TTL: Duration = Duration::from_secs(8);
/// Longer than any call to a member takes.
const CALL: Duration = Duration::from_secs(1);

fn owner(number: u8) -> Owner {
    Owner::from_bytes([number; 16])
}

/// What makes the hold of the owner of the first number that of the second.
pub(crate) fn over(from: u8, to: u8) -> TakeOver {
    TakeOver {
        from: owner(from),
        owner: owner(to),
        kind: Kind::Mutex,
        mode: Mode::Exclusive,
        ttl: TTL,
        label: format!("owner {to}").into(),
        detached: false,
    }
}

fn detaching(from: u8, to: u8) -> TakeOver {
    TakeOver { detached: true, ..over(from, to) }
}

async fn taken(quorum: &QuorumStore, over: &TakeOver) -> Option<Grant> {
    match quorum.take_over(&name("a"), over).await.unwrap() {
        TakenOver::Granted(grant) => Some(grant),
        TakenOver::NotHeld => None,
    }
}

async fn lock(quorum: &QuorumStore, number: u8) -> Token {
    token(&quorum.acquire(&name("a"), &ask(number, TTL)).await.unwrap()).unwrap()
}

async fn renew(quorum: &QuorumStore, number: u8) -> Renewed {
    let renewal = Renewal { name: name("a"), owner: owner(number), ttl: TTL };
    quorum.renew(&[renewal]).await.remove(0).unwrap_or(Renewed::Unknown)
}

async fn let_go(quorum: &QuorumStore, number: u8) -> Released {
    quorum.release(&name("a"), &owner(number), Duration::ZERO).await.unwrap()
}

/// Who holds the name at each member, and with which token.
async fn held(stores: &[MemoryStore]) -> Vec<Vec<(String, Token)>> {
    let mut held = Vec::new();
    for store in stores {
        let holders = store.inspect(&name("a")).await.unwrap().holders;
        held.push(holders.into_iter().map(|one| (one.label, one.token.unwrap())).collect());
    }
    held
}

/// The same, in the words of who it is alone.
async fn holders(stores: &[MemoryStore]) -> Vec<Vec<String>> {
    let held = held(stores).await.into_iter();
    held.map(|all| all.into_iter().map(|(label, _)| label).collect()).collect()
}

/// What goes wrong on one way to a member, and on no other.
fn on(client: &Client, members: &[usize], faults: Faults) {
    for (member, line) in client.lines.iter().enumerate() {
        line.set_faults(if members.contains(&member) { faults } else { calm() });
    }
}

fn lost() -> Faults {
    Faults { request_lost: 1_000, ..calm() }
}

#[tokio::test(start_paused = true)]
async fn a_detached_hold_is_handled_by_a_process_that_never_saw_it() {
    let drill = Drill::new(3).await;
    let first = drill.client();
    lock(&first.quorum, 1).await;
    let detached = taken(&first.quorum, &detaching(1, 2)).await.unwrap();
    drill.pass(TTL / 2).await;
    let renewed = renew(&drill.client().quorum, 2).await;
    assert_eq!(renewed, Renewed::Renewed { left: TTL, others_waiting: false });
    let heir = drill.client();
    let attached = taken(&heir.quorum, &over(2, 3)).await.unwrap();
    assert!(attached.token > detached.token);
    assert_eq!(renew(&drill.client().quorum, 2).await, Renewed::Lost);
    taken(&heir.quorum, &detaching(3, 4)).await.unwrap();
    assert_eq!(let_go(&drill.client().quorum, 4).await, Released::Released);
    drill.settle().await;
    assert!(drill.is_granted(&drill.client()).await);
}

/// A minority does not matter to it: what a majority answers is its answer.
#[tokio::test(start_paused = true)]
async fn a_detached_hold_is_handled_while_a_minority_is_away() {
    for away in 0..3 {
        let drill = Drill::new(3).await;
        let first = drill.client();
        lock(&first.quorum, 1).await;
        on(&first, &[away], lost());
        taken(&first.quorum, &detaching(1, 2)).await.unwrap();
        let other = drill.client();
        on(&other, &[away], lost());
        assert!(matches!(renew(&other.quorum, 2).await, Renewed::Renewed { .. }));
        taken(&other.quorum, &detaching(2, 3)).await.unwrap();
        let last = drill.client();
        on(&last, &[away], lost());
        assert_eq!(let_go(&last.quorum, 3).await, Released::Released);
    }
}

/// Each member decides for itself which copy is first.
#[tokio::test(start_paused = true)]
async fn of_several_copies_of_a_handle_one_takes_over_at_most() {
    let later = Faults { request_late: 1_000, delay: Duration::from_millis(100), ..calm() };
    for members in [3, 4] {
        for firsts in 0..1_usize << members {
            let drill = Drill::new(members).await;
            let first = drill.client();
            lock(&first.quorum, 1).await;
            taken(&first.quorum, &detaching(1, 2)).await.unwrap();
            let (one, two) = (drill.client_with_late_calls(), drill.client_with_late_calls());
            for client in [&one, &two] {
                assert_eq!(taken(&client.quorum, &over(8, 9)).await, None, "nobody has it");
            }
            let (mine, yours): (Vec<_>, Vec<_>) =
                (0..members).partition(|member| firsts & 1 << member != 0);
            on(&one, &yours, later);
            on(&two, &mine, later);
            let (mine_over, yours_over) = (over(2, 3), over(2, 4));
            let (ours, theirs) =
                tokio::join!(taken(&one.quorum, &mine_over), taken(&two.quorum, &yours_over));
            let needed = members / 2 + 1;
            assert_eq!(ours.is_some(), mine.len() >= needed, "{mine:?} of {members}");
            assert_eq!(theirs.is_some(), yours.len() >= needed, "{yours:?} of {members}");
            drill.pass(CALL).await;
            let winner = ours.map(|_| "owner 3").or(theirs.map(|_| "owner 4"));
            for holders in holders(&drill.stores).await {
                let only = holders.iter().all(|holder| Some(holder.as_str()) == winner);
                assert!(only, "{holders:?} beside {winner:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_lost_its_memory_in_between_does_not_count() {
    for durable in [false, true] {
        let drill = Drill::with(3, durable).await;
        let client = drill.client();
        lock(&client.quorum, 1).await;
        // It still has the hold, and may have forgotten another.
        drill.restart(1, Memory::All);
        on(&client, &[2], lost());
        let outcome = client.quorum.take_over(&name("a"), &over(1, 2)).await;
        if durable {
            assert!(matches!(outcome, Ok(TakenOver::Granted(_))), "{outcome:?}");
            continue;
        }
        let fault = outcome.unwrap_err();
        assert_eq!(fault.kind(), FaultKind::InDoubt, "{fault:#}");
        assert!(fault.message_and_cause().contains("kept out"), "{fault:#}");
        on(&client, &[], calm());
        taken(&client.quorum, &over(1, 2)).await.unwrap();
    }
    assert!(TTL < KEPT_OUT);
}

/// Whether a hold that one member of three still has cannot be taken over.
async fn a_minority_gives_nothing_over() -> bool {
    let drill = Drill::new(3).await;
    let client = drill.client();
    lock(&client.quorum, 1).await;
    for store in &drill.stores[1..] {
        store.evict(&name("a")).await.unwrap();
    }
    taken(&client.quorum, &over(1, 2)).await.is_none()
}

#[tokio::test(start_paused = true)]
async fn what_only_a_minority_still_has_is_not_taken_over() {
    assert!(a_minority_gives_nothing_over().await);
    let _broken = break_rule(Rule::TakeOverByMajority);
    assert!(!a_minority_gives_nothing_over().await, "nobody noticed");
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_a_hold_that_could_not_be_taken_over_is_given_back() {
    for left in 0..3 {
        for refuses in [false, true] {
            let scene = Scene::new().await;
            lock(&scene.quorum, 1).await;
            for (_, store) in scene.stores.iter().enumerate().filter(|(at, _)| *at != left) {
                store.evict(&name("a")).await.unwrap();
            }
            scene.refuse(if refuses { std::slice::from_ref(&left) } else { &[] });
            assert_eq!(taken(&scene.quorum, &over(1, 2)).await, None);
            scene.refuse(&[]);
            scene.freed(left).await;
            assert_eq!(taken(&scene.quorum, &over(1, 2)).await, None);
            assert_eq!(renew(&scene.quorum, 2).await, Renewed::Lost);
        }
    }
}

/// Three members, of which the first is an hour ahead, and a client of them.
async fn with_one_ahead() -> (QuorumStore, Vec<MemoryStore>, Vec<Unreliable>) {
    let clock = SimClock::true_time();
    let store = |member| {
        let own = clock.beside(1_000_000_000, 0);
        own.set_wall_by(if member == 0 { 3_600_000_000 } else { 0 });
        MemoryStore::with_clock(Arc::new(own))
    };
    let stores: Vec<_> = (0..3).map(store).collect();
    let line = |store: &MemoryStore| {
        let (store, random) = (Arc::new(store.clone()), tenure_testkit::Random::new(1));
        let own = Arc::new(clock.clone());
        Unreliable::without_late_calls(store, own, calm(), random, Arc::default())
    };
    let lines: Vec<_> = stores.iter().map(line).collect();
    let members = lines.iter().map(|line| Arc::new(line.clone()) as Arc<dyn Store>).collect();
    let options = QuorumOptions::new().clock(Arc::new(clock));
    (QuorumStore::open(members, options).await.unwrap(), stores, lines)
}

#[tokio::test(start_paused = true)]
async fn the_token_of_a_take_over_is_above_every_earlier_one_whichever_majority_gives_it_over() {
    let (quorum, stores, lines) = with_one_ahead().await;
    let first = lock(&quorum, 1).await;
    lines[2].set_faults(faults(1_000));
    let second = taken(&quorum, &over(1, 2)).await.unwrap().token;
    assert!(second > first);
    let had = held(&stores).await;
    let of_it = had.iter().filter(|held| **held == [("owner 2".to_owned(), second)]);
    assert_eq!(of_it.count(), 2, "{had:?}");
    lines[2].set_faults(faults(0));
    tokio::time::sleep(CALL).await;
    assert!(matches!(renew(&quorum, 2).await, Renewed::Renewed { .. }));
    tokio::time::sleep(CALL).await;
    // Those that are not ahead know of it all the same.
    lines[0].set_faults(faults(1_000));
    let third = taken(&quorum, &over(2, 3)).await.unwrap().token;
    assert!(third > second);
    let_go(&quorum, 3).await;
    assert!(lock(&quorum, 4).await > third);
}

#[tokio::test(start_paused = true)]
async fn a_silent_member_keeps_nothing_of_the_old_owner_and_gets_the_hold_with_a_renewal() {
    let drill = Drill::new(3).await;
    let client = drill.client();
    lock(&client.quorum, 1).await;
    on(&client, &[2], lost());
    let grant = taken(&client.quorum, &over(1, 2)).await.unwrap();
    on(&client, &[], calm());
    assert_eq!(holders(&drill.stores).await[2], ["owner 1"]);
    drill.pass(CALL).await;
    assert!(holders(&drill.stores).await[2].is_empty());
    assert!(matches!(renew(&client.quorum, 2).await, Renewed::Renewed { .. }));
    drill.settle().await;
    assert_eq!(holders(&drill.stores).await, [["owner 2"]; 3]);
    assert_eq!(taken(&client.quorum, &over(1, 2)).await.unwrap().token, grant.token);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_slow_gives_it_over_late() {
    let drill = Drill::new(3).await;
    let client = drill.client_with_late_calls();
    lock(&client.quorum, 1).await;
    on(&client, &[2], Faults { request_late: 1_000, delay: CALL / 4, ..calm() });
    let grant = taken(&client.quorum, &over(1, 2)).await.unwrap();
    drill.pass(CALL).await;
    assert_eq!(holders(&drill.stores).await, [["owner 2"]; 3]);
    // Its own token may be greater. Who was told of the other is told of it again.
    on(&client, &[0], lost());
    assert_eq!(taken(&client.quorum, &over(1, 2)).await.unwrap().token, grant.token);
}

/// What a member grants to an ask is a hold of the process that asks.
#[tokio::test(start_paused = true)]
async fn a_detached_hold_comes_back_to_no_member() {
    let drill = Drill::new(3).await;
    let client = drill.client();
    lock(&client.quorum, 1).await;
    taken(&client.quorum, &detaching(1, 2)).await.unwrap();
    drill.stores[0].evict(&name("a")).await.unwrap();
    assert!(matches!(renew(&client.quorum, 2).await, Renewed::Renewed { .. }));
    drill.settle().await;
    assert!(holders(&drill.stores).await[0].is_empty());
    taken(&client.quorum, &over(2, 3)).await.unwrap();
    assert!(matches!(renew(&client.quorum, 3).await, Renewed::Renewed { .. }));
    drill.settle().await;
    assert_eq!(holders(&drill.stores).await[0], ["owner 3"]);
}

#[tokio::test(start_paused = true)]
async fn a_take_over_in_doubt_that_is_repeated_answers_one_token() {
    for silent in [&[1, 2][..], &[0, 1, 2]] {
        for missed in [lost(), Faults { reply_lost: 1_000, ..calm() }] {
            let drill = Drill::new(3).await;
            let client = drill.client();
            let first = lock(&client.quorum, 1).await;
            on(&client, silent, missed);
            let fault = client.quorum.take_over(&name("a"), &over(1, 2)).await.unwrap_err();
            assert_eq!(fault.kind(), FaultKind::InDoubt, "{fault:#}");
            assert!(fault.message().contains("gave over"), "{fault:#}");
            on(&client, &[], calm());
            drill.pass(CALL).await;
            let grant = taken(&client.quorum, &over(1, 2)).await.unwrap();
            assert!(grant.token > first);
            assert_eq!(taken(&client.quorum, &over(1, 2)).await.unwrap().token, grant.token);
            let other = drill.client();
            assert_eq!(taken(&other.quorum, &over(1, 2)).await.unwrap().token, grant.token);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_take_over_in_doubt_is_undone_by_releasing_both_owners() {
    let (scene, name) = (Scene::with(Unreliable::new).await, name("a"));
    lock(&scene.quorum, 1).await;
    for line in &scene.lines[1..] {
        line.set_faults(Faults { request_lost: 1_000, ..faults(0) });
    }
    scene.quorum.take_over(&name, &over(1, 2)).await.unwrap_err();
    scene.refuse(&[]);
    let_go(&scene.quorum, 1).await;
    let_go(&scene.quorum, 2).await;
    for member in 0..3 {
        scene.freed(member).await;
    }
    // The call was not lost, but late.
    scene.comes_late(2, &ask(2, LEASE)).await;
}

#[tokio::test(start_paused = true)]
async fn a_take_over_that_comes_to_a_member_after_the_hold_moved_on_is_given_back() {
    let scene = Scene::with(Unreliable::new).await;
    lock(&scene.quorum, 1).await;
    scene.lines[2].set_faults(Faults { request_lost: 1_000, ..faults(0) });
    taken(&scene.quorum, &over(1, 2)).await.unwrap();
    tokio::time::sleep(CALL).await;
    scene.refuse(&[]);
    tokio::time::sleep(CALL).await;
    taken(&scene.quorum, &over(2, 3)).await.unwrap();
    scene.comes_late(2, &ask(2, TTL)).await;
}

#[tokio::test(start_paused = true)]
async fn a_take_over_that_comes_to_a_member_after_the_hold_was_lost_is_given_back() {
    let scene = Scene::with(Unreliable::new).await;
    lock(&scene.quorum, 1).await;
    scene.lines[2].set_faults(Faults { request_lost: 1_000, ..faults(0) });
    taken(&scene.quorum, &over(1, 2)).await.unwrap();
    tokio::time::sleep(CALL).await;
    scene.refuse(&[]);
    for store in &scene.stores {
        store.evict(&name("a")).await.unwrap();
    }
    assert_eq!(taken(&scene.quorum, &over(1, 2)).await, None);
    scene.comes_late(2, &ask(2, TTL)).await;
}

#[tokio::test(start_paused = true)]
async fn a_take_over_that_was_dropped_can_be_repeated_and_what_comes_late_of_it_is_given_back() {
    let (scene, name) = (Scene::with(Unreliable::new).await, name("a"));
    lock(&scene.quorum, 1).await;
    for line in &scene.lines[1..] {
        line.set_faults(Faults { request_lost: 1_000, ..faults(0) });
    }
    let over = over(1, 2);
    let taking = scene.quorum.take_over(&name, &over);
    assert!(tokio::time::timeout(Duration::from_millis(1), taking).await.is_err());
    scene.refuse(&[]);
    taken(&scene.quorum, &over).await.unwrap();
    let_go(&scene.quorum, 2).await;
    scene.comes_late(1, &ask(2, TTL)).await;
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_certainly_did_not_change_hands_is_as_it_was() {
    let (scene, name) = (Scene::new().await, name("a"));
    lock(&scene.quorum, 1).await;
    scene.refuse(&[0, 1, 2]);
    let fault = scene.quorum.take_over(&name, &over(1, 2)).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Unreachable, "{fault:#}");
    scene.refuse(&[]);
    scene.stores[0].evict(&name).await.unwrap();
    assert!(matches!(renew(&scene.quorum, 1).await, Renewed::Renewed { .. }));
    tokio::time::sleep(CALL).await;
    assert_eq!(holders(&scene.stores).await, [["owner 1"]; 3]);
}

/// An ask of the old owner that is on its way may come to a member at any time.
#[tokio::test(start_paused = true)]
async fn an_ask_of_the_old_owner_that_comes_to_a_member_late_is_given_back() {
    let scene = Scene::with(Unreliable::new).await;
    scene.lines[2].set_faults(Faults { request_lost: 1_000, ..faults(0) });
    lock(&scene.quorum, 1).await;
    tokio::time::sleep(CALL).await;
    scene.refuse(&[]);
    taken(&scene.quorum, &over(1, 2)).await.unwrap();
    scene.comes_late(2, &ask(1, TTL)).await;
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_comes_back_to_a_member_while_it_changes_hands_is_given_back() {
    let (scene, ms) = (Scene::with(Unreliable::new).await, Duration::from_millis);
    let late = |delay| Faults { request_late: 1_000, delay: ms(delay), ..faults(0) };
    lock(&scene.quorum, 1).await;
    tokio::time::sleep(ms(1)).await;
    scene.stores[0].evict(&name("a")).await.unwrap();
    assert!(matches!(renew(&scene.quorum, 1).await, Renewed::Renewed { .. }));
    // The member has said that it has nothing, is asked to take it back, and does. The others have not
    // given it over by then.
    let mut over = std::pin::pin!(async { taken(&scene.quorum, &over(1, 2)).await });
    scene.lines[1..].iter().for_each(|line| line.set_faults(late(400)));
    assert!(futures_util::poll!(&mut over).is_pending());
    assert!(over.await.is_some());
    scene.freed(0).await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_among_readers_is_taken_over_while_a_writer_waits() {
    let drill = Drill::new(3).await;
    let (client, writer) = (drill.client(), drill.client());
    for number in [1, 2] {
        let reads = Ask { mode: Mode::Shared, ..ask(number, TTL) };
        assert!(token(&client.quorum.acquire(&name("a"), &reads).await.unwrap()).is_some());
    }
    let intent = tenure_core::proto::queue::Intent::Wait { position: None };
    let waits = Ask { intent, ..ask(3, TTL) };
    assert!(token(&writer.quorum.acquire(&name("a"), &waits).await.unwrap()).is_none());
    drill.settle().await;
    let shared = |to| TakeOver { mode: Mode::Shared, ..over(1, to) };
    taken(&client.quorum, &shared(4)).await.unwrap();
    // What is held otherwise than it is said to be is not taken over, and stays.
    let wrong = client.quorum.take_over(&name("a"), &over(2, 5)).await.unwrap_err();
    assert_eq!(wrong.kind(), FaultKind::Unsupported, "{wrong}");
    for number in [4, 2] {
        assert_eq!(let_go(&client.quorum, number).await, Released::Released);
    }
    assert!(token(&writer.quorum.acquire(&name("a"), &waits).await.unwrap()).is_some());
}

#[tokio::test(start_paused = true)]
async fn what_a_quorum_does_not_grant_it_gives_over_to_nobody() {
    let drill = Drill::new(3).await;
    let quorum = drill.client().quorum;
    lock(&quorum, 1).await;
    let fault = async |on: &str, over: &TakeOver| {
        format!("{:#}", quorum.take_over(&name(on), over).await.unwrap_err())
    };
    let long = TakeOver { ttl: TTL * 2, ..over(1, 2) };
    assert!(fault("a", &long).await.contains("longest_lease"));
    let permits = TakeOver { mode: Mode::Permits { take: 1, of: 2 }, ..over(1, 2) };
    assert!(fault("a", &permits).await.contains("no permits"));
    assert!(fault("tenure:quorum", &over(1, 2)).await.contains("reserved for"));
    assert!(fault("a", &over(1, 1)).await.contains("its present owner"));
    assert!(matches!(renew(&quorum, 1).await, Renewed::Renewed { .. }));
}

/// Members that hold it otherwise refuse, and will for ever.
#[tokio::test(start_paused = true)]
async fn what_some_refuse_for_good_is_in_doubt_until_a_majority_does() {
    for refusing in [2, 3] {
        let drill = Drill::new(4).await;
        let client = drill.client();
        lock(&client.quorum, 1).await;
        for store in &drill.stores[4 - refusing..] {
            store.release(&name("a"), &owner(1), Duration::ZERO).await.unwrap();
            let otherwise = Ask { mode: Mode::Shared, ..ask(1, TTL) };
            store.acquire(&name("a"), &otherwise).await.unwrap();
        }
        let fault = client.quorum.take_over(&name("a"), &over(1, 2)).await.unwrap_err();
        drill.settle().await;
        let heirs = holders(&drill.stores).await.into_iter().flatten();
        let heirs = heirs.filter(|holder| holder == "owner 2").count();
        // Whoever repeats it, or releases both owners, settles it; until then nothing is taken back.
        let expected = match refusing {
            2 => (FaultKind::InDoubt, 2),
            _ => (FaultKind::Unsupported, 0),
        };
        assert_eq!((fault.kind(), heirs), expected, "{fault:#}");
    }
}

/// Another process may ask for more time just then, also the one that the hold comes from.
#[tokio::test(start_paused = true)]
async fn a_renewal_takes_nothing_from_a_hold_that_is_changing_hands() {
    for whose in ["the first", "another"] {
        let later = Faults { request_late: 1_000, delay: Duration::from_millis(400), ..calm() };
        let drill = Drill::new(3).await;
        let first = drill.client();
        lock(&first.quorum, 1).await;
        taken(&first.quorum, &detaching(1, 2)).await.unwrap();
        drill.stores[2].evict(&name("a")).await.unwrap();
        let (heir, other) = (drill.client_with_late_calls(), drill.client());
        for client in [&heir, &other] {
            assert_eq!(taken(&client.quorum, &over(8, 9)).await, None, "nobody has it");
        }
        on(&heir, &[1], later);
        let over = over(2, 3);
        let renews = if whose == "another" { &other } else { &first };
        let renewing = async {
            while holders(&drill.stores).await[0] != ["owner 3"] {
                drill.pass(Duration::from_millis(1)).await;
            }
            let seen = holders(&drill.stores).await;
            (seen, renew(&renews.quorum, 2).await)
        };
        let (taken, (seen, renewed)) = tokio::join!(taken(&heir.quorum, &over), renewing);
        assert_eq!(seen[..2], [["owner 3"], ["owner 2"]], "the second member was not late");
        assert_eq!(renewed, Renewed::Lost);
        assert!(taken.is_some(), "a renewal by {whose} released what the heir was about to get");
    }
}
