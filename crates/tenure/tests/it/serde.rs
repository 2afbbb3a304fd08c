//! What serde writes and reads.

use serde_json::{Value, from_value, json, to_value};
use tenure::{LockName, Tenure, Token, inspect::Kind, store::Severity};

#[test]
fn a_token_is_text_and_never_a_number() {
    let token = Token::from_raw(i64::MAX as u64).unwrap();
    assert_eq!(to_value(token).unwrap(), json!("9223372036854775807"));
    assert_eq!(from_value::<Token>(json!("9223372036854775807")).unwrap(), token);
    // JavaScript gives back the first as the second, which is a token as well.
    for wrong in
        [json!(9_223_372_036_854_775_807_u64), json!(7), json!("0"), json!("x"), json!(null)]
    {
        let error = from_value::<Token>(wrong.clone()).unwrap_err().to_string();
        assert!(error.contains("fencing token"), "{wrong}: {error}");
    }
}

#[test]
fn a_name_is_checked_as_it_is_read() {
    let name = LockName::new("order:7").unwrap();
    assert_eq!(to_value(&name).unwrap(), json!("order:7"));
    assert_eq!(from_value::<LockName>(json!("order:7")).unwrap(), name);
    let error = from_value::<LockName>(json!("a\nb")).unwrap_err().to_string();
    assert!(error.contains("control characters"), "{error}");
}

#[test]
fn words_are_read_back() {
    for severity in Severity::ALL {
        assert_eq!(from_value::<Severity>(to_value(severity).unwrap()).unwrap(), severity);
    }
    for kind in Kind::ALL {
        assert_eq!(from_value::<Kind>(to_value(kind).unwrap()).unwrap(), kind);
    }
    let error = from_value::<Severity>(json!("dire")).unwrap_err().to_string();
    assert!(error.contains("one of good, warning, bad"), "{error}");
}

#[tokio::test]
async fn what_is_shown_of_locks_and_stores_is_written_by_the_names_of_the_command() {
    let tenure = Tenure::open("memory:").await.unwrap();
    let permit = tenure.semaphore("uploads", 3).label("web-1").acquire().await.unwrap();
    let seen = tenure.inspect("uploads").await.unwrap();
    let left = seen.holders[0].left.unwrap().as_millis();
    let me = seen.holders[0].identity();
    let holder = json!({
        "host": me.host, "user": me.user, "pid": me.pid, "service": me.service,
        "operation": me.operation, "reason": me.reason,
        "label": "web-1", "token": permit.token().to_string(), "since_us": seen.holders[0].since,
        "left_ms": u64::try_from(left).unwrap(), "kind": "semaphore",
        "mode": { "permits": 1, "of": 3 }, "lingering": false,
        "hold": seen.holders[0].id.unwrap().to_string(),
    });
    assert_eq!(to_value(&seen).unwrap(), json!({ "holders": [holder], "waiters": [] }));
    let listing = to_value(tenure.list("").await.unwrap()).unwrap();
    assert_eq!((&listing["more"], &listing["missing"]), (&json!(false), &json!([])));
    assert_eq!(listing["names"][0]["name"], "uploads");
    assert_eq!(listing["names"][0]["holders"][0]["label"], "web-1");
    let diagnostics = to_value(tenure.health().await.unwrap()).unwrap();
    let Value::Array(diagnostics) = diagnostics else { panic!("{diagnostics}") };
    for diagnostic in diagnostics {
        assert!(diagnostic["severity"].is_string() && diagnostic["what"].is_string());
        assert!(diagnostic.get("found").is_some() && diagnostic.get("promise").is_some());
        assert!(diagnostic.get("help").is_some());
    }
}
