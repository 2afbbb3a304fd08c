//! What a program holds is free once its `main` has ended, however it ends, without a word on its part: not one ttl
//! later. Only a program with a `main` of its own can show that, so there is no harness here.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may, and has no harness here"
)]

mod programs;

use std::{
    env,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use tenure::Tenure;
use tenure_servers::{
    MariadbServer, PostgresServer, RedisServer, SentinelService, ZookeeperServer,
};

/// Far longer than anything here takes.
const TTL: Duration = Duration::from_secs(60);
/// Far less than that, and longer than anything takes on a busy machine.
const SOON: Duration = Duration::from_secs(15);

const PROGRAM: &str = "TENURE_TEST_PROGRAM";
const STORE: &str = "TENURE_TEST_STORE";

fn main() -> ExitCode {
    if let Ok(program) = env::var(PROGRAM) {
        return programs::run(&program, env::var(STORE).unwrap());
    }
    let filters: Vec<_> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|part| name.contains(part));
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in scenes().into_iter().filter(|(name, _)| wanted(name)) {
        let ok = std::panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if ok { "ok" } else { "FAILED" });
        if ok { passed += 1 } else { failed += 1 }
    }
    let end = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {end}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out"
    );
    ExitCode::from(u8::from(failed > 0))
}

/// Each with its name.
macro_rules! scenes {
    ($($name:ident)*) => {
        fn scenes() -> Vec<(&'static str, fn())> {
            vec![$((stringify!($name), $name as fn())),*]
        }
    };
}

scenes! {
    what_a_program_let_go_of_last_is_free_on_redis
    what_a_program_let_go_of_last_is_free_behind_sentinels
    what_a_program_let_go_of_last_is_free_on_a_quorum
    what_a_program_let_go_of_last_is_free_on_postgres
    what_a_program_let_go_of_last_is_free_on_mariadb
    what_a_program_let_go_of_last_is_free_on_zookeeper
    a_program_leaves_nothing_of_its_own_in_the_embedded_store
    a_program_waits_for_a_store_that_is_away_for_a_moment_alone
}

fn what_a_program_let_go_of_last_is_free_on_redis() {
    all_are_free(&RedisServer::start().url());
}

fn what_a_program_let_go_of_last_is_free_behind_sentinels() {
    all_are_free(&SentinelService::start().url());
}

fn what_a_program_let_go_of_last_is_free_on_a_quorum() {
    let servers = [RedisServer::start(), RedisServer::start(), RedisServer::start()];
    all_are_free(&format!("quorum:{}", servers.each_ref().map(RedisServer::url).join(",")));
}

fn what_a_program_let_go_of_last_is_free_on_postgres() {
    all_are_free(&PostgresServer::start().url());
}

fn what_a_program_let_go_of_last_is_free_on_mariadb() {
    all_are_free(&MariadbServer::start().url());
}

fn what_a_program_let_go_of_last_is_free_on_zookeeper() {
    let server = ZookeeperServer::start();
    all_are_free(&format!("{}?session=40s", server.url()));
}

fn a_program_leaves_nothing_of_its_own_in_the_embedded_store() {
    for program in programs::ALL.into_iter().filter(|it| !programs::NEVER_DROP.contains(it)) {
        let dir = tempfile::tempdir().unwrap();
        let mut child = start(program, &format!("file:{}", dir.path().join("locks").display()));
        hear(&mut child);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(members(dir.path()), Vec::<String>::new(), "{program}");
    }
}

fn a_program_waits_for_a_store_that_is_away_for_a_moment_alone() {
    for program in [programs::AT_ITS_END, programs::AS_THE_LAST, programs::IN_A_STATIC] {
        let mut server = RedisServer::start();
        let mut child = start(program, &server.url());
        hear(&mut child);
        server.kill();
        let began = Instant::now();
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success(), "{program}");
        let took = began.elapsed();
        assert!(took < SOON, "{program} took {took:?}");
    }
}

fn start(program: &str, store: &str) -> std::process::Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.env(PROGRAM, program).env(STORE, store).env("RUST_BACKTRACE", "0");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn hear(child: &mut std::process::Child) {
    use std::io::Read;
    let mut word = [0; 1];
    child.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
}

/// Each program in turn, and the time from its end until its lock can be had.
fn all_are_free(store: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let kind = store.split(':').next().unwrap();
    runtime.block_on(async {
        let tenure = Tenure::open(store).await.unwrap();
        for program in programs::ALL {
            let mut child = start(program, store);
            hear(&mut child);
            let mutex = tenure.mutex(program).ttl(TTL);
            assert!(mutex.try_lock().await.unwrap().is_none(), "{program} does not hold it");
            let began = Instant::now();
            drop(child.stdin.take());
            let status = child.wait().unwrap();
            assert_eq!(status.success(), !programs::FAIL.contains(&program), "{program}: {status}");
            let (ended, free) = (began.elapsed(), Instant::now());
            let next = mutex.lock().wait(SOON).await;
            let next = next.unwrap_or_else(|why| panic!("{kind}: {program}: {why}"));
            println!(
                "{kind:14} {program:40} ended in {ended:>9.2?}, free {:>9.2?} later",
                free.elapsed()
            );
            next.release().await.unwrap();
        }
    });
}

/// What processes left of themselves in the embedded store.
fn members(dir: &std::path::Path) -> Vec<String> {
    let inside = |dir: std::path::PathBuf| {
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path())
    };
    let boots = inside(dir.join("locks/boots"));
    let left = boots.flat_map(|boot| inside(boot.join("members")));
    left.map(|path| path.display().to_string()).collect()
}
