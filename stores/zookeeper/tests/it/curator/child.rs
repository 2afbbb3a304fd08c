//! What this test binary does beside the JVMs when it runs again as a process of its own.

use std::{env, fs, path::Path, process::Command, time::Duration};

use tenure_core::{Guard, Tenure};
pub(super) use tenure_testkit::child::Process;
use tenure_testkit::child::{command, order, role, say};

use crate::support::PATIENCE;

use super::{scene::tenure, work::Work};

/// Starts this program in a role.
pub(super) fn start(words: &[&str]) -> Process {
    let program = env::current_exe().unwrap();
    // Only which test plays it is another one.
    let made = command(&[], &program, words);
    let mut command = Command::new(&program);
    command.args(["curator::child::plays_its_role", "--exact", "--nocapture"]);
    command.envs(made.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Process::run(&mut command)
}

/// Not a test by itself: what a child does.
#[test]
fn plays_its_role() {
    let Some(role) = role() else { return };
    let words: Vec<_> = role.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        match words.as_slice() {
            ["hold", url] => {
                let guard = tenure(url).mutex("lock").lock().wait(PATIENCE).await.unwrap();
                say(format_args!("held {}", guard.token().time()));
                loop {
                    let _ = tokio::task::spawn_blocking(order).await.unwrap();
                }
            }
            ["count", kind, url, file, turns] => {
                count(&tenure(url), kind, file.as_ref(), turns.parse().unwrap()).await;
            }
            ["read", url, file, turns] => {
                read(&tenure(url), file.as_ref(), turns.parse().unwrap()).await;
            }
            ["permits", url, of, folder, turns] => {
                let tenure = tenure(url);
                let takes = || permits(&tenure, of.parse().unwrap(), folder.as_ref(), turns);
                // Two at a time, so that there are more who want permits than permits.
                tokio::join!(takes(), takes());
                say("done");
            }
            ["work", url, folder] => work(&tenure(url), Work::at(folder.as_ref())).await,
            other => panic!("no such role: {other:?}"),
        }
    });
}

async fn hold(tenure: &Tenure, kind: &str) -> Guard {
    let wait = PATIENCE * 5;
    match kind {
        "mutex" => tenure.mutex("lock").lock().wait(wait).await.unwrap(),
        "write" => tenure.rwlock("lock").write().wait(wait).await.unwrap().into(),
        other => panic!("no such kind: {other}"),
    }
}

/// Reads a number, adds one and writes it, which loses increments unless the lock excludes.
async fn count(tenure: &Tenure, kind: &str, file: &Path, turns: u32) {
    let mut last = None;
    for turn in 0..turns {
        let guard = hold(tenure, kind).await;
        assert!(Some(guard.token()) > last, "tokens rise");
        last = Some(guard.token());
        let number: u64 = fs::read_to_string(file).unwrap().trim().parse().unwrap();
        pause(turn).await;
        fs::write(file, (number + 1).to_string()).unwrap();
        guard.release().await.unwrap();
    }
    say("done");
}

/// What writers write does not change while it is read.
async fn read(tenure: &Tenure, file: &Path, turns: u32) {
    for _ in 0..turns {
        let guard = tenure.rwlock("lock").read().wait(PATIENCE * 5).await.unwrap();
        let first = fs::read_to_string(file).unwrap();
        pause(1).await;
        let second = fs::read_to_string(file).unwrap();
        assert_eq!(first, second, "torn");
        guard.release().await.unwrap();
    }
    say("done");
}

/// There are never more marks than permits.
async fn permits(tenure: &Tenure, of: u32, folder: &Path, turns: &str) {
    for _ in 0..turns.parse().unwrap() {
        let semaphore = tenure.semaphore("lock", of);
        let guard = semaphore.acquire().wait(PATIENCE * 5).await.unwrap();
        let mark = folder.join(guard.token().to_string());
        fs::write(&mark, "").unwrap();
        // For longer than it takes to get one, so that there is always somebody who waits.
        tokio::time::sleep(Duration::from_millis(15)).await;
        let marks = fs::read_dir(folder).unwrap().count();
        assert!(marks <= of as usize, "{marks} have one of {of} permits");
        fs::remove_file(mark).unwrap();
        guard.release().await.unwrap();
    }
}

/// Works under the lock until it is killed.
async fn work(tenure: &Tenure, work: Work) {
    let process = std::process::id();
    for turn in 0.. {
        let guard = match tenure.mutex("lock").lock().wait(PATIENCE).await {
            Ok(guard) => guard,
            Err(error) => return work.note(&format!("{process} does not get in: {error:#}")),
        };
        let Some(number) = work.enter(process) else { return };
        pause(turn).await;
        work.leave(process, number);
        // On a machine that stands still for long it may be lost.
        let _ = guard.release().await;
    }
}

/// Every other time a little, as the JVMs do.
async fn pause(turn: u32) {
    if turn % 2 == 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
