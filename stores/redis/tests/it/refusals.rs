//! What a server refuses: no script stops midway with an effect that it denies.

use std::{
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicU32, Ordering},
};

use futures_util::FutureExt;
use tenure_core::{FaultKind, LockName, Store};
use tenure_redis::{Address, RedisOptions, RedisStore};
use tenure_servers::{RedisServer, redis::Reply};

use crate::{
    places::ACL,
    scenes::{ACTIONS, Action, SCENES, Scene, Stage},
    support::{store, until},
};

/// Commands of the documented user that are not run by scripts of a lock.
const NOT_IN_SCRIPTS: [&str; 11] = [
    "hello",
    "auth",
    "ping",
    "select",
    "subscribe",
    "unsubscribe",
    "publish",
    "evalsha",
    "eval",
    "scan",
    "info",
];

/// A server and somebody who may do everything there.
struct Table {
    server: RedisServer,
    admin: RedisStore,
    cases: AtomicU32,
}

impl Table {
    fn new(server: RedisServer) -> Self {
        let admin = store(&server.url());
        Self { server, admin, cases: AtomicU32::new(0) }
    }

    fn ok(&self, words: &[&str]) {
        assert_eq!(self.server.command(words), Reply::Text("OK".to_owned()), "{words:?}");
    }

    /// The documented user with one command less, but for the keys of these kinds.
    fn user_without(&self, command: &str, but: &[&str]) -> RedisStore {
        let user = format!("without-{command}-{}", but.concat());
        let mut words: Vec<_> = ACL.split_whitespace().collect();
        words[2] = &user;
        let less = format!("-{command}");
        words.push(&less);
        let keys: String = but.iter().map(|kind| format!(" ~tenure:{{???}}{kind}*")).collect();
        let selector = format!("(+{command}{keys})");
        if !but.is_empty() {
            words.push(&selector);
        }
        self.ok(&words);
        let address = self.server.address();
        let address = Address::Tcp { host: address.ip().to_string(), port: address.port() };
        let options = RedisOptions::new(address);
        RedisStore::new(options.user(&user).password("choose-a-password")).unwrap()
    }

    /// All keys but clocks, with what is in them and when they end.
    fn data(&self) -> Reply {
        let script = "local all = {} \
            for _, key in ipairs(redis.call('KEYS', '*{*')) do \
            if not string.find(key, '}clock$') then all[#all + 1] = key .. ' ' .. \
            redis.call('PEXPIRETIME', key) .. ' ' .. redis.sha1hex(redis.call('DUMP', key)) end \
            end table.sort(all) return all";
        self.server.command(&["EVAL", script, "0"])
    }

    /// One call in one state while `refuse` is in force; says whether the server refused it.
    async fn refuses(
        &self,
        user: &RedisStore,
        (scene, action): (Scene, Action),
        refuse: &[&str],
        permit: &[&str],
    ) -> bool {
        // Stores remember where they met others.
        let case = self.cases.fetch_add(1, Ordering::Relaxed);
        let name = LockName::new(format!("lock {case}")).unwrap();
        self.ok(&["FLUSHALL"]);
        let stage = Stage { server: &self.server, store: &self.admin, name: name.clone() };
        stage.set(scene).await;
        let seen = self.admin.inspect(&name).await.unwrap();
        let before = self.data();
        if !refuse.is_empty() {
            self.ok(refuse);
        }
        let answer = action.call(user, &name).await;
        let after = self.data();
        if !permit.is_empty() {
            self.ok(permit);
        }
        let refused = match &answer {
            Ok(_) => false,
            Err(fault) => {
                assert_ne!(fault.kind(), FaultKind::InDoubt, "it was known: {fault:?}");
                assert_ne!(fault.kind(), FaultKind::Corrupt, "it makes sense: {fault:?}");
                true
            }
        };
        if refused {
            assert_eq!(before, after, "something happened, but {answer:?}");
        } else if let Ok(done) = &answer {
            done.is_true(&seen, &self.admin.inspect(&name).await.unwrap());
        }
        if refused || action != Action::Evict {
            stage.others_are_there(&seen).await;
        }
        refused
    }

