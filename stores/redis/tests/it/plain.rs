//! The plain layout on a real server, where no other library is needed to see it.

use std::time::Duration;

use tenure_core::Tenure;
use tenure_servers::{RedisCluster, RedisServer, SentinelService, redis::Reply};

use crate::{
    places::PLAIN_ACL,
    support::{PATIENCE, hold, lost, name, tenure, times_out, until},
};

const KEY: &str = "stock:42";
const TTL: Duration = Duration::from_secs(2);

fn ours(server: &RedisServer) -> Tenure {
    tenure(&format!("{}?layout=plain", server.url()))
}

fn ok() -> Reply {
    Reply::Text("OK".into())
}

/// As every library's forced unlock does it.
#[tokio::test]
async fn a_lock_that_is_deleted_is_lost() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    let guard = hold(&tenure, KEY, TTL).await;
    let token = guard.token();
    assert_eq!(server.command(&["SET", KEY, "theirs", "PX", "60000"]), ok());
    lost(&guard).await;
    drop(guard);
    until("the release is over", async || tenure.store().inspect(&name(KEY)).await.is_ok()).await;
    assert_eq!(server.command(&["GET", KEY]), Reply::Text("theirs".into()));
    server.command(&["DEL", KEY]);
    assert!(hold(&tenure, KEY, TTL).await.token() > token);
}

/// A hash at the key is Redisson's lock, a string without a ttl perhaps no lock at all.
#[tokio::test]
async fn what_is_no_plain_lock_is_neither_taken_nor_deleted() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    server.command(&["HSET", KEY, "0fe07e3c-5bbd-4e24-8ee7-6a5d4c3b2a19:1", "1"]);
    let refused = tenure.mutex(KEY).try_lock().await.unwrap_err();
    assert!(refused.to_string().contains("no string"), "{refused:#}");
    assert!(tenure.store().evict(&name(KEY)).await.is_err());
    server.command(&["DEL", KEY]);
    server.command(&["SET", KEY, "not a lock"]);
    let wait = Duration::from_secs(1);
    times_out(async || tenure.mutex(KEY).lock().wait(wait).await.unwrap_err()).await;
    let refused = tenure.store().evict(&name(KEY)).await.unwrap_err();
    assert!(refused.to_string().contains("never expires"), "{refused:#}");
    assert_eq!(server.command(&["GET", KEY]), Reply::Text("not a lock".into()));
}

#[tokio::test]
async fn our_own_keys_are_no_locks() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    hold(&tenure, KEY, TTL).await.release().await.unwrap();
    for key in server.keys() {
        let refused = tenure.mutex(&key).try_lock().await.unwrap_err();
        assert!(refused.to_string().contains("tenure or Redisson"), "{key}: {refused:#}");
        assert!(tenure.store().evict(&name(&key)).await.is_err());
    }
    assert!(tenure.list("").await.unwrap().names.is_empty());
}

/// The first wake-up is ours: no waiter of tenure polls for what tenure releases.
#[tokio::test]
async fn a_release_is_announced_where_others_announce_theirs() {
    let server = RedisServer::start();
    let url = format!("{}?layout=plain&key_prefix=app:&unlock_channel=app:channel", server.url());
    let (one, other) = (tenure(&url), tenure(&url));
    let guard = hold(&one, "a", PATIENCE).await;
    let mutex = other.mutex("a");
    let waiting = tokio::spawn(async move { mutex.lock().wait(PATIENCE).await.unwrap() });
    until("it listens", async || {
        server.command(&["PUBSUB", "NUMSUB", "app:channel"])
            == Reply::List(vec![Reply::Text("app:channel".into()), Reply::Text("2".into())])
    })
    .await;
    guard.release().await.unwrap();
    assert!(waiting.await.unwrap().check().is_ok());
    assert_eq!(server.command(&["EXISTS", "app:a"]), Reply::Text("1".into()));
}

/// A server that takes no writes for a moment has not forgotten who has a lock.
#[tokio::test]
async fn a_renewal_that_the_server_refuses_loses_no_hold() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    let ttl = Duration::from_secs(6);
    let (one, other) = (hold(&tenure, KEY, ttl).await, hold(&tenure, "other", ttl).await);
    let first = [one.deadline(), other.deadline()];
    assert_eq!(server.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]), ok());
    until("a renewal has failed", async || one.last_renewal_error().is_some()).await;
    assert_eq!(server.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]), ok());
    until("both are renewed", async || one.deadline() > first[0] && other.deadline() > first[1])
        .await;
    one.check().unwrap();
    other.check().unwrap();
}

