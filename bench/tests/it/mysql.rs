use std::process::Command;

use serde_json::Value;

use crate::zookeeper::median;

#[test]
fn tenure_on_mariadb_runs_no_more_statements_than_it_needs() {
    let program = env!("CARGO_BIN_EXE_tenure-bench");
    let done = Command::new(program).args(["--mysql", "--quick", "--json"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let told = report["told"].to_string();
    assert!(told.contains("innodb_flush_log_at_trx_commit=1"), "{told}");
    assert!(told.contains("ShedLock 6."), "{told}");
    // What tenure does in between comes along with it, more of it the slower the machine is.
    for (title, who, needed) in [
        ("MariaDB: statements of a pair", "by hand", 2.0),
        ("MariaDB: statements of a pair", "tenure, mutex", 2.0),
        ("MariaDB: statements of a pair", "tenure, write", 2.0),
        ("MariaDB: statements of a pair", "GET_LOCK", 2.0),
        ("MariaDB: statements of a pair", "ShedLock", 2.0),
    ] {
        let ran = median(&report, title, who);
        assert!((needed..needed + 0.5).contains(&ran), "{who}: {ran}");
    }
    for who in ["by hand", "tenure", "GET_LOCK"] {
        assert!(median(&report, "MariaDB: hand-off between two processes", who) > 0.0);
    }
    let title = "MariaDB: statements of a hand-off with many waiters";
    let held = |waiters| median(&report, title, &format!("{waiters}, tenure, held 5 ms"));
    let [few, many] = [2, 64].map(held);
    // It takes three changes of the row, each of which comes along with a look, and the looks of those who wait.
    assert!(few > 5.9 && many < 1.5 * few, "{few} {many}");
    let connections = |who| median(&report, "holds kept, MariaDB: connections", who);
    assert!(connections("100 holds") <= connections("1 holds") + 1.0);
}
