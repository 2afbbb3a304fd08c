//! What this test binary does when it runs again as a process of its own.

pub(crate) use tenure_testkit::child::Process;
use tenure_testkit::{
    child::{role, say},
    counting,
};

use crate::{ledger::Table, support::process};

/// Not a test by itself: what a child does.
#[test]
fn plays_its_role() {
    let Some(role) = role() else { return };
    let words: Vec<_> = role.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match words.as_slice() {
        ["count", url, number, rounds] => {
            let (number, rounds) = (number.parse().unwrap(), rounds.parse().unwrap());
            say(runtime.block_on(counting::count::<Table>(&process(url), url, number, rounds)));
        }
        other => panic!("no such role: {other:?}"),
    }
}