#[tokio::test]
async fn a_key_that_somebody_made_endless_ends_again() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    let guard = hold(&tenure, KEY, TTL).await;
    assert_eq!(server.command(&["PERSIST", KEY]), Reply::Text("1".into()));
    until("it ends again", async || {
        !matches!(server.command(&["TTL", KEY]), Reply::Text(left) if left.starts_with('-'))
    })
    .await;
    guard.check().unwrap();
}

#[tokio::test]
async fn a_list_leaves_out_what_is_no_string() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    let _guard = hold(&tenure, KEY, PATIENCE).await;
    server.command(&["HSET", "session:1", "user", "x"]);
    let listed = tenure.list("").await.unwrap().names;
    assert_eq!(listed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [KEY]);
}

/// The rights of the page, for locks under `app:` and a channel for each key.
#[tokio::test]
async fn a_user_with_the_rights_of_the_page_hears_what_is_released() {
    let server = RedisServer::start();
    let acl = format!("{PLAIN_ACL} &stock-channel:* +psubscribe");
    assert_eq!(server.command(&acl.split_whitespace().collect::<Vec<_>>()), ok());
    let url = server.url().replace("redis://", "redis://tenure:choose-a-password@");
    let options = "layout=plain&key_prefix=app:&unlock_channel=stock-channel:*";
    let tenure = tenure(&format!("{url}?{options}"));
    let _guard = hold(&tenure, "a", PATIENCE).await;
    until("it listens", async || server.command(&["PUBSUB", "NUMPAT"]) == Reply::Text("1".into()))
        .await;
}

/// Else a clock that is set back would let the tokens of one lock fall.
#[tokio::test]
async fn two_names_of_one_key_have_one_clock() {
    let server = RedisServer::start();
    let (bare, short) =
        (ours(&server), tenure(&format!("{}?layout=plain&key_prefix=stock:", server.url())));
    let first = hold(&bare, KEY, PATIENCE).await;
    assert!(short.mutex("42").try_lock().await.unwrap().is_none());
    let clocks = || server.keys().iter().filter(|key| key.ends_with("}clock")).count();
    let before = first.token();
    first.release().await.unwrap();
    assert!(hold(&short, "42", PATIENCE).await.token() > before);
    assert_eq!(clocks(), 1);
}

/// Values that look a little like what tenure writes, one that is empty, and one of 70 MB.
#[tokio::test]
async fn any_value_of_another_library_is_busy() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    let busy = async |what: &str| {
        let wait = Duration::from_secs(1);
        assert!(tenure.mutex(KEY).try_lock().await.unwrap().is_none(), "{what}");
        // In doubt, if the wait ends while the server is asked.
        assert!(tenure.mutex(KEY).lock().wait(wait).await.is_err(), "{what}");
        let seen = tenure.inspect(KEY).await.unwrap();
        assert_eq!(seen.holders[0].label, "(another library)", "{what}");
        seen
    };
    for value in [
        "q83vEjRWeJCrze8SNFZ4kAworker 7: go! please",
        "q83vEjRWeJCrze8SNFZ4kAworker 7: 17! please",
        "d41d8cd98f00b204e9800998ecf8427e1700000000 no lock at all",
        "",
    ] {
        assert_eq!(server.command(&["SET", KEY, value, "PX", "60000"]), ok());
        let seen = busy(value).await;
        assert_eq!(tenure.evict_seen(KEY, &seen).await.unwrap().len(), 1, "{value}");
    }
    server.command(&["SETRANGE", KEY, "70000000", "x"]);
    server.command(&["PEXPIRE", KEY, "60000"]);
    let seen = busy("a long one").await;
    assert!(tenure.evict_seen(KEY, &seen).await.is_err());
    assert_eq!(server.command(&["EXISTS", KEY]), Reply::Text("1".into()));
}

/// Its holder has gone, so nobody announces the release to those who do not listen.
#[tokio::test]
async fn a_waiter_behind_an_attached_hold_hears_its_release() {
    let server = RedisServer::start();
    let (one, other) = (ours(&server), ours(&server));
    let detached = hold(&one, KEY, PATIENCE).await.detach().await.unwrap();
    let attached = one.attach(&detached.handle).await.unwrap();
    let mutex = other.mutex(KEY);
    let waiting = tokio::spawn(async move { mutex.lock().wait(PATIENCE).await.unwrap() });
    let listening = Reply::List(vec![Reply::Text("tenure:freed".into()), Reply::Text("2".into())]);
    until("both listen", async || {
        server.command(&["PUBSUB", "NUMSUB", "tenure:freed"]) == listening
    })
    .await;
    attached.release().await.unwrap();
    waiting.await.unwrap().check().unwrap();
}

