//! What a session inherits of character sets and collations changes no name: of the store, and of a fence.

use std::time::Duration;

use mysql_async::{Conn, TxOpts, prelude::Queryable};
use tenure_core::{
    Store, Token,
    proto::queue::{Answer, Intent},
    store::Renewal,
};
use tenure_mysql::{Fence, FenceError, MysqlStore};
use tenure_servers::MariadbServer;

use crate::{
    places::server,
    support::{LONG, ask, name, outside, owner, run, take},
};

/// Pairs that one collation or another takes for one, or that one character set or another cannot tell apart.
const NAMES: [&str; 14] =
    ["é", "e\u{301}", "e", "É", "😀", "😁", "?", "a", "a ", "A", "ä", "ß", "ss", "日本\\'\""];

/// A user whom `init_connect` does not pass over.
async fn user(server: &MariadbServer, database: &str) -> String {
    let mut conn = outside(server).await;
    run(&mut conn, "create user if not exists locks identified by 'secret'").await;
    run(&mut conn, &format!("grant all on {database}.* to locks")).await;
    let url = server.url().replace("root@", "locks:secret@");
    format!("{}?get_server_public_key=yes", url.replace("/tenure", &format!("/{database}")))
}

/// Both take the same names for the same locks, and none of them for another one's.
async fn agree(one: &MysqlStore, other: &MysqlStore, tables: &str, how: &str) {
    let label = "Zoë 😀 日本";
    let mut taken: Vec<_> = NAMES.iter().map(|text| format!("{tables}{text}")).collect();
    for (number, text) in (1..).zip(&taken) {
        let mut ask = ask(owner(number), Intent::Try, LONG);
        ask.label = label.into();
        let answer = one.acquire(&name(text), &ask).await.unwrap();
        assert!(matches!(answer, Answer::Granted { .. }), "{how}: {text:?} is {answer:?}");
    }
    for (number, text) in (1..).zip(&taken) {
        let lock = name(text);
        let asked = ask(owner(100), Intent::Try, LONG);
        let answer = other.acquire(&lock, &asked).await.unwrap();
        assert!(matches!(answer, Answer::Busy { .. }), "{how}: {text:?} is held by two");
        let seen = other.inspect(&lock).await.unwrap();
        assert_eq!(seen.holders.len(), 1, "{how}: {text:?}");
        assert_eq!(seen.holders[0].label, label, "{how}: {text:?}");
        let listed = other.list(text, 100).await.unwrap().names;
        let expected = taken.iter().filter(|name| name.starts_with(text)).count();
        assert_eq!(listed.len(), expected, "{how}: {text:?}");
        let renewal = Renewal { name: lock.clone(), owner: owner(number), ttl: LONG };
        let renewed = format!("{:?}", other.renew(&[renewal]).await);
        assert!(renewed.contains("Renewed"), "{how}: {text:?}: {renewed}");
    }
    taken.sort();
    let listed = other.list(tables, 100).await.unwrap().names;
    let listed: Vec<_> = listed.iter().map(|(name, _)| name.as_str().to_owned()).collect();
    assert_eq!(listed, taken, "{how}");
    // Who waits, several at once, and who follows.
    let lock = name(&format!("{tables}é"));
    let mut waits = ask(owner(101), Intent::Wait { position: None }, LONG);
    waits.label = label.into();
    other.acquire(&lock, &waits).await.unwrap();
    let seen = one.inspect(&lock).await.unwrap();
    assert_eq!(seen.waiters[0].label, label, "{how}");
    one.release(&lock, &owner(1), Duration::ZERO).await.unwrap();
    let answer = other.acquire(&lock, &waits).await.unwrap();
    assert!(matches!(answer, Answer::Granted { .. }), "{how}: {answer:?}");
    assert_eq!(one.evict(&lock).await.unwrap().len(), 1, "{how}");
    let both = ["𝄞", "♪"].map(|text| name(&format!("{tables}{text}")));
    let asks = both.clone().map(|lock| (lock, ask(owner(102), Intent::Try, LONG)));
    one.acquire_together(&asks).await.unwrap();
    for lock in both {
        let seen = other.inspect(&lock).await.unwrap();
        assert_eq!(seen.holders.len(), 1, "{how}");
    }
    for (number, text) in (1..).zip(NAMES).skip(1) {
        let lock = name(&format!("{tables}{text}"));
        one.release(&lock, &owner(number), Duration::ZERO).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_one_lock_whatever_a_session_is_told_as_it_begins() {
    let server = MariadbServer::start();
    let url = user(&server, "tenure").await;
    let mut conn = outside(&server).await;
    let before = MysqlStore::open(&url).await.unwrap();
    for (number, told) in [
        "set collation_connection = latin1_swedish_ci",
        "set collation_connection = utf8mb3_unicode_ci",
        "set collation_connection = utf16_general_ci",
        "set names latin1",
        "set names utf8mb3",
        "set character_set_client = cp1250",
        "set character_set_results = latin1",
        "set character_set_results = utf16",
        "set character_set_results = null",
        "set sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'",
        "set collation_connection = utf8mb4_unicode_ci",
    ]
    .into_iter()
    .enumerate()
    {
        run(&mut conn, &format!("set global init_connect = \"{told}\"")).await;
        let after = MysqlStore::open(&url).await.unwrap();
        agree(&before, &after, &format!("{number}a"), told).await;
        agree(&after, &before, &format!("{number}b"), told).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_one_lock_whatever_the_server_and_the_database_have_by_default() {
    let of_mysql = std::env::var_os("TENURE_MYSQL_SERVER").is_some();
    for server_has in ["utf8mb3", "latin1", "utf8mb4"] {
        let mut options = vec![format!("--character-set-server={server_has}")];
        if !of_mysql {
            options.push("--skip-character-set-client-handshake".to_owned());
        }
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        let server = MariadbServer::start_with(&options);
        let mut conn = outside(&server).await;
        for database_has in ["latin1", "utf8mb3", "utf8mb4", "utf16", "cp932"] {
            let how = format!("{database_has} on {server_has}");
            run(&mut conn, &format!("create database of_{database_has} charset {database_has}"))
                .await;
            let url = user(&server, &format!("of_{database_has}")).await;
            let opened = async || {
                MysqlStore::open(&url).await.unwrap_or_else(|fault| panic!("{how}: {fault:#}"))
            };
            let (one, other) = (opened().await, opened().await);
            agree(&one, &other, "x", &how).await;
        }
    }
}

fn token(number: i64) -> Token {
    Token::from_raw(number.cast_unsigned()).unwrap()
}

/// Sessions of the program's, which tenure sets nothing for.
const SESSIONS: [&str; 15] = [
    "do 0",
    "set collation_connection = latin1_swedish_ci",
    "set collation_connection = utf8mb3_unicode_ci",
    "set collation_connection = utf16_general_ci",
    "set collation_connection = utf8mb4_unicode_ci",
    "set names latin1",
    "set names cp1250",
    "set names utf8mb3",
    "set sql_mode = ''",
    "set sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'",
    "set sql_mode = 'ORACLE'",
    "set autocommit = 0",
    "set completion_type = 1",
    "set completion_type = 2",
    "set sql_select_limit = 0, sql_safe_updates = 1",
];

async fn session(told: &str) -> Conn {
    let mut conn = outside(server()).await;
    if !(server().is_mysql() && told.contains("ORACLE")) {
        run(&mut conn, told).await;
    }
    conn
}

/// Whether the fence lets this one in: it claims, and looks again as the last statement of a transaction.
async fn may_write(fence: &Fence, conn: &mut Conn, text: &str, token: Token) -> (bool, bool) {
    let lock = name(text);
    let is_let_in = |outcome| match outcome {
        Ok(()) => true,
        Err(FenceError::Stale { .. }) => false,
        Err(error) => panic!("{text:?}: {error:#}"),
    };
    let claimed = is_let_in(fence.claim(conn, &lock, token).await);
    let mut transaction = conn.start_transaction(TxOpts::default()).await.unwrap();
    let checked = is_let_in(fence.check(&mut transaction, &lock, token).await);
    transaction.rollback().await.unwrap();
    (claimed, checked)
}

#[tokio::test]
async fn a_fence_knows_a_name_whatever_sessions_of_the_program_are_told() {
    let mut conn = outside(server()).await;
    let fence = Fence::new("fence_of_characters").unwrap();
    run(&mut conn, &fence.table()).await;
    for (number, told) in SESSIONS.into_iter().enumerate() {
        for (text, later) in [("é", "é"), ("😀", "😀"), ("日本 \\'\"", "日本 \\'\"")] {
            let (text, later) = (format!("{number}{text}"), format!("{number}{later}"));
            let mut one = session(told).await;
            assert_eq!(may_write(&fence, &mut one, &text, token(1)).await, (true, true), "{told}");
            let mut plain = outside(server()).await;
            let next = may_write(&fence, &mut plain, &later, token(2)).await;
            assert_eq!(next, (true, true), "{told}");
            for late in [&mut session(told).await, &mut outside(server()).await] {
                let late = may_write(&fence, late, &text, token(1)).await;
                assert_eq!(late, (false, false), "{told}: a late holder of {text:?} is let in");
            }
        }
        // And names that are not the same do not meet.
        for (apart, text) in (1..).zip(NAMES) {
            let mut one = session(told).await;
            let text = format!("{number}apart{text}");
            let alone = may_write(&fence, &mut one, &text, token(100 - apart)).await;
            assert_eq!(alone, (true, true), "{told}: {text:?}");
        }
    }
}

/// What `take` takes is seen under the same bytes by whoever looks at the table, and at the view.
#[tokio::test]
async fn people_see_names_and_labels_as_they_are() {
    let server = MariadbServer::start();
    let mut conn = outside(&server).await;
    let store = MysqlStore::open(&server.url()).await.unwrap();
    take(&store, "é😀", owner(1)).await;
    let seen: Vec<(String, String)> =
        conn.query("select name, label from tenure_holders").await.unwrap();
    assert_eq!(seen, [("é😀".to_owned(), crate::support::label(owner(1)))]);
}