    /// Every call in every state; says whether any was refused, and adds those that failed.
    async fn all(
        &self,
        what: &str,
        user: &RedisStore,
        (refuse, permit): (&[&str], &[&str]),
        failed: &mut Vec<String>,
    ) -> bool {
        let mut any = false;
        for scene in SCENES {
            for action in ACTIONS {
                let case = self.refuses(user, (scene, action), refuse, permit);
                match AssertUnwindSafe(case).catch_unwind().await {
                    Ok(refused) => any |= refused,
                    Err(_) => failed.push(format!("{what}: {action:?} of {scene:?}")),
                }
                // What a case that failed left in force must not spoil the next.
                if !permit.is_empty() {
                    self.ok(permit);
                }
            }
        }
        any
    }
}

#[tokio::test]
async fn without_any_one_command_a_call_is_done_or_leaves_everything_as_it_was() {
    let table = Table::new(RedisServer::start());
    let (mut needless, mut failed) = (Vec::new(), Vec::new());
    for command in ACL.split_whitespace().filter_map(|word| word.strip_prefix('+')) {
        let user = table.user_without(command, &[]);
        let any = table.all(&format!("without {command}"), &user, (&[], &[]), &mut failed).await;
        // It makes a hand-off shorter, which is done without it as well.
        if !any && !NOT_IN_SCRIPTS.contains(&command) && command != "zpopmin" {
            needless.push(command);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(needless.is_empty(), "nothing needs {needless:?}");
}

/// By selectors a user may be permitted a command for some keys, and refused it for others.
#[tokio::test]
async fn with_a_command_for_some_keys_alone_a_call_is_done_or_leaves_everything_as_it_was() {
    const KINDS: [&str; 4] = ["lock:", "clock", "line:", "ends:"];
    let table = Table::new(RedisServer::start());
    let mut failed = Vec::new();
    let without_keys = |command| NOT_IN_SCRIPTS.contains(&command) || command == "time";
    let commands = ACL.split_whitespace().filter_map(|word| word.strip_prefix('+'));
    for command in commands.filter(|command| !without_keys(command)) {
        let all_but = |kind| KINDS.into_iter().filter(|one| *one != kind).collect::<Vec<_>>();
        let some = KINDS[1..].iter().map(|kind| all_but(*kind)).chain([vec!["lock:"]]);
        for kinds in some {
            let user = table.user_without(command, &kinds);
            let what = format!("{command} for {kinds:?} alone");
            table.all(&what, &user, (&[], &[]), &mut failed).await;
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Several names at once are in doubt then, of which there is another test.
#[tokio::test]
async fn with_set_for_the_clock_alone_a_hold_stays_whose_it_is() {
    let table = Table::new(RedisServer::start());
    let user = table.user_without("set", &["clock"]);
    for scene in SCENES {
        for action in ACTIONS.into_iter().filter(|action| *action != Action::Together) {
            table.refuses(&user, (scene, action), &[], &[]).await;
        }
    }
}

#[tokio::test]
async fn a_server_that_takes_no_writes_does_all_of_a_call_or_nothing() {
    // A folder in the place of its file keeps the server from saving its data.
    let server = RedisServer::with(&["--save", "3600 1000000", "--appendonly", "no"]);
    std::fs::create_dir(server.folder().join("dump.rdb")).unwrap();
    server.command(&["BGSAVE"]);
    until("it could not save", async || {
        matches!(server.command(&["INFO", "persistence"]), Reply::Text(text)
            if text.contains("rdb_last_bgsave_status:err"))
    })
    .await;
    let table = Table::new(server);
    let set = |setting, value| ["CONFIG", "SET", setting, value];
    let disk = "stop-writes-on-bgsave-error";
    table.ok(&set(disk, "no"));
    let mut failed = Vec::new();
    for (what, refuse, permit) in [
        ("OOM", &set("maxmemory", "1")[..], &set("maxmemory", "0")[..]),
        ("MISCONF", &set(disk, "yes"), &set(disk, "no")),
        ("NOREPLICAS", &set("min-replicas-to-write", "1"), &set("min-replicas-to-write", "0")),
        ("READONLY", &["REPLICAOF", "127.0.0.1", "1"], &["REPLICAOF", "NO", "ONE"]),
    ] {
        let user = store(&table.server.url());
        let any = table.all(what, &user, (refuse, permit), &mut failed).await;
        assert!(any, "{what} refuses nothing");
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[tokio::test]
async fn a_user_who_may_not_list_names_is_told_so() {
    let table = Table::new(RedisServer::start());
    let fault = table.user_without("scan", &[]).list("", 10).await.unwrap_err();
    let said = format!("{fault:#}");
    assert_eq!(fault.kind(), FaultKind::Misconfigured);
    assert!(said.contains("list names") && said.contains("SCAN"), "{said}");
    assert!(!said.contains("script"), "{said}");
}