#[tokio::test]
async fn a_look_says_what_the_layout_lacks() {
    let server = RedisServer::start();
    let layout = async |setting: &str| {
        let url = format!("{}?layout=plain{setting}", server.url());
        let found = tenure(&url).health().await.unwrap();
        found.into_iter().find(|diagnostic| diagnostic.what == "layout").unwrap().found
    };
    assert!(layout("").await.contains("every string counts"));
    assert!(!layout("&key_prefix=app:").await.contains("every string counts"));
}

#[tokio::test]
async fn sentinels_lead_to_the_keys_of_others_too() {
    let service = SentinelService::start();
    let tenure = tenure(&format!("{}&layout=plain&key_prefix=app:", service.url()));
    let first = hold(&tenure, "a", PATIENCE).await;
    let server = &service.servers[service.primary().unwrap()];
    assert_eq!(server.command(&["EXISTS", "app:a"]), Reply::Text("1".into()));
    assert!(tenure.mutex("a").try_lock().await.unwrap().is_none());
    let token = first.token();
    first.release().await.unwrap();
    assert!(hold(&tenure, "a", PATIENCE).await.token() > token);
}

/// What a key of the plain layout is called that says whose turn it is.
fn turns_key(server: &RedisServer) -> Option<String> {
    server.keys().into_iter().find(|key| key.ends_with(&format!("turns:{KEY}")))
}

/// How many keys of this server ended with their time.
fn expired(server: &RedisServer) -> u64 {
    let Reply::Text(told) = server.command(&["INFO", "stats"]) else { panic!() };
    let line = told.lines().find_map(|line| line.strip_prefix("expired_keys:"));
    line.unwrap().trim().parse().unwrap()
}

/// Most other libraries look now and then, and tenure's waiters would be there first each time.
#[tokio::test]
async fn a_name_that_another_library_wants_is_left_free_now_and_then() {
    let server = RedisServer::start();
    let tenure = ours(&server);
    // Where nobody else was seen, nobody is waited for.
    hold(&tenure, KEY, PATIENCE).await.release().await.unwrap();
    hold(&tenure, KEY, PATIENCE).await.release().await.unwrap();
    assert_eq!(turns_key(&server), None);
    server.command(&["SET", KEY, "theirs", "PX", "60000"]);
    assert!(tenure.mutex(KEY).try_lock().await.unwrap().is_none());
    server.command(&["DEL", KEY]);

    let guard = hold(&tenure, KEY, PATIENCE).await;
    let turns = turns_key(&server).unwrap();
    let is_over = Reply::Text("0".into());
    until("the turns of tenure are over", async || server.command(&["EXISTS", &turns]) == is_over)
        .await;
    let before = expired(&server);
    guard.release().await.unwrap();
    until("it is free, and the turn of others is over", async || expired(&server) > before).await;

    server.command(&["SET", &turns, "theirs", "PX", "60000"]);
    let wait = Duration::from_millis(200);
    assert!(tenure.mutex(KEY).lock().wait(wait).await.is_err());
    // Who does not wait leaves nothing to others.
    tenure.mutex(KEY).try_lock().await.unwrap().unwrap().release().await.unwrap();
    // And nobody does so in the second after their turn.
    until("it is granted before that second is over", async || {
        server.command(&["SET", &turns, "theirs", "PX", "1000"]);
        let before = expired(&server);
        hold(&tenure, KEY, PATIENCE).await.release().await.unwrap();
        expired(&server) == before
    })
    .await;
}

/// The key of a lock decides where it is, and not its name.
#[tokio::test]
async fn in_a_cluster_each_hold_is_renewed_at_its_own_node() {
    let cluster = RedisCluster::start();
    let tenure = tenure(&format!("{}?layout=plain&key_prefix=app:", cluster.url()));
    let mut guards = Vec::new();
    for number in 0..8 {
        guards.push(hold(&tenure, &format!("job{number}"), Duration::from_secs(3)).await);
    }
    let count = |stat: &str| -> u64 {
        let of = |node: &RedisServer| {
            let Reply::Text(told) = node.command(&["INFO", "all"]) else { panic!() };
            let line = told.lines().find_map(|line| line.strip_prefix(stat));
            let number = line.and_then(|line| line.split([',', '\r']).next()?.parse().ok());
            number.unwrap_or(0)
        };
        cluster.running().map(of).sum()
    };
    let (before, moved) = (count("cmdstat_pexpire:calls="), count("errorstat_MOVED:count="));
    until("each is renewed", async || count("cmdstat_pexpire:calls=") >= before + 16).await;
    assert!(guards.iter().all(|guard| guard.check().is_ok()));
    assert_eq!(count("errorstat_MOVED:count="), moved, "asked of another node");
}
