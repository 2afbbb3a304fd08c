//! Keys that others wrote, changed or evicted: nobody loses a lock by it, nobody gets one beside
//! another, and an operator can free it.

use std::time::Duration;

use tenure_core::{
    Fault, FaultKind, Owner, Store, Token,
    proto::{
        Renewed,
        queue::{Answer, Intent, Mode, Raised, Snapshot, TakenOver, Together},
    },
    store::Renewal,
};
use tenure_servers::redis::Reply;

use crate::{
    scenes::{
        ACTIONS, Action, Done, Lock, ME, ME_NEXT, OTHER, SCENES, Scene, TTL, WAIT, ask, owner,
    },
    support::{lock_keys, name, store},
};

/// What no clock has. The last of the times that fit a token has none after it.
const NO_TIMES: [&str; 8] = [
    "9007199254740991",
    "9007199254740992",
    "99999999999999999",
    "inf",
    "1e300",
    "0x10",
    "a text",
    "",
];

impl Lock {
    async fn asks_in(&self, number: u8, mode: Mode, intent: Intent) -> Result<Answer, Fault> {
        self.store.acquire(&self.name, &ask(number, mode, intent)).await
    }

    async fn renews(&self, owner: Owner) -> Renewed {
        let hold = Renewal { name: self.name.clone(), owner, ttl: TTL };
        self.store.renew(&[hold]).await.remove(0).unwrap()
    }

    async fn clear(&self) {
        self.server.command(&["FLUSHALL"]);
        // The name of the clock.
        self.asks_in(ME, Mode::Exclusive, Intent::Try).await.unwrap();
        self.store.release(&self.name, &owner(ME), Duration::ZERO).await.unwrap();
    }

    fn clock(&self) -> String {
        self.server.keys().into_iter().find(|key| key.ends_with("}clock")).unwrap()
    }

    /// Every key of a lock, with what is in it and when it ends.
    fn data(&self) -> Reply {
        let script = "local all = {} for _, key in ipairs(redis.call('KEYS', '*{*')) do \
            all[#all + 1] = key .. ' ' .. redis.call('PEXPIRETIME', key) .. ' ' .. \
            redis.sha1hex(redis.call('DUMP', key)) end table.sort(all) return all";
        self.server.command(&["EVAL", script, "0"])
    }
}

fn is_corrupt<T: std::fmt::Debug>(answer: Result<T, Fault>) {
    let fault = answer.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Corrupt, "{fault:#}");
}

/// Whether an answer is a grant, of a token that was not there before.
fn grants(done: &Done, before: &Snapshot) -> bool {
    let token = match done {
        Done::Asked(Answer::Granted { token, .. }) => *token,
        Done::Together(Together::Granted(grants)) => grants[0].token,
        Done::TakenOver(TakenOver::Granted(grant)) => grant.token,
        _ => return false,
    };
    before.holders.iter().all(|holder| holder.token != Some(token))
}

