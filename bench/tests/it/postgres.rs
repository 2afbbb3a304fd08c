use std::process::Command;

use serde_json::Value;

use crate::zookeeper::median;

#[test]
fn tenure_on_postgresql_runs_no_more_statements_than_it_needs() {
    let program = env!("CARGO_BIN_EXE_tenure-bench");
    let done = Command::new(program).args(["--postgres", "--quick", "--json"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let told = report["told"].to_string();
    assert!(told.contains("fsync=on") && told.contains("ShedLock 6."), "{told}");
    // What tenure does in between comes along with it, more of it the slower the machine is.
    for (title, who, needed) in [
        ("PostgreSQL: statements of a pair", "by hand", 2.0),
        ("PostgreSQL: statements of a pair", "tenure, mutex", 2.0),
        ("PostgreSQL: statements of a pair", "tenure, write", 2.0),
        ("PostgreSQL: statements of a pair", "ShedLock", 2.0),
        ("PostgreSQL: statements of a shared hold", "tenure, read", 4.0),
        ("PostgreSQL: statements of a shared hold", "tenure, permit", 4.0),
    ] {
        let ran = median(&report, title, who);
        assert!((needed..needed + 0.5).contains(&ran), "{who}: {ran}");
    }
    for who in ["by hand", "tenure", "advisory lock"] {
        assert!(median(&report, "PostgreSQL: hand-off between two processes", who) > 0.0);
    }
    let title = "PostgreSQL: statements of a hand-off with many waiters";
    let held = |waiters| median(&report, title, &format!("{waiters}, tenure, held 5 ms"));
    let [few, many] = [2, 64].map(held);
    // Two to stand in line, one to let go and one to claim; more where others are in the way.
    assert!((3.9..9.0).contains(&few) && many < 2.5 * few, "{few} {many}");
    let connections = |who| median(&report, "holds kept, PostgreSQL: connections", who);
    // One more for each call that a slow machine gives up.
    assert!(connections("100 holds") <= connections("1 holds") + 5.0);
}
