use std::process::Command;

use serde_json::Value;

/// The median of a contestant.
pub(crate) fn median(report: &Value, title: &str, who: &str) -> f64 {
    let figures = report["figures"].as_array().unwrap();
    let figure = figures.iter().find(|figure| figure["title"] == title).unwrap();
    let rows = figure["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["who"] == who).unwrap();
    row["median"].as_f64().unwrap()
}

#[test]
fn tenure_on_zookeeper_asks_for_no_more_than_it_needs_beside_curator() {
    let program = env!("CARGO_BIN_EXE_tenure-bench");
    let done = Command::new(program).args(["--zookeeper", "--quick", "--json"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let told = report["told"].to_string();
    assert!(told.contains("forceSync=yes") && told.contains("Curator 5."), "{told}");
    // What keeps the sessions alive comes along with it, more of it the slower the machine is.
    for (who, needed) in [("by hand", 3.0), ("tenure, mutex", 3.0), ("Curator, mutex", 3.0)] {
        let asked = median(&report, "ZooKeeper: requests of a pair", who);
        assert!((needed..needed + 1.0).contains(&asked), "{who}: {asked}");
    }
    let asked = median(&report, "ZooKeeper: requests of a permit", "tenure");
    assert!((9.0..10.0).contains(&asked), "{asked}");
    for who in ["by hand", "tenure", "Curator"] {
        assert!(median(&report, "ZooKeeper: hand-off between two processes", who) > 0.0);
    }
    let title = "ZooKeeper: requests of a hand-off with many waiters";
    let [two, many] = ["2, tenure", "64, tenure"].map(|who| median(&report, title, who));
    assert!(two <= many && many < 7.0, "{two} {many}");
    assert!(median(&report, "holds kept, ZooKeeper: requests", "100 holds") > 0.0);
}
