use std::process::Command;

use serde_json::Value;

fn said(arguments: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_tenure-bench");
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn each_of_many_waiters_has_the_name_once() {
    let told = said(&["waiters", "embedded", "redis", "--waiters", "1,50", "--json"]);
    let rows: Vec<Value> = serde_json::from_str(&told).unwrap();
    assert_eq!(rows.len(), 2 * 2 * 2, "{told}");
    for row in rows {
        assert_eq!(row["without"], 0, "{row}");
        // Each holds it for a millisecond.
        let others = row["waiters"].as_f64().unwrap() - 1.0;
        assert!(row["seconds"].as_f64().unwrap() >= others * 1e-3, "{row}");
    }
}

#[test]
fn names_that_nobody_uses_any_more_go() {
    let told = said(&["names", "embedded", "--count", "20000", "--batch", "10000"]);
    assert!(told.contains("they are made to look as if it were an hour later: 20"), "{told}");
    assert!(told.contains("10000 more names"), "{told}");
}
