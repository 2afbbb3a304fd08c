//! Handles as text.

use std::sync::Arc;

use tenure_core::{BadHandle, Handle, MemoryStore, Tenure};

async fn handle(name: &str) -> Handle {
    let tenure = Tenure::new(Arc::new(MemoryStore::new()));
    let guard = tenure.semaphore(name, 9).acquire_many(4).await.unwrap();
    guard.detach().await.unwrap().handle
}

#[tokio::test]
async fn what_is_written_is_read() {
    let long = "ü".repeat(256);
    for name in ["a", "order:pay:42", " lead and trail ", "50 % of \"it\"", "日本", &long] {
        let handle = handle(name).await;
        let text = handle.expose();
        assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
        assert_eq!(text.parse::<Handle>().unwrap(), handle);
        assert_eq!(format!("  {text}\r\n").parse::<Handle>().unwrap(), handle);
        assert_eq!(handle.name().as_str(), name);
    }
}

#[tokio::test]
async fn whatever_is_cut_or_changed_is_refused() {
    let text = handle("order:pay:42").await.expose();
    for end in 0..text.len() {
        text[..end].parse::<Handle>().unwrap_err();
        text[end + 1..].parse::<Handle>().unwrap_err();
        for other in ['0', 'f', ':', 'z', '%', 'ü'] {
            let changed = format!("{}{other}{}", &text[..end], &text[end + 1..]);
            if changed != text {
                changed.parse::<Handle>().unwrap_err();
            }
        }
    }
    assert_eq!(format!("{text}x").parse::<Handle>(), Err(BadHandle::Damaged));
    assert_eq!(format!("{text}{text}").parse::<Handle>(), Err(BadHandle::Damaged));
}

#[tokio::test]
async fn garbage_is_refused_in_words() {
    for (text, error, words) in [
        ("", BadHandle::Empty, "empty"),
        (" \n", BadHandle::Empty, "empty"),
        ("redis://:secret@host", BadHandle::NoHandle, "not a handle"),
        ("tenure-handle", BadHandle::NoHandle, "not a handle"),
        ("tenure-handle:1:", BadHandle::Damaged, "cut or changed"),
        ("tenure-handle:2:whatever", BadHandle::Version { version: "2".to_owned() }, "newer"),
        ("tenure-handle:secret:a", BadHandle::Damaged, "cut or changed"),
    ] {
        let found = text.parse::<Handle>().unwrap_err();
        assert_eq!(found, error, "{text:?}");
        assert!(format!("{found:#}").contains(words), "{found}");
        assert!(!format!("{found:#}").contains("secret"), "{found}");
    }
}

#[tokio::test]
async fn its_owner_is_not_shown() {
    let handle = handle("a").await;
    let text = handle.expose();
    let owner = text.split(':').nth(6).unwrap();
    assert_eq!(owner.len(), 32);
    assert!(!format!("{handle:?}").contains(owner));
}