#[tokio::test]
async fn without_a_clock_nothing_is_granted_and_nobody_loses_what_they_have() {
    let lock = Lock::new();
    let mut failed = Vec::new();
    for no_time in NO_TIMES.map(Some).into_iter().chain([None]) {
        for scene in SCENES {
            for action in ACTIONS {
                lock.clear().await;
                lock.stage().set(scene).await;
                let before = lock.store.inspect(&lock.name).await.unwrap();
                let clock = lock.clock();
                if let Some(no_time) = no_time {
                    lock.server.command(&["SET", &clock, no_time]);
                } else {
                    lock.server.command(&["DEL", &clock]);
                    lock.server.command(&["HSET", &clock, "no", "clock"]);
                }
                let data = lock.data();
                // Stores remember where they met others.
                let caller = store(&lock.server.url());
                let case = format!("{no_time:?}: {action:?} of {scene:?}");
                let bad = match action.call(&caller, &lock.name).await {
                    Ok(done) => {
                        grants(&done, &before)
                            || action == Action::Raise
                                && matches!(done, Done::Raised(Raised::Raised, _))
                    }
                    // Of several names the clocks of others may have gone on.
                    Err(fault) => {
                        fault.kind() == FaultKind::InDoubt
                            || action != Action::Together && lock.data() != data
                    }
                };
                let stays = no_time.is_none_or(|no_time| {
                    lock.server.command(&["GET", &clock]) == Reply::Text(no_time.to_owned())
                });
                if bad || !stays {
                    failed.push(case);
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} {failed:#?}", failed.len());
}

#[tokio::test]
async fn who_may_not_delete_gets_nothing_by_asking_again_where_the_clock_is_none() {
    let lock = Lock::new();
    lock.clear().await;
    let clock = lock.clock();
    lock.server.command(&["DEL", &clock]);
    lock.server.command(&["RPUSH", &clock, "one"]);
    let rules = ["on", ">word", "~*", "&*", "+@all", "-del"];
    lock.server.command(&[&["ACL", "SETUSER", "few"][..], &rules].concat());
    let few = store(&lock.server.url().replace("redis://", "redis://few:word@"));
    for intent in [WAIT, Intent::Try] {
        for _ in 0..2 {
            is_corrupt(few.acquire(&lock.name, &ask(ME, Mode::Exclusive, intent)).await);
        }
    }
}

#[tokio::test]
async fn a_reader_that_is_alone_outlives_a_clock_of_another_type() {
    let lock = Lock::new();
    lock.asks_in(OTHER, Mode::Shared, WAIT).await.unwrap();
    let clock = lock.clock();
    lock.server.command(&["DEL", &clock]);
    lock.server.command(&["RPUSH", &clock, "one"]);
    is_corrupt(lock.asks_in(ME, Mode::Shared, WAIT).await);
    let next = ask(ME_NEXT, Mode::Shared, WAIT);
    is_corrupt(lock.store.turn(&lock.name, &owner(OTHER), &next).await);
    assert!(matches!(lock.renews(owner(OTHER)).await, Renewed::Renewed { .. }));
    let answer = lock.asks_in(ME, Mode::Exclusive, Intent::Try).await.unwrap();
    assert!(matches!(answer, Answer::Busy { .. }), "{answer:?}");
}

/// As after `PERSIST`, or when it was restored without its end.
#[tokio::test]
async fn a_lock_without_an_end_is_given_to_nobody_until_it_is_broken() {
    for mode in [Mode::Exclusive, Mode::Shared] {
        let lock = Lock::new();
        lock.asks_in(OTHER, mode, Intent::Try).await.unwrap();
        let key = lock.stage().key("lock:");
        assert_eq!(lock.server.command(&["PERSIST", &key]), Reply::Text("1".to_owned()));
        let held = lock.data();
        for (asked, intent) in [Mode::Exclusive, Mode::Shared]
            .into_iter()
            .flat_map(|mode| [(mode, WAIT), (mode, Intent::Try)])
        {
            match lock.asks_in(ME, asked, intent).await {
                Ok(Answer::Busy { .. }) => {}
                answer => is_corrupt(answer),
            }
            assert_eq!(lock.data(), held, "{mode:?} {asked:?} {intent:?}");
        }
        assert!(lock.store.inspect(&lock.name).await.unwrap().is_held());
        assert_eq!(lock.store.evict(&lock.name).await.unwrap().len(), 1);
        let answer = lock.asks_in(ME, Mode::Exclusive, WAIT).await.unwrap();
        assert!(matches!(answer, Answer::Granted { .. }), "{answer:?}");
    }
}

#[tokio::test]
async fn its_holder_gives_a_lock_without_an_end_one_by_renewing_it() {
    let lock = Lock::new();
    lock.asks_in(OTHER, Mode::Exclusive, Intent::Try).await.unwrap();
    let key = lock.stage().key("lock:");
    lock.server.command(&["PERSIST", &key]);
    let renewed = lock.renews(owner(OTHER)).await;
    assert!(matches!(renewed, Renewed::Renewed { left, .. } if left == TTL), "{renewed:?}");
    assert_ne!(lock.server.command(&["PTTL", &key]), Reply::Text("-1".to_owned()));
}

#[tokio::test]
async fn no_token_is_raised_so_far_that_none_can_follow() {
    let lock = Lock::new();
    lock.asks_in(ME, Mode::Exclusive, Intent::Try).await.unwrap();
    let before = lock.data();
    let last = Token::from_raw(i64::MAX.unsigned_abs()).unwrap();
    let fault = lock.store.raise(&lock.name, &owner(ME), last).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Misconfigured, "{fault:#}");
    assert_eq!(lock.data(), before);
    let most = Token::from_time((1 << 53) - 2).unwrap();
    lock.store.raise(&lock.name, &owner(ME), most).await.unwrap();
    lock.store.release(&lock.name, &owner(ME), Duration::ZERO).await.unwrap();
    let answer = lock.asks_in(ME, Mode::Exclusive, Intent::Try).await.unwrap();
    assert!(matches!(answer, Answer::Granted { token, .. } if token > most), "{answer:?}");
}

/// What somebody may do to the keys of a lock that one has and another waits for.
const HARM: [&[&[&str]]; 11] = [
    // What format 1 kept.
    &[
        &["DEL", "lock:", "line:"],
        &["HSET", "lock:", "n", "1", "x", "1", "s", "0", "p", "0", "next", "1", "till", "9e15"],
    ],
    &[&["HDEL", "lock:", "x"]],
    &[&["HSET", "lock:", "x", "none"]],
    &[&["HSET", "lock:", "end", "none"]],
    &[&["HDEL", "lock:", "n"]],
    &[&["HSET", "lock:", "n", "1"]],
    &[&["SET", "lock:", "no record"]],
    &[&["DEL", "lock:"], &["RPUSH", "lock:", "one"]],
    &[&["DEL", "lock:"], &["HSET", "lock:", "of", "another"]],
    &[&["DEL", "line:"], &["RPUSH", "line:", "one"]],
    &[&["HSET", "lock:", "x", "", "n", "1", "h", "none"], &["ZADD", "ends:", "9e15", "h"]],
];

#[tokio::test]
async fn what_makes_no_sense_is_never_shown_as_free_and_can_be_broken() {
    for harm in HARM {
        let lock = Lock::new();
        lock.stage().set(Scene::TheirsWanted).await;
        let lock_key = lock.stage().key("lock:");
        let key = |kind: &str| lock_key.replace("}lock:", &format!("}}{kind}"));
        for words in harm {
            let key = key(words[1]);
            let mut words: Vec<_> = words.to_vec();
            words[1] = &key;
            lock.server.command(&words);
        }
        let other = name("another");
        lock.store.acquire(&other, &ask(ME, Mode::Exclusive, WAIT)).await.unwrap();
        is_corrupt(lock.store.inspect(&lock.name).await);
        let listed = lock.store.list("", 9).await.unwrap();
        let listed: Vec<_> = listed.names.into_iter().map(|(name, _)| name).collect();
        assert_eq!(listed, std::slice::from_ref(&other), "{harm:?}");
        lock.store.release(&other, &owner(ME), Duration::ZERO).await.unwrap();
        let answer = lock.asks_in(ME, Mode::Exclusive, WAIT).await;
        assert!(!matches!(answer, Ok(Answer::Granted { .. })), "{harm:?}: {answer:?}");
        lock.store.evict(&lock.name).await.unwrap();
        assert_eq!(lock_keys(&lock.server), [] as [&str; 0], "{harm:?}");
        let answer = lock.asks_in(ME, Mode::Exclusive, WAIT).await.unwrap();
        assert!(matches!(answer, Answer::Granted { .. }), "{harm:?}: {answer:?}");
    }
}

/// Of a record that a script reads and this version does not.
#[tokio::test]
async fn what_is_broken_although_nobody_can_be_named_is_not_said_to_have_failed() {
    let lock = Lock::new();
    lock.asks_in(OTHER, Mode::Exclusive, Intent::Try).await.unwrap();
    let key = lock.stage().key("lock:");
    let record = format!("{}99999999999999999999 somebody", owner(OTHER).to_hex());
    lock.server.command(&["SET", &key, &record, "PX", "600000"]);
    is_corrupt(lock.store.inspect(&lock.name).await);
    assert_eq!(lock.store.evict(&lock.name).await.unwrap(), []);
    let answer = lock.asks_in(ME, Mode::Exclusive, WAIT).await.unwrap();
    assert!(matches!(answer, Answer::Granted { .. }), "{answer:?}");
}
