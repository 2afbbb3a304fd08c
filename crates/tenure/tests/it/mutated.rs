//! Handles, configurations and URLs that say anything are read or refused, and nothing panics.

use std::path::Path;

use tenure::{Handle, config::Config};
use tenure_testkit::fuzz;

/// The text of a handle with the checksum that it has.
fn summed_up(text: &str) -> Option<String> {
    let mut parts: Vec<_> = text.splitn(9, ':').collect();
    let [mark, version, .., _, name] = parts.as_slice() else { return None };
    let before = parts.get(2..parts.len().checked_sub(2)?)?.join(":");
    let mut sum = crc32fast::Hasher::new();
    for part in [mark, version, before.as_str(), name] {
        sum.update(part.as_bytes());
        sum.update(b":");
    }
    let sum = format!("{:08x}", sum.finalize());
    let at = parts.len() - 2;
    *parts.get_mut(at)? = &sum;
    Some(parts.join(":"))
}

#[tokio::test]
async fn any_text_is_a_handle_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let tenure = tenure::Tenure::open(format!("file:{}", dir.path().display())).await.unwrap();
    let guard = tenure.semaphore("pay:42 é", 9).acquire_many(4).await.unwrap();
    let text = guard.detach().await.unwrap().handle.expose();
    assert_eq!(summed_up(&text), Some(text.clone()));
    fuzz(20_000, &[text.as_bytes()], |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        let text = summed_up(text).unwrap_or_else(|| text.to_owned());
        let Ok(handle) = text.parse::<Handle>() else { return false };
        assert_eq!(handle.expose().parse(), Ok(handle));
        true
    });
}

#[test]
fn any_text_is_a_configuration_or_refused() {
    let example = r#"store = "redis://h/2"
ttl = "30s"
wait = '1m 5s'
fair = true
[stores]
other = "postgres://u:${PASSWORD}@h/db"
[locks."order:*"]
max-hold = "1h"
hold-at-least = "5s"
[run]
grace = "2s"
busy-exit-code = 75
"#;
    fuzz(20_000, &[example.as_bytes()], |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        let variables = |name: &str| (name == "PASSWORD").then(|| "secret".to_owned());
        match Config::parse(Some((Path::new("tenure.toml"), text)), variables) {
            Ok(_) => true,
            Err(error) => {
                assert!(!format!("{error:#}").contains("secret"), "{error:#}");
                false
            }
        }
    });
}
